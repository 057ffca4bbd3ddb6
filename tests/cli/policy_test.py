#!/usr/bin/env python3
"""Manifests: where they are found, what is wrong with them, and sarekc policy check, show, diff and add."""
import json

import harness
from harness import DONE, ENVIRONMENT, INPUT_ERRORS, USAGE

# Rounds twice: once only under a grant.
TONE = """kernel tone(x: f64, h: out [f16]) block(1) {
  if 0 < h.len { h[0] = (x as f32) as f16; }
}
"""
REASON = "PSNR budget signed off in QA-112"


def manifest(*grants):
    return json.dumps({"version": 1, "grants": list(grants)}, indent=1)


def entry(grant="single-rounding", kernel="tone", reason=REASON):
    return {"grant": grant, "kernel": kernel, "reason": reason}


class ManifestSearch(harness.CommandLine):
    def is_granted(self, *words, **more):
        text = self.succeeds("src/a.sarek", "--explain", "--explain-file=-", "-o", "a.pkg", *words, **more)
        return f'tone gen:llvm narrowing-proof applied granted single-rounding "{REASON}"\n' in text

    def setUp(self):
        super().setUp()
        self.write("src/a.sarek", TONE)
        self.write("sarek.project", "")  # the search for a manifest ends here

    def test_no_manifest_grants_nothing(self):
        self.assertFalse(self.is_granted())

    def test_beside_the_input_or_above_it(self):
        self.write("sarek.policy.json", manifest(entry()))
        self.assertTrue(self.is_granted())
        self.write("src/sarek.policy.json", manifest())
        self.assertFalse(self.is_granted())

    def test_not_above_the_root_of_the_project(self):
        self.write("sarek.policy.json", manifest(entry()))
        self.write("src/sarek.project", "")
        self.assertFalse(self.is_granted())

    def test_named_or_none(self):
        self.write("other.json", manifest(entry()))
        self.write("src/sarek.policy.json", manifest())
        self.assertTrue(self.is_granted("--policy=other.json"))
        self.write("src/sarek.policy.json", manifest(entry()))
        self.assertFalse(self.is_granted("--no-policy"))
        self.assertIn("gone.json", self.fails(ENVIRONMENT, "src/a.sarek", "--policy=gone.json"))

    def test_the_environment_only_takes_away(self):
        self.write("src/sarek.policy.json", manifest(entry()))
        for items in ("single-rounding", "narrowing-proof", "unroll, Single-Rounding", "all"):
            self.assertFalse(self.is_granted(env={"SAREK_OPT_DISABLE": items}), items)
        self.assertTrue(self.is_granted(env={"SAREK_OPT_DISABLE": "unroll"}))

    def test_an_item_of_the_environment_that_names_nothing_is_warned_about_once(self):
        self.write("src/sarek.policy.json", manifest(entry()))
        for words in (("src/a.sarek",), ("check", "src/a.sarek"), ("policy", "show", "tone", "--policy", "src/sarek.policy.json"),
                      ("run", "src/a.sarek", "-a", "x=1", "-a", "h=zeros:1")):
            done = self.sarekc(*words, env={"SAREK_OPT_DISABLE": "singel-rounding"})
            self.assertEqual((done.returncode, done.stderr.count("singel-rounding")), (DONE, 1), (words, done.stderr))


class ManifestFaults(harness.CommandLine):
    """Each fault with its line and column, in a compile and in a check."""

    def fault(self, text, kind, place):
        self.write("a.sarek", TONE)
        self.write("sarek.policy.json", text)
        told = rf"sarek\.policy\.json:{place}: error: .*\[{kind}\]"
        self.assertRegex(self.fails(INPUT_ERRORS, "a.sarek"), told)
        done = self.sarekc("policy", "check")
        self.assertEqual(done.returncode, INPUT_ERRORS)
        self.assertRegex(done.stdout + done.stderr, told)

    def test_faults_have_their_place(self):
        good = '{"grant": "single-rounding", "kernel": "tone", "reason": "r"}'
        for grant, kind, column in (
                (good.replace("reason", "raeson"), "manifest-unknown-key", r"\d+"),
                (good.replace("single-rounding", "single-roundin"), "manifest-unknown-grant", "11"),
                (good.replace('"r"', '" "'), "manifest-blank-reason", r"\d+"),
                (good.replace("tone", "sarek_kern"), "manifest-default-kernel", r"\d+"),
                (good.replace(', "reason": "r"', ""), "manifest-missing-key", "1"),
                (good.replace('"kernel"', '"scope": "process", "kernel"'), "manifest-scope", r"\d+"),
                (good + ",\n" + good, "manifest-duplicate-grant", r"\d+")):
            line = 4 if kind == "manifest-duplicate-grant" else 3
            self.fault(f'{{"version": 1,\n"grants": [\n{grant}\n]}}\n', kind, f"{line}:{column}")
        self.fault('{"version": 2, "grants": []}', "manifest-version", "1:13")
        self.fault('{"version": 1,\n "grants": [}', "manifest-syntax", "2:13")

    def test_a_kernel_that_no_input_defines_is_a_warning(self):
        self.write("a.sarek", TONE)
        self.write("sarek.policy.json", manifest(entry(kernel="tune")))
        done = self.sarekc("check", "a.sarek")
        self.assertEqual(done.returncode, DONE)
        self.assertRegex(done.stderr, r"sarek\.policy\.json:\d+:\d+: warning: .*\[manifest-unknown-kernel\]")
        self.fails(INPUT_ERRORS, "check", "a.sarek", "-Werror")
        self.assertEqual(self.sarekc("policy", "check", "a.sarek").returncode, DONE)
        self.assertEqual(self.sarekc("policy", "check", "a.sarek", "--werror").returncode, INPUT_ERRORS)
        self.assertEqual(self.succeeds("policy", "check"), "")  # without an input no kernel is known

    def test_a_kernel_of_another_source_is_known(self):
        self.write("a.sarek", TONE)
        self.write("b.sarek", TONE.replace("tone", "tune"))
        self.write("sarek.policy.json", manifest(entry(), entry(kernel="tune")))
        self.succeeds("check", "a.sarek", "b.sarek", "-Werror")
        self.succeeds("check", "a.sarek", "--policy-source", "b.sarek", "-Werror")


class PolicyCommands(harness.CommandLine):
    def test_show_tells_what_a_kernel_holds_and_why(self):
        self.write("sarek.policy.json", manifest(entry()))
        text = self.succeeds("policy", "show", "tone")
        self.assertRegex(text, rf'(?m)^  single-rounding: granted for the kernel at sarek\.policy\.json:\d+:\d+: "{REASON}"$')
        self.assertIn("  accumulation-order: not granted\n", text)
        self.assertIn("single-rounding: not granted\n", self.succeeds("policy", "show", "other"))
        self.assertIn("granted, but revoked", self.succeeds("policy", "show", "tone", env={"SAREK_OPT_DISABLE": "single-rounding"}))
        self.fails(USAGE, "policy", "show")

    def test_diff_is_a_gate(self):
        self.write("old.json", manifest(entry()))
        self.write("new.json", manifest(entry(), entry("accumulation-order")))
        self.write("said.json", manifest(entry(reason="another reason")))
        done = self.sarekc("policy", "diff", "old.json", "new.json")
        self.assertEqual((done.returncode, done.stdout), (INPUT_ERRORS, f'+ accumulation-order for kernel "tone": "{REASON}"\n'))
        self.assertEqual(self.succeeds("policy", "diff", "new.json", "old.json"), f'- accumulation-order for kernel "tone": "{REASON}"\n')
        self.assertEqual(self.succeeds("policy", "diff", "old.json", "said.json"),
                         f'~ single-rounding for kernel "tone": "{REASON}" -> "another reason"\n')
        self.assertEqual(self.succeeds("policy", "diff", "old.json", "old.json"), "")
        self.assertIn("gone.json", self.fails(ENVIRONMENT, "policy", "diff", "old.json", "gone.json"))
        self.write("bad.json", "{")
        self.assertIn("bad.json:1:", self.fails(INPUT_ERRORS, "policy", "diff", "old.json", "bad.json"))

    def test_add_writes_one_entry_and_leaves_the_rest(self):
        self.write("sarek.project", "")
        words = ("policy", "add", "--grant=single-rounding", f"--reason={REASON}")
        self.succeeds(*words, "--kernel=tone")
        self.assertEqual(json.loads(self.read("sarek.policy.json"))["grants"], [entry()])
        before = self.read("sarek.policy.json")
        self.assertIn("grants this already", self.succeeds(*words, "--kernel=tone"))
        self.assertEqual(self.read("sarek.policy.json"), before)
        self.succeeds(*words, "--scope=process")
        self.assertEqual(len(json.loads(self.read("sarek.policy.json"))["grants"]), 2)

    def test_add_refuses_what_a_manifest_may_not_hold(self):
        self.write("sarek.policy.json", manifest())
        for words in (("--grant=single-rounding", "--kernel=k", "--reason= "), ("--grant=singel-rounding", "--kernel=k", "--reason=r"),
                      ("--grant=unroll", "--kernel=k", "--reason=r"), ("--grant=single-rounding", "--reason=r"),
                      ("--grant=single-rounding", "--kernel=sarek_kern", "--reason=r"), ("--grant=single-rounding", "--kernel=k")):
            self.fails(USAGE, "policy", "add", *words)
        self.assertEqual(self.read("sarek.policy.json").decode(), manifest())

    def test_unknown_commands_are_named(self):
        self.assertIn("`grant`", self.fails(USAGE, "policy", "grant"))
        self.fails(USAGE, "policy")


if __name__ == "__main__":
    harness.main()
