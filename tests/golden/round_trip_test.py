#!/usr/bin/env python3
"""IR that goldens expect is read back as a .sir file and printed again: the text must not change."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import harness

FOLDER = os.path.dirname(os.path.abspath(__file__))


def expected_modules():
    """(name, text) of every IR module in an expectation of this folder."""
    for where, _, names in os.walk(FOLDER):
        for name in sorted(names):
            if name.endswith(".expected"):
                with open(os.path.join(where, name), encoding="utf-8") as source:
                    for text in re.findall(r"(?ms)^sarek-ir 1\n.*?^\}\n(?=\Z|--- stderr\n|\$ )", source.read()):
                        yield name, text


class RoundTrip(harness.CommandLine):
    def test_expected_ir_is_read_and_printed_as_it_is(self):
        modules = list(expected_modules())
        self.assertGreater(len(modules), 10)
        for name, text in modules:
            with self.subTest(name):
                self.write("again.sir", text)
                self.assertEqual(self.succeeds("again.sir", "-O0", "--emit=ir", "-o", "-"), text)


if __name__ == "__main__":
    harness.main()
