"""Runs `sarekc test FILE` on one device, natively at one CPU level. Exit status 77 (a skip that the test runner counts) when the device or level is absent.

usage: run_case.py SAREKC FILE DEVICE[@LEVEL]
"""
import json
import os
import subprocess
import sys

FLAGS = {"sse4.2": {"sse4_2"}, "avx2": {"avx2", "fma", "f16c", "bmi2"}, "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"}}


def cpu_flags():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("flags"):
                return set(line.split(":", 1)[1].split())
    return set()


def main():
    sarekc, path, where = sys.argv[1:]
    device, _, level = where.partition("@")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SAREK_")}
    if level:
        if not FLAGS[level] <= cpu_flags():
            print(f"skipped: this CPU has no {level}")
            return 77
        environment["SAREK_NATIVE_LEVEL"] = level
    listed = json.loads(subprocess.run([sarekc, "devices", "--json"], check=True, capture_output=True, env=environment).stdout)
    if not any(d["target"] == device for d in listed):
        print(f"skipped: there is no {device} device")
        return 77
    return subprocess.run([sarekc, "test", path, "--device", device], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
