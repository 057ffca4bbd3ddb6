#!/usr/bin/env python3
"""Artifacts compiled with --checked: every device tells the same fault at the same place."""
import harness
from harness import INPUT_ERRORS

KERNELS = """kernel quotients(x: in [i32], n: i32, y: out [i32]) block(64) {
  let i = global_id.x;
  y[i] = x[i] / n;
}
kernel search(x: in [i32], y: out [i32]) block(64) {
  var i = 0;
  while x[i] != 7 { i += 1; }
  y[global_id.x] = i;
}
kernel table(x: in [i32], y: out [i32]) block(64) {
  shared t: [i32; 64];
  t[local_id.x] = x[local_id.x];
  barrier();
  y[local_id.x] = t[x[local_id.x]];
}
"""

FAULTS = [  # kernel, arguments, where, block, thread, what: in the words of devices, in those of the interpreter
    ("quotients", ["x=iota:100", "n=2", "y=zeros:128"], "3:10", 1, 36,
     ("index 100 is outside `x` of length 100", "index 100 is out of bounds of 'x' with length 100")),
    ("quotients", ["x=iota:128", "n=0", "y=zeros:128"], "3:10", 0, 0, ("division by zero", "division by zero")),
    ("search", ["x=zeros:10", "y=zeros:64"], "7:9", 0, 0,
     ("index 10 is outside `x` of length 10", "index 10 is out of bounds of 'x' with length 10")),
    ("table", ["x=fill:64:77", "y=zeros:64"], "14:19", 0, 0,
     ("index 77 is outside `t` of length 64", "index 77 is out of bounds of 't' with length 64")),
]


class Checked(harness.CommandLine):
    def check(self, device):
        self.write("c.sarek", KERNELS)
        if device == "opencl" and "opencl:0" not in self.succeeds("devices"):
            self.skipTest("there is no opencl device")
        for kernel, arguments, where, block, thread, (device_words, interpreter_words) in FAULTS:
            words = [word for a in arguments for word in ("--arg", a)]
            with self.subTest(kernel=kernel, arguments=arguments):
                said = self.fails(INPUT_ERRORS, "run", "c.sarek", "--checked", "--device", device, "-k", kernel, *words)
                self.assertIn(f"c.sarek:{where}: ", said)
                if device == "interp":
                    self.assertIn(f"block ({block}, 0, 0), thread ({thread}, 0, 0): {interpreter_words}", said)
                else:
                    self.assertIn(f"block {block}, thread {thread}: {device_words}", said)
        # Without a fault the results are those of the unchecked kernel.
        for checked in ([], ["--checked"]):
            shown = self.succeeds("run", "c.sarek", *checked, "--device", device, "-k", "quotients", "--arg", "x=iota:128", "--arg", "n=3", "--arg", "y=zeros:128")
            self.assertIn("y: [i32; 128] = [0, 0, 0, 1, 1, 1, 2", shown)

    def test_native(self):
        self.check("native")

    def test_opencl(self):
        self.check("opencl")

    def test_interp(self):
        self.check("interp")


if __name__ == "__main__":
    harness.main()
