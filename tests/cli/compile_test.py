#!/usr/bin/env python3
"""sarekc compile: what it writes and where, its options as C compilers spell them, dependency files, diagnostics."""
import json
import os
import re

import harness
from harness import COMPILER_FAULT, DONE, ENVIRONMENT, INPUT_ERRORS, SAXPY, USAGE

MAGIC = 8  # bytes of a package that say what it is

CONSTANT = """const N: i32 = 2;
kernel fill(y: out [i32]) block(64) {
  if global_id.x < y.len { y[global_id.x] = N; }
}
"""
IMPORTS = """import "shared.sarek";
kernel use(y: out [i32]) block(64) {
  if global_id.x < y.len { y[global_id.x] = seven(); }
}
"""
SHARED = "fn seven() -> i32 { 7 }\n"
UNUSED = """kernel k(y: out [i32]) block(64) {
  let unused = 1;
  if global_id.x < y.len { y[global_id.x] = 2; }
}
"""


class Outputs(harness.CommandLine):
    def test_the_default_is_a_package_beside_the_input(self):
        self.write("sub/a.sarek", SAXPY)
        self.assertEqual(self.succeeds("sub/a.sarek"), "")
        package = self.read("sub/a.sarek.pkg")
        self.succeeds("compile", "sub/a.sarek", "-o", "b.pkg")
        self.assertEqual(self.read("b.pkg"), package)

    def test_a_dash_is_standard_output(self):
        self.write("a.sarek", SAXPY)
        self.succeeds("a.sarek", "--target=interp")
        done = self.sarekc("a.sarek", "--target=interp", "-o", "-")
        self.assertEqual(done.stdout[:MAGIC], self.read("a.sarek.pkg")[:MAGIC].decode("utf-8", "backslashreplace"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.sarek", "a.sarek.pkg"])

    def test_a_dash_is_standard_input(self):
        self.assertIn('program "saxpy"', self.succeeds("-", "--emit=ir", stdin=SAXPY))
        self.assertIn("<stdin>:3:", self.fails(INPUT_ERRORS, "check", "-", stdin=SAXPY.replace("y.len", "z.len")))

    def test_two_compiles_give_the_same_bytes(self):
        for folder in ("one", "two"):
            self.write(f"{folder}/a.sarek", SAXPY)
            self.succeeds(f"{folder}/a.sarek", "--target", "native,opencl,interp")
        self.assertEqual(self.read("one/a.sarek.pkg"), self.read("two/a.sarek.pkg"))

    def test_several_inputs_give_several_packages(self):
        self.write("a.sarek", SAXPY)
        self.write("b.sarek", CONSTANT)
        self.succeeds("a.sarek", "b.sarek", "--target=interp")
        self.read("a.sarek.pkg"), self.read("b.sarek.pkg")
        self.assertIn("-o", self.fails(USAGE, "a.sarek", "b.sarek", "-o", "c.pkg"))

    def test_every_kind_that_is_text_goes_to_standard_output(self):
        self.write("a.sarek", SAXPY)
        for kind, begins in (("ir", "sarek-ir 1\n"), ("ast", "kernel saxpy\n"), ("metadata", "{"), ("llvm-ir", "; ModuleID"), ("asm", "\t.text")):
            self.assertTrue(self.succeeds("a.sarek", f"--emit={kind}").startswith(begins), kind)
        self.assertIn("__kernel", self.succeeds("a.sarek", "--emit=source", "--target=opencl"))
        self.assertTrue(self.succeeds("a.sarek", "--emit=source", "--target=interp").startswith("sarek-ir 1\n"))

    def test_object_and_header_are_files(self):
        self.write("a.sarek", SAXPY)
        self.succeeds("a.sarek", "--emit=object")
        self.assertEqual(self.read("a.o")[:4], b"\x7fELF")
        self.succeeds("a.sarek", "--emit=header")
        self.assertIn(b"namespace a {", self.read("a.sarek.hpp"))
        self.succeeds("a.sarek", "--header", "h.hpp", "--namespace", "fin::core")
        self.assertIn(b"namespace fin::core {", self.read("h.hpp"))
        self.fails(USAGE, "a.sarek", "--header", "h.hpp", "--namespace", "class")

    def test_an_input_is_never_overwritten(self):
        self.write("a.sarek", SAXPY)
        self.assertIn("also an input", self.fails(USAGE, "a.sarek", "-o", "./a.sarek"))
        self.assertEqual(self.read("a.sarek").decode(), SAXPY)
        self.assertIn("twice", self.fails(USAGE, "a.sarek", "-o", "x", "--header", "x"))

    def test_a_fault_leaves_no_output(self):
        self.write("a.sarek", SAXPY.replace("y.len", "z.len"))
        self.fails(INPUT_ERRORS, "a.sarek", "-MD")
        self.assertEqual(os.listdir(self.folder), ["a.sarek"])

    def test_an_output_that_cannot_be_written(self):
        self.write("a.sarek", SAXPY)
        self.assertIn("gone/a.pkg", self.fails(ENVIRONMENT, "a.sarek", "-o", "gone/a.pkg"))


class Targets(harness.CommandLine):
    def targets(self, *words):
        """(target, level) of each variant that a compile with these words makes."""
        self.write("a.sarek", SAXPY)
        kernel = json.loads(self.succeeds("a.sarek", "--emit=metadata", *words))["kernels"][0]
        return [(v["target"], v["level"]) for v in kernel["variants"]]

    def test_a_comma_list_or_repeated(self):
        both = [("opencl", ""), ("interp", "")]
        self.assertEqual(self.targets("--target=opencl,interp"), both)
        self.assertEqual(self.targets("--target", "opencl", "--target", "interp"), both)
        self.assertEqual(self.targets("--target=opencl,interp,opencl"), both)

    def test_native_may_carry_a_level(self):
        self.assertEqual(self.targets("--target=native:avx2"), [("native", "avx2")])
        self.assertIn("avx3", self.fails(USAGE, "a.sarek", "--target=native:avx3"))
        self.assertEqual(self.targets(), self.targets("--target=host"))

    def test_print_targets_lists_what_target_takes(self):
        text = self.succeeds("--print-targets")
        for name in re.findall(r"(?m)^([a-z]+)  ", text):
            self.assertTrue(self.targets(f"--target={name}"), name)
        self.assertIn("--print-targets", self.fails(USAGE, "a.sarek", "--target=abacus"))

    def test_a_kind_that_a_target_lacks(self):
        self.write("a.sarek", SAXPY)
        self.assertIn("--emit=source", self.fails(USAGE, "a.sarek", "--emit=source"))
        self.assertIn("native", self.fails(USAGE, "a.sarek", "--emit=asm", "--target=opencl"))

    def test_native_code_contracts_nothing(self):
        self.write("a.sarek", SAXPY)
        for level in ("avx2", "avx512"):  # both have a fused multiply-add
            text = self.succeeds("a.sarek", "--emit=asm", f"--target=native:{level}", "-O3")
            self.assertIn("vmulps", text)
            self.assertIn("vaddps", text)
            self.assertNotIn("vfm", text)


class Options(harness.CommandLine):
    def value(self, *words):
        return self.succeeds("run", "a.sarek", "-a", "y=zeros:1", *words).strip()

    def test_a_definition_gives_a_constant_its_value(self):
        self.write("a.sarek", CONSTANT)
        self.assertEqual(self.value(), "y: [i32; 1] = [2]")
        self.assertEqual(self.value("-D", "N=5"), "y: [i32; 1] = [5]")
        self.assertEqual(self.value("-DN=-3"), "y: [i32; 1] = [-3]")
        self.assertIn("N", self.fails(INPUT_ERRORS, "check", "a.sarek", "-DN=2.5"))

    def test_imports_are_looked_for_beside_the_file_then_in_the_folders_given(self):
        self.write("a.sarek", IMPORTS)
        self.assertIn("a.sarek:1:", self.fails(INPUT_ERRORS, "check", "a.sarek"))
        self.write("inc/shared.sarek", SHARED)
        self.assertEqual(self.value("-I", "inc"), "y: [i32; 1] = [7]")
        self.write("shared.sarek", SHARED.replace("7", "8"))
        self.assertEqual(self.value("-Iinc"), "y: [i32; 1] = [8]")

    def test_a_response_file_holds_arguments(self):
        self.write("a.sarek", CONSTANT)
        self.write("more", "-D 'N=9'\n")
        self.write("args", "run \"a.sarek\" @more -a y=zeros:1")
        self.assertIn("[9]", self.succeeds("@args"))
        self.assertIn("gone", self.fails(ENVIRONMENT, "@gone"))
        self.write("self", "@self")
        self.assertIn("nested", self.fails(ENVIRONMENT, "@self"))

    def test_levels_of_optimisation(self):
        self.write("a.sarek", CONSTANT.replace("= N;", "= N * 3;"))
        self.assertIn("MUL", self.succeeds("a.sarek", "-O0", "--emit=ir"))
        for level in ("-O1", "-O2", "-O3"):
            self.assertNotRegex(self.succeeds("a.sarek", level, "--emit=ir"), r"MUL i32 %\d+ %\d+ !\d+\n.*STORE", level)
            self.assertEqual(self.value(level), "y: [i32; 1] = [6]")
        self.fails(USAGE, "a.sarek", "-O4")

    def test_line_information(self):
        self.write("a.sarek", SAXPY)
        self.assertIn("@3:", self.succeeds("a.sarek", "-g", "--emit=ir"))
        self.assertIn("#line 3", self.succeeds("a.sarek", "-g", "--emit=source", "--target=opencl"))
        self.assertIn("DILocation", self.succeeds("a.sarek", "-g", "--emit=llvm-ir"))

    def test_passes_can_be_looked_behind(self):
        self.write("a.sarek", SAXPY)
        done = self.sarekc("a.sarek", "--dump-after=fold", "-o", "a.pkg")
        self.assertEqual(done.returncode, DONE)
        self.assertIn('program "saxpy"', done.stderr)
        stopped = self.succeeds("a.sarek", "--stop-after=fold")
        self.assertTrue(stopped.startswith("sarek-ir 1\n"))
        self.assertNotIn("a.sarek.pkg", os.listdir(self.folder))  # it would hold no package
        self.assertIn("merge_common", self.fails(USAGE, "a.sarek", "--stop-after=no_such_pass"))

    def test_stopping_after_a_pass_of_a_target(self):
        self.write("a.sarek", "kernel k(i: i32, y: inout [i32]) block(1) { y[0] = y[0] / i; }\n")
        self.assertNotIn("WHERE", self.succeeds("a.sarek", "--stop-after=remove_dead"))
        self.assertIn("WHERE", self.succeeds("a.sarek", "--stop-after=legalise", "--target=opencl"))

    def test_the_time_report_names_front_end_and_passes(self):
        self.write("a.sarek", SAXPY)
        done = self.sarekc("a.sarek", "--time-report")
        self.assertEqual(done.returncode, DONE)
        for step in ("front end", "native", "merge_common", "package"):
            self.assertRegex(done.stderr, rf"(?m)^ +\d+\.\d+ ms  {step}$")

    def test_ir_text_is_an_input(self):
        self.write("a.sarek", SAXPY)
        self.write("a.sir", self.succeeds("a.sarek", "--emit=ir"))
        self.assertIn("saxpy", self.succeeds("a.sir", "--emit=metadata"))
        self.write("bad.sir", "sarek-ir 1\nprogram\n")
        self.assertIn("bad.sir:2:", self.fails(INPUT_ERRORS, "check", "bad.sir"))


class Dependencies(harness.CommandLine):
    def setUp(self):
        super().setUp()
        self.write("a.sarek", IMPORTS)
        self.write("shared.sarek", SHARED)
        self.write("sarek.policy.json", '{"version": 1, "grants": []}')

    def rule(self, text):
        """(targets, dependencies) of the first rule, as make reads it."""
        first = text.replace("\\\n", " ").split("\n")[0]
        targets, _, dependencies = first.partition(":")
        return targets.split(), dependencies.split()

    def test_sources_imports_and_the_manifest(self):
        self.succeeds("a.sarek", "-MD")
        text = self.read("a.sarek.d").decode()
        self.assertEqual(self.rule(text), (["a.sarek.pkg"], ["a.sarek", "shared.sarek", "sarek.policy.json"]))
        self.assertIn("\nshared.sarek:\n", text)  # an import that is deleted does not break the build

    def test_a_file_and_targets_of_ones_own(self):
        self.succeeds("a.sarek", "--no-policy", "-MD", "-MF", "deps", "-MT", "one", "-MT", "two", "-o", "x.pkg")
        self.assertEqual(self.rule(self.read("deps").decode()), (["one", "two"], ["a.sarek", "shared.sarek"]))
        self.assertIn("-MF", self.fails(USAGE, "a.sarek", "-MF", "deps"))

    def test_dependencies_alone(self):
        targets, dependencies = self.rule(self.succeeds("a.sarek", "-M"))
        self.assertEqual((targets, dependencies[0]), (["a.sarek.pkg"], "a.sarek"))
        self.assertNotIn("a.sarek.pkg", os.listdir(self.folder))

    def test_names_are_escaped_as_make_wants_it(self):
        self.write("with space.sarek", SAXPY)
        self.assertIn("with\\ space.sarek", self.succeeds("with space.sarek", "-M", "--no-policy"))


class Diagnostics(harness.CommandLine):
    def test_text_has_place_kind_and_caret(self):
        self.write("a.sarek", SAXPY.replace("y.len", "z.len"))
        text = self.fails(INPUT_ERRORS, "check", "a.sarek")
        self.assertRegex(text, r"^a\.sarek:3:10: error: .* \[unknown-name\]\n")
        self.assertRegex(text, r"\n +\| +\^")
        self.assertNotIn("\x1b", text)

    def test_colour(self):
        self.write("a.sarek", SAXPY.replace("y.len", "z.len"))
        self.assertIn("\x1b[", self.fails(INPUT_ERRORS, "check", "a.sarek", "--color=always"))
        self.assertNotIn("\x1b", self.fails(INPUT_ERRORS, "check", "a.sarek", "--color=never"))

    def test_json_has_the_same_facts(self):
        self.write("a.sarek", SAXPY.replace("y.len", "z.len"))
        (fault,) = json.loads(self.fails(INPUT_ERRORS, "check", "a.sarek", "--diagnostics=json"))
        self.assertEqual((fault["kind"], fault["severity"]), ("unknown-name", "error"))
        self.assertIn("a.sarek", json.dumps(fault))

    def test_json_of_several_inputs_is_one_list(self):
        for name in ("a.sarek", "b.sarek"):
            self.write(name, SAXPY.replace("y.len", "z.len"))
        faults = json.loads(self.fails(INPUT_ERRORS, "check", "a.sarek", "b.sarek", "--diagnostics=json"))
        self.assertEqual(len(faults), 2)

    def test_warnings(self):
        self.write("a.sarek", UNUSED)
        done = self.sarekc("check", "a.sarek")
        self.assertEqual(done.returncode, DONE)
        self.assertIn("a.sarek:2:7: warning: ", done.stderr)
        self.assertIn("[unused-variable]", done.stderr)
        self.succeeds("check", "a.sarek", "-Wno-unused-variable")
        self.assertIn("error", self.fails(INPUT_ERRORS, "check", "a.sarek", "-Werror"))
        self.succeeds("check", "a.sarek", "-Wno-unused-variable", "-Werror", "-Wall")
        self.assertIn("nonsense", self.fails(USAGE, "check", "a.sarek", "-Wno-nonsense"))

    def test_one_wrong_file_does_not_hide_another(self):
        self.write("a.sarek", SAXPY.replace("y.len", "z.len"))
        self.write("b.sarek", SAXPY.replace("a *", "b *"))
        text = self.fails(INPUT_ERRORS, "check", "a.sarek", "b.sarek")
        self.assertIn("a.sarek:3:", text)
        self.assertIn("b.sarek:3:", text)

    def test_nothing_is_a_fault_of_the_compiler(self):
        self.write("empty.sarek", "")
        self.write("bytes.sarek", bytes(range(256)))
        for name in ("empty.sarek", "bytes.sarek"):
            self.assertNotEqual(self.sarekc("check", name).returncode, COMPILER_FAULT, name)


if __name__ == "__main__":
    harness.main()
