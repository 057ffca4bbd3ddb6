#!/usr/bin/env python3
"""What the command line says about itself, and its exit statuses."""
import json
import re

import harness
from harness import ENVIRONMENT, INPUT_ERRORS, SAXPY, USAGE


class About(harness.CommandLine):
    def test_version(self):
        self.assertRegex(self.succeeds("--version"), r"^sarekc \d+\.\d+\.\d+\b")

    def test_help_names_every_verb_and_the_exit_statuses(self):
        text = self.succeeds("--help")
        for verb in ("compile", "check", "run", "test", "fmt", "devices", "explain", "policy"):
            self.assertRegex(text, rf"(?m)^  {verb}\b")
        self.assertIn("Exit status:", text)
        self.assertEqual(self.succeeds("-h"), text)

    def test_every_verb_has_help(self):
        verbs = re.findall(r"(?m)^  ([a-z]+) ", self.succeeds("--help"))
        self.assertGreaterEqual(len(verbs), 6)
        for verb in verbs:
            self.assertIn("--help", self.succeeds(verb, "--help"), verb)


class ExitStatus(harness.CommandLine):
    def test_no_arguments_is_wrong_usage(self):
        done = self.sarekc()
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("usage:", done.stdout + done.stderr)

    def test_an_unknown_option_is_wrong_usage(self):
        self.write("a.sarek", SAXPY)
        self.assertIn("--no-such-option", self.fails(USAGE, "check", "a.sarek", "--no-such-option"))

    def test_a_missing_input_is_an_environment_fault(self):
        self.assertIn("gone.sarek", self.fails(ENVIRONMENT, "check", "gone.sarek"))

    def test_a_folder_is_no_input(self):
        self.write("folder/a.sarek", SAXPY)
        self.assertIn("`folder`", self.fails(ENVIRONMENT, "check", "folder"))

    def test_a_word_that_is_neither_a_file_nor_a_verb(self):
        self.assertIn("chekc", self.fails(USAGE, "chekc", "a.sarek"))

    def test_an_error_in_the_input(self):
        self.write("a.sarek", SAXPY.replace("y.len", "z.len"))
        self.assertIn("a.sarek:3:", self.fails(INPUT_ERRORS, "check", "a.sarek"))

    def test_a_sound_input(self):
        self.write("a.sarek", SAXPY)
        self.succeeds("check", "a.sarek")

    def test_an_error_in_one_input_and_another_that_is_missing(self):
        self.write("a.sarek", SAXPY.replace("y.len", "z.len"))
        self.fails(ENVIRONMENT, "check", "a.sarek", "gone.sarek")


class Devices(harness.CommandLine):
    def test_as_text_and_as_json(self):
        listed = json.loads(self.succeeds("devices", "--json"))
        ids = [d["id"] for d in listed]
        self.assertIn("interp:0", ids)
        self.assertIn("native:0", ids)
        text = self.succeeds("devices")
        self.assertEqual(re.findall(r"(?m)^([a-z]+:\d+)  ", text), ids)
        for d in listed:
            self.assertGreater(d["max_block_threads"], 0, d)
            self.assertEqual(d["id"].split(":")[0], d["target"])

    def test_a_driver_without_a_device_says_why(self):
        text = self.succeeds("devices")
        for target in ("native", "opencl", "interp"):
            self.assertRegex(text, rf"(?m)^{target}(:\d+  |: none \(.+\)$)")


if __name__ == "__main__":
    harness.main()
