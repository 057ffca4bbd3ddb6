#!/usr/bin/env python3
"""Reports of a compile: --explain in its four forms, and sarekc explain show and diff."""
import json

import harness
from harness import ENVIRONMENT, INPUT_ERRORS, USAGE

TONE = """kernel tone(x: f64, h: out [f16]) block(1) {
  if 0 < h.len { h[0] = (x as f32) as f16; }
}
"""
REFUSED = 'tone gen:llvm narrowing-proof refused "no grant single-rounding (kernel or process)"\n'
GRANTED = 'tone gen:llvm narrowing-proof applied granted single-rounding "looks the same"\n'


class Explain(harness.CommandLine):
    def setUp(self):
        super().setUp()
        self.write("sarek.project", "")  # no manifest is looked for above
        self.write("a.sarek", TONE)
        self.write("grant.json", json.dumps({"version": 1, "grants": [{"grant": "single-rounding", "kernel": "tone", "reason": "looks the same"}]}))

    def report(self, name, *words):
        self.succeeds("a.sarek", "--explain=json", f"--explain-file={name}", *words)
        return name

    def test_text_goes_to_standard_error_with_what_to_do(self):
        done = self.sarekc("a.sarek", "--explain")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertTrue(done.stderr.startswith(REFUSED))
        self.assertIn("a.sarek:2:", done.stderr)
        self.assertIn("sarekc policy add --grant=single-rounding --kernel=tone", done.stderr)

    def test_text_in_a_file_holds_the_lines_alone(self):
        self.assertEqual(self.succeeds("a.sarek", "--explain-file=report.txt"), "")
        self.assertEqual(self.read("report.txt").decode(), REFUSED)
        self.assertEqual(self.succeeds("a.sarek", "--explain", "--explain-file=-", "--policy=grant.json"), GRANTED)

    def test_json_sarif_and_html(self):
        decision = json.loads(self.succeeds("a.sarek", "--explain=json"))
        self.assertIn("single-rounding", json.dumps(decision))
        sarif = json.loads(self.succeeds("a.sarek", "--explain=sarif"))
        self.assertEqual(sarif["version"], "2.1.0")
        where = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        self.assertEqual((where["artifactLocation"]["uri"], where["region"]["startLine"]), ("a.sarek", 2))
        html = self.succeeds("a.sarek", "--explain=html")
        self.assertTrue(html.lower().startswith("<!doctype html>"))
        for outside in ("<link", "src=", "@import"):  # one file, whole by itself
            self.assertNotIn(outside, html)

    def test_report_and_output_do_not_mix(self):
        self.assertIn("--explain-file", self.fails(USAGE, "a.sarek", "--explain=json", "--emit=ir"))
        self.fails(USAGE, "a.sarek", "--explain=xml")

    def test_one_report_holds_several_inputs(self):
        self.write("b.sarek", TONE.replace("tone", "tune"))
        text = self.succeeds("a.sarek", "b.sarek", "--explain", "--explain-file=-")
        self.assertEqual(text, REFUSED + REFUSED.replace("tone", "tune"))

    def test_show_gives_a_report_another_form(self):
        self.report("r.json")
        self.assertEqual(self.succeeds("explain", "show", "r.json"), REFUSED)
        self.assertEqual(self.succeeds("explain", "show", "r.json", "--format=json").encode(), self.read("r.json"))
        self.assertIn("2.1.0", self.succeeds("explain", "show", "r.json", "--format=sarif"))
        self.assertIn("gone.json", self.fails(ENVIRONMENT, "explain", "show", "gone.json"))
        self.assertIn("grant.json:1:", self.fails(INPUT_ERRORS, "explain", "show", "grant.json"))

    def test_diff_is_a_gate(self):
        refused = self.report("old.json")
        granted = self.report("new.json", "--policy=grant.json")
        done = self.sarekc("explain", "diff", refused, granted)
        self.assertEqual((done.returncode, done.stderr), (INPUT_ERRORS, ""))
        self.assertRegex(done.stdout, r"^newly-granted tone gen:llvm narrowing-proof: refused .* -> applied granted .* \(a\.sarek:2\)\n$")
        self.assertIn("newly-granted", self.succeeds("explain", "diff", refused, granted, "--fail-on=newly-refused"))
        self.assertEqual(self.sarekc("explain", "diff", granted, refused, "--fail-on=newly-refused,newly-granted").returncode, INPUT_ERRORS)
        self.assertEqual(self.succeeds("explain", "diff", refused, refused), "")
        self.assertIn("`newly-odd`", self.fails(USAGE, "explain", "diff", refused, granted, "--fail-on=newly-odd"))


if __name__ == "__main__":
    harness.main()
