"""Tests of check-layering on small made-up trees."""
import importlib.machinery
import importlib.util
import os
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("check_layering", os.path.join(HERE, "check-layering"))
spec = importlib.util.spec_from_loader("check_layering", loader)
check = importlib.util.module_from_spec(spec)
loader.exec_module(check)

TABLE = "policy:\ncompiler/ir:\ncompiler/passes: compiler/ir policy\nforeign\nllvm/: emitters/llvm\n"


class Layering(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {"tools/layering.txt": TABLE, **files}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as out:
                    out.write(text)
            return check.check_tree(root)[0]

    def test_allowed_includes_pass(self):
        self.assertEqual(self.problems({"compiler/passes/a.cpp": '#include "compiler/ir/x.h"\n#include "policy/p.h"\n#include <vector>\n'}), [])

    def test_an_upward_include_is_named_with_its_line(self):
        found = self.problems({"compiler/ir/a.cpp": '\n#include "compiler/passes/x.h"\n'})
        self.assertEqual(len(found), 1)
        self.assertIn("compiler/ir/a.cpp:2: compiler/ir may not include compiler/passes", found[0])

    def test_foreign_headers_stay_in_their_room(self):
        self.assertEqual(len(self.problems({"compiler/ir/a.h": "#include <llvm/IR/Module.h>\n"})), 1)

    def test_tests_may_look_around_but_not_at_foreign_headers(self):
        self.assertEqual(self.problems({"compiler/ir/a_test.cpp": '#include "compiler/passes/x.h"\n'}), [])
        self.assertEqual(len(self.problems({"compiler/ir/a_test.cpp": "#include <llvm/IR/Module.h>\n"})), 1)

    def test_iostream_in_a_header_is_refused(self):
        self.assertEqual(len(self.problems({"policy/a.h": "#include <iostream>\n"})), 1)
        self.assertEqual(self.problems({"policy/a.cpp": "#include <iostream>\n"}), [])

    def test_a_long_file_needs_a_reason(self):
        self.assertEqual(len(self.problems({"policy/a.cpp": "\n" * 900})), 1)
        self.assertEqual(self.problems({"policy/a.cpp": "// length: one table\n" + "\n" * 900}), [])


if __name__ == "__main__":
    unittest.main()
