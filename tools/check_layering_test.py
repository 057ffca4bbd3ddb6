"""Tests of check-layering on small made-up trees."""
import os
import tempfile
import unittest

from tool_under_test import load

check = load("check-layering")

TABLE = """# rows
strict: policy
policy:
compiler/ir:
compiler/passes: compiler/ir policy
runtime/include:
samples:
tests: *
foreign
llvm/: emitters/llvm
nlohmann/: policy/manifest.cpp
"""
HEADERS = {"compiler/ir/x.h": "", "compiler/passes/x.h": "", "policy/p.h": ""}


class Layering(unittest.TestCase):
    def problems(self, files, table=TABLE):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {"tools/layering.txt": table, **HEADERS, **files}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as out:
                    out.write(text)
            return check.check_tree(root)[0]

    def assert_one(self, part, files, table=TABLE):
        found = self.problems(files, table)
        self.assertEqual(len(found), 1, found)
        self.assertIn(part, found[0])

    def test_allowed_includes_pass(self):
        self.assertEqual(self.problems({"compiler/passes/a.cpp": '#include "compiler/ir/x.h"\n#include "policy/p.h"\n#include <vector>\n'}), [])

    def test_an_upward_include_is_named_with_its_line(self):
        self.assert_one("compiler/ir/a.cpp:2: compiler/ir may not include compiler/passes", {"compiler/ir/a.cpp": '\n#include "compiler/passes/x.h"\n'})

    def test_nothing_is_inherited(self):
        table = TABLE.replace("samples:\n", "samples: compiler/passes\n")
        self.assert_one("samples may not include compiler/ir", {"samples/a/main.cpp": '#include "compiler/ir/x.h"\n'}, table)

    def test_angle_brackets_do_not_hide_an_include(self):
        self.assert_one("compiler/ir may not include policy", {"compiler/ir/a.cpp": "#  include <policy/p.h>\n"})

    def test_quoted_includes_are_paths_of_the_repository(self):
        self.assert_one("is no path", {"compiler/ir/a.cpp": '#include "x.h"\n'})
        self.assert_one("does not exist", {"compiler/ir/a.cpp": '#include "compiler/ir/gone.h"\n'})

    def test_foreign_headers_stay_in_their_room(self):
        self.assert_one("llvm/IR/Module.h may only be included by emitters/llvm", {"compiler/ir/a.h": "#include <llvm/IR/Module.h>\n"})
        self.assert_one("nlohmann/json.hpp may only", {"policy/store.cpp": "#include <nlohmann/json.hpp>\n"})
        self.assertEqual(self.problems({"policy/manifest.cpp": "#include <nlohmann/json.hpp>\n"}), [])

    def test_tests_may_look_around_but_not_at_foreign_headers(self):
        self.assertEqual(self.problems({"compiler/ir/a_test.cpp": '#include "compiler/passes/x.h"\n#include <catch2/catch_test_macros.hpp>\n'}), [])
        self.assertEqual(self.problems({"tests/run/a.cpp": '#include "compiler/passes/x.h"\n'}), [])
        self.assert_one("llvm", {"compiler/ir/a_test.cpp": "#include <llvm/IR/Module.h>\n"})

    def test_tests_of_strict_folders_keep_the_rule(self):
        self.assert_one("policy may not include compiler/ir", {"policy/a_test.cpp": '#include "compiler/ir/x.h"\n'})

    def test_iostream_in_a_header_is_refused(self):
        self.assert_one("<iostream>", {"policy/a.h": "#include <iostream>\n"})
        self.assertEqual(self.problems({"policy/a.cpp": "#include <iostream>\n"}), [])

    def test_a_folder_without_a_row_is_refused(self):
        self.assert_one("no row", {"emitters/new/a.cpp": "\n"})

    def test_a_long_file_needs_a_reason(self):
        self.assert_one("801 lines", {"policy/a.cpp": "\n" * 801})
        self.assertEqual(self.problems({"policy/a.cpp": "\n" * 800}), [])
        self.assertEqual(self.problems({"policy/a.cpp": "// length: one table\n" + "\n" * 900}), [])

    def test_a_wrong_table_is_refused(self):
        for row, part in (("policy: compiler/nowhere\n", "no row"), ("policy: compiler/passes\n", "cycle"), ("policy:\npolicy:\n", "twice"),
                          ("policy\n", "colon")):
            with self.assertRaisesRegex(check.TableError, part):
                self.problems({}, TABLE.replace("\npolicy:\n", "\n" + row))


if __name__ == "__main__":
    unittest.main()
