"""What the command-line tests share: a scratch folder a test, and the compiler run as a user would run it.

A script ends with `if __name__ == "__main__": harness.main()` and is started as `NAME_test.py [--sarekc PATH] [CLASS[.METHOD]]`.
Exit status 77: everything that was asked for is skipped.
"""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# Exit statuses that the command line promises.
DONE, INPUT_ERRORS, USAGE, ENVIRONMENT, COMPILER_FAULT = 0, 1, 2, 3, 70

SAXPY = """kernel saxpy(a: f32, x: in [f32], y: inout [f32]) block(256) {
  let i = global_id.x;
  if i < y.len { y[i] = a * x[i] + y[i]; }
}
"""

_sarekc = os.path.join(ROOT, "build", "bin", "sarekc")


def sarekc_path():
    """The compiler under test."""
    return _sarekc


class CommandLine(unittest.TestCase):
    """A test with a scratch folder `self.folder`, which is the working folder of what it runs."""

    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = os.path.realpath(scratch.name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, contents):
        """Writes a file (text or bytes) below the scratch folder and returns its name."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as out:
            out.write(contents if isinstance(contents, bytes) else contents.encode())
        return name

    def read(self, name):
        """The bytes of a file of the scratch folder."""
        with open(self.path(name), "rb") as source:
            return source.read()

    def sarekc(self, *words, stdin=b"", env=None):
        """Runs the compiler in the scratch folder. The result has returncode, stdout and stderr (text). No SAREK_* variable but those of `env`."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SAREK_")}
        environment.update(env or {})
        done = subprocess.run([_sarekc, *words], cwd=self.folder, input=stdin if isinstance(stdin, bytes) else stdin.encode(), capture_output=True,
                              env=environment, timeout=100, check=False)
        done.stdout = done.stdout.decode("utf-8", "backslashreplace")
        done.stderr = done.stderr.decode("utf-8", "backslashreplace")
        return done

    def succeeds(self, *words, **more):
        """Runs the compiler, which must exit 0 and say nothing on standard error; returns its standard output."""
        done = self.sarekc(*words, **more)
        self.assertEqual((done.returncode, done.stderr), (DONE, ""), words)
        return done.stdout

    def fails(self, status, *words, **more):
        """Runs the compiler, which must exit with `status` and say why; returns its standard error."""
        done = self.sarekc(*words, **more)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        self.assertNotEqual(done.stderr, "", words)
        return done.stderr


def main():
    global _sarekc
    words = sys.argv[1:]
    if words[:1] == ["--sarekc"]:
        _sarekc = os.path.abspath(words[1])
        words = words[2:]
    if not os.access(_sarekc, os.X_OK):
        print(f"error: there is no compiler at {_sarekc} (tools/build)", file=sys.stderr)
        sys.exit(ENVIRONMENT)
    result = unittest.main(argv=[sys.argv[0], "-v", *words], exit=False).result
    if not result.wasSuccessful() or result.testsRun == 0:
        sys.exit(1)
    sys.exit(77 if len(result.skipped) == result.testsRun else 0)
