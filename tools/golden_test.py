"""Tests of golden on small made-up trees with a small program in the compiler's place."""
import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

from tool_under_test import load

golden = load("golden")

# Prints the input, its arguments and what is on standard input; a file with the word `wrong` is refused.
COMPILER = """#!/bin/sh
for last; do :; done
if grep -q wrong "$last"; then echo "$last:1:1: error: wrong" >&2; exit 1; fi
echo "$PWD/file $1 ${SAREK_WORD:-none}"
cat
"""


class Golden(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = os.path.realpath(scratch.name)
        self.write("sarekc", COMPILER)
        os.chmod(os.path.join(self.root, "sarekc"), 0o755)
        environment = mock.patch.dict(os.environ, {"CI": "", "SAREK_WORD": "of the caller"})
        environment.start()
        self.addCleanup(environment.stop)

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def read(self, path):
        return golden.read(os.path.join(self.root, path))

    def golden(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = golden.main(["--sarekc", os.path.join(self.root, "sarekc"), *arguments], self.root)
        return status, out.getvalue()

    def test_a_missing_expectation_fails_and_update_writes_it(self):
        self.write("tests/golden/a.sarek", "// RUN: sarekc one %s\n")
        status, text = self.golden()
        self.assertEqual(status, 1)
        self.assertIn("there is no tests/golden/a.expected", text)
        self.assertEqual(self.golden("--update")[0], 0)
        self.assertEqual(self.read("tests/golden/a.expected"), "exit 0\n--- stdout\nfile one none\n")
        self.assertEqual(self.golden()[0], 0)

    def test_a_difference_is_shown_as_a_diff(self):
        self.write("tests/golden/a.sarek", "// RUN: sarekc one %s\n")
        self.write("tests/golden/a.expected", "exit 0\n--- stdout\nfile two none\n")
        status, text = self.golden()
        self.assertEqual(status, 1)
        self.assertIn("-file two none\n+file one none\n", text)

    def test_several_commands_environment_input_and_scratch(self):
        self.write("tests/golden/a.sir", "sarek-ir 1\n# RUN: SAREK_WORD=x sarekc %t %s < tests/golden/in.txt\n# RUN: sarekc %d %s\n")
        self.write("tests/golden/in.txt", "hello")
        self.golden("--update")
        self.assertEqual(
            self.read("tests/golden/a.expected"),
            "$ SAREK_WORD=x sarekc %t %s < tests/golden/in.txt\nexit 0\n--- stdout\nfile %t x\nhello\n\\ no newline at the end\n"
            "$ sarekc %d %s\nexit 0\n--- stdout\nfile tests/golden none\n")

    def test_a_refusal_must_be_refused(self):
        self.write("tests/errors/a.sarek", "// RUN: sarekc check %s\nwrong\n")
        self.write("tests/errors/b.sarek", "// RUN: sarekc check %s\nfine\n")
        status, text = self.golden("--update")
        self.assertEqual(status, 1)
        self.assertIn("FAILED tests/errors/b.sarek: a refusal exits with status 1, this one with 0", text)
        self.assertEqual(self.read("tests/errors/a.expected"), "exit 1\n--- stderr\ntests/errors/a.sarek:1:1: error: wrong\n")
        self.assertFalse(os.path.exists(os.path.join(self.root, "tests/errors/b.expected")))

    def test_skipped_tests_are_counted_with_their_reason(self):
        self.write("tests/golden/a.sarek", "// RUN: sarekc one %s\n// SKIP: no such device\n")
        status, text = self.golden()
        self.assertEqual(status, 77)
        self.assertIn("skipped tests/golden/a.sarek: no such device", text)
        self.assertIn("0 passed, 0 failed, 1 skipped", text)

    def test_names_choose_and_a_name_that_chooses_nothing_fails(self):
        self.write("tests/golden/a.sarek", "// RUN: sarekc one %s\n")
        self.write("tests/golden/b.sarek", "// RUN: sarekc one %s\n")
        self.assertIn("1 updated", self.golden("--update", "golden/a")[1])
        self.assertEqual(self.golden("golden/a")[0], 0)
        self.assertEqual(self.golden("golden/c")[0], 1)

    def test_only_sarekc_is_run(self):
        self.write("tests/golden/a.sarek", "// RUN: rm %s\n")
        status, text = self.golden()
        self.assertEqual(status, 1)
        self.assertIn("must start with sarekc", text)

    def test_ci_never_updates(self):
        self.write("tests/golden/a.sarek", "// RUN: sarekc one %s\n")
        with mock.patch.dict(os.environ, {"CI": "true"}):
            self.assertEqual(self.golden("--update")[0], 2)
        self.assertFalse(os.path.exists(os.path.join(self.root, "tests/golden/a.expected")))

    def test_the_tree_has_no_silent_inputs_and_no_orphans(self):
        self.write("tests/golden/run.sarek", "// RUN: sarekc one %s\n")
        self.write("tests/golden/run.expected", "")
        self.write("tests/golden/modules/imported.sarek", "\n")
        self.write("tests/errors/within.sarek", "fn\n//! missing 1:3 something is missing\n")
        self.assertEqual(self.golden("--tree")[0], 0)
        self.write("tests/golden/typo.sarek", "// RUNS: sarekc one %s\n")
        self.write("tests/golden/gone.expected", "")
        self.write("tests/golden/run.sir", "# RUN: sarekc one %s\n")
        status, text = self.golden("--tree")
        self.assertEqual(status, 1)
        self.assertIn("typo.sarek has neither", text)
        self.assertIn("gone.expected belongs to no input", text)
        self.assertIn("share tests/golden/run.expected", text)


if __name__ == "__main__":
    unittest.main()
