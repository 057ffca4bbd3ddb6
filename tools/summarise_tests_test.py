"""Tests of summarise-tests on reports as ctest writes them."""
import unittest
import xml.etree.ElementTree as tree

from tool_under_test import load

tool = load("summarise-tests")


def case(name, status, output="", skipped=None):
    mark = f'<skipped message="{skipped}"/>' if skipped else ""
    return f'<testcase name="{name}" status="{status}">{mark}<system-out>{output}</system-out></testcase>'


def summarise(*cases):
    lines, status = tool.summarise(tree.fromstring("<testsuite>" + "".join(cases) + "</testsuite>"))
    return "\n".join(lines), status


class Summary(unittest.TestCase):
    def test_all_passed(self):
        text, status = summarise(case("a", "run"), case("b", "run"))
        self.assertEqual(status, 0)
        self.assertIn("0 of 2 tests skipped", text)
        self.assertTrue(text.endswith("100% tests passed, 0 tests failed out of 2"))

    def test_reasons_of_every_runner_are_found_and_grouped(self):
        text, status = summarise(
            case("catch", "notrun", "x.cpp:3: SKIPPED:\nexplicitly with message:\n  no device\n", "SKIP_RETURN_CODE=4"),
            case("golden", "notrun", "skipped tests/golden/a.sarek: no device\n", "SKIP_RETURN_CODE=77"),
            case("cli", "notrun", "test_a (cli.T.test_a) ... skipped 'no browser'\n", "SKIP_RETURN_CODE=77"),
            case("plain", "notrun", "SKIP: no ptxas\n", "SKIP_RETURN_CODE=77"),
            case("ran", "run"))
        self.assertEqual(status, 0)
        self.assertIn("4 of 5 tests skipped", text)
        self.assertIn("2 x no device: catch, golden", text)
        self.assertIn("1 x no browser: cli", text)
        self.assertIn("1 x no ptxas: plain", text)

    def test_a_silent_skip_is_an_error(self):
        text, status = summarise(case("a", "run"), case("quiet", "notrun", "", "SKIP_RETURN_CODE=77"))
        self.assertEqual(status, 1)
        self.assertIn("skipped without a reason: quiet", text)

    def test_failures_and_programs_that_do_not_start(self):
        text, status = summarise(case("a", "run"), case("b", "fail"), case("c", "notrun", "Unable to find executable", "Unable to find executable"))
        self.assertEqual(status, 1)
        self.assertIn("failed: b\nfailed: c", text)
        self.assertTrue(text.endswith("33% tests passed, 2 tests failed out of 3"))

    def test_no_test_that_ran_is_a_failure(self):
        self.assertEqual(summarise()[1], 1)
        self.assertEqual(summarise(case("a", "disabled"))[1], 1)


if __name__ == "__main__":
    unittest.main()
