#!/usr/bin/env python3
"""sarekc fmt: in place, to standard output, as a check."""
import os
import stat

import harness
from harness import ENVIRONMENT, INPUT_ERRORS, SAXPY, USAGE

MESSY = "kernel   k( y:out [f32] )block( 64 ){ // why\ny[ global_id.x ]=1.0 ;}\n"


class Format(harness.CommandLine):
    def test_a_file_is_formatted_in_place_and_then_stays(self):
        self.write("a.sarek", MESSY)
        self.assertEqual(self.succeeds("fmt", "a.sarek"), "")
        once = self.read("a.sarek").decode()
        self.assertNotEqual(once, MESSY)
        self.assertEqual("".join(once.split()), "".join(MESSY.split()))  # only white space changed
        self.succeeds("fmt", "a.sarek")
        self.assertEqual(self.read("a.sarek").decode(), once)

    def test_standard_output_and_standard_input(self):
        self.write("a.sarek", MESSY)
        text = self.succeeds("fmt", "--stdout", "a.sarek")
        self.assertEqual(self.read("a.sarek").decode(), MESSY)
        self.assertEqual(self.succeeds("fmt", "-", stdin=MESSY), text)

    def test_a_check_names_the_files_and_writes_nothing(self):
        self.write("a.sarek", MESSY)
        self.write("b.sarek", SAXPY)
        done = self.sarekc("fmt", "--check", "a.sarek", "b.sarek")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (INPUT_ERRORS, "a.sarek is not formatted\n", ""))
        self.assertEqual(self.read("a.sarek").decode(), MESSY)
        self.assertEqual(self.succeeds("fmt", "--check", "b.sarek"), "")

    def test_a_file_that_cannot_be_read_as_source_is_left_alone(self):
        self.write("a.sarek", MESSY.replace("]=", "]= ("))
        self.assertIn("a.sarek:2:", self.fails(INPUT_ERRORS, "fmt", "a.sarek"))
        self.assertIn("]= (", self.read("a.sarek").decode())
        self.assertIn("gone.sarek", self.fails(ENVIRONMENT, "fmt", "gone.sarek"))
        self.fails(USAGE, "fmt")

    def test_mode_and_link_survive(self):
        self.write("a.sarek", MESSY)
        os.chmod(self.path("a.sarek"), 0o640)
        os.symlink("a.sarek", self.path("link.sarek"))
        self.succeeds("fmt", "link.sarek")
        self.assertTrue(os.path.islink(self.path("link.sarek")))
        self.assertNotEqual(self.read("a.sarek").decode(), MESSY)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("a.sarek")).st_mode), 0o640)


if __name__ == "__main__":
    harness.main()
