#!/usr/bin/env python3
"""sarekc test: which tests run where, what a failure shows, the exit status."""
import harness
from harness import ENVIRONMENT, INPUT_ERRORS, USAGE

SCALE = """kernel scale(a: f32, x: in [f32], y: out [f32]) block(64) {
  let i = global_id.x;
  if i < y.len && i < x.len { y[i] = a * x[i]; }
}

test small for scale { grid(1); a = 2.0; x = [1.0, 2.0]; y = [0.0; 2]; expect y = [2.0, 4.0]; }

test anything for scale {
  cases(20);
  let n = any(1, 100);
  grid(ceil_div(n, 64)); a = random(-2.0, 2.0); x = random(n, -1.0, 1.0); y = [0.0; n];
  expect same as interp;
}
"""
INDEX = """kernel at(i: i32, x: in [f32], y: out [f32]) block(1) { y[0] = x[i]; }
test beyond for at { grid(1); i = 2; x = [1.0, 2.0]; y = [0.0]; expect error "out-of-bounds"; }
"""


class TestItems(harness.CommandLine):
    def test_what_passes_is_counted(self):
        self.write("a.sarek", SCALE)
        self.assertEqual(self.succeeds("test", "a.sarek"),
                         "passed a.sarek: small on native\npassed a.sarek: anything on native (20 cases)\n2 passed, 0 failed\n")

    def test_devices_and_a_filter(self):
        self.write("a.sarek", SCALE)
        self.assertEqual(self.succeeds("test", "a.sarek", "--device", "native,interp", "--filter", "small"),
                         "passed a.sarek: small on native\npassed a.sarek: small on interp\n2 passed, 0 failed\n")
        self.assertIn("`nothing`", self.fails(USAGE, "test", "a.sarek", "--filter", "nothing"))
        self.assertIn("native:9", self.fails(ENVIRONMENT, "test", "a.sarek", "--device", "native:9"))
        self.fails(USAGE, "test", "a.sarek", "--device", "abacus")

    def test_a_failure_shows_the_value_and_the_place(self):
        self.write("a.sarek", SCALE.replace("[2.0, 4.0]", "[2.0, 5.0]"))
        done = self.sarekc("test", "a.sarek")
        self.assertEqual(done.returncode, INPUT_ERRORS)
        self.assertRegex(done.stdout, r"FAILED a\.sarek: small on native\n  a\.sarek:6:\d+: .*y\[1\] is 4\.0, expected 5\.0\n")
        self.assertTrue(done.stdout.endswith("1 passed, 1 failed\n"))

    def test_a_failing_random_case_is_made_small(self):
        self.write("a.sarek", """kernel k(x: in [f32], y: out [f32]) block(64) {
  let i = global_id.x;
  if i < y.len && i < x.len { y[i] = x[i]; }
}
test t for k {
  cases(50);
  let n = any(1, 60);
  grid(1); x = random(n, 1.0, 2.0); y = [0.0; n];
  expect y = [0.0; n];
}
""")
        done = self.sarekc("test", "a.sarek")
        self.assertEqual(done.returncode, INPUT_ERRORS)
        self.assertIn("case 1 of 50: with x = [1.0]; y = [0.0]; y[0] is 1.0, expected 0.0", done.stdout)

    def test_expected_errors(self):
        self.write("a.sarek", INDEX)
        self.assertIn("1 passed", self.succeeds("test", "a.sarek", "--device=interp"))
        self.assertIn("1 passed", self.succeeds("test", "a.sarek", "--checked"))
        self.write("b.sarek", INDEX.replace("i = 2", "i = 1"))
        done = self.sarekc("test", "b.sarek", "--checked")
        self.assertEqual(done.returncode, INPUT_ERRORS)
        self.assertIn("was expected, the kernel ran to its end", done.stdout)

    def test_a_file_that_does_not_compile_does_not_hide_another(self):
        self.write("a.sarek", SCALE.replace("a * x", "b * x"))
        self.write("b.sarek", SCALE)
        done = self.sarekc("test", "a.sarek", "b.sarek")
        self.assertEqual(done.returncode, INPUT_ERRORS)
        self.assertIn("a.sarek:3:", done.stderr)
        self.assertIn("2 passed, 0 failed", done.stdout)


if __name__ == "__main__":
    harness.main()
