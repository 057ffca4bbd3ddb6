#!/usr/bin/env python3
"""Projects of users, configured and built: the package of the build folder and of an installed folder, exact rebuilds, wrong arguments."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import harness
from harness import ROOT, SAXPY

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(app CXX)
find_package(Sarek 0.1 CONFIG REQUIRED)
add_sarek_kernels(kernels SOURCES saxpy.sarek EMBED)
add_executable(app main.cpp)
target_link_libraries(app PRIVATE kernels)
"""

MAIN = """#include <cstdio>
#include <vector>
#include "saxpy.sarek.hpp"

int main() {
  const sarek::Device device;
  const saxpy::Kernels kernels(device);
  const std::vector<float> x{1, 2, 3}, y{10, 20, 30};
  const sarek::Vector<float> dx(device, x);
  sarek::Vector<float> dy(device, y);
  kernels.saxpy({1}, 2.0f, dx, dy);
  for (const float v : dy.to_host()) std::printf("%g ", v);
}
"""


class Project(harness.CommandLine):
    """A project in the scratch folder, built in `build` below it."""

    def build_folder(self):
        """The folder in which this compiler was built."""
        return os.path.dirname(os.path.dirname(harness.sarekc_path()))

    def run_tool(self, *words, status=0):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SAREK_")}
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL, check=False)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode == 0, status == 0, f"{words}\n{said}")
        return said

    def project(self, lists=PROJECT, main=MAIN, kernels=SAXPY):
        self.write("CMakeLists.txt", lists)
        self.write("main.cpp", main)
        self.write("saxpy.sarek", kernels)

    def configure(self, package, status=0):
        return self.run_tool("cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DSarek_DIR={package}", status=status)

    def build(self, status=0):
        return self.run_tool("cmake", "--build", "build", status=status)


class BuildFolder(Project):
    def setUp(self):
        super().setUp()
        self.package = os.path.join(self.build_folder(), "cmake")

    def test_a_program_with_embedded_kernels(self):
        self.project()
        self.configure(self.package)
        self.build()
        self.assertEqual(self.run_tool("build/app"), "12 24 36 ")

    def test_a_program_that_loads_a_package(self):
        self.project(
            PROJECT.replace(" EMBED", " PACKAGE package") + 'target_compile_definitions(app PRIVATE PACKAGE="${package}")\n',
            MAIN.replace("kernels(device)", "kernels(device, PACKAGE)"))
        self.configure(self.package)
        self.build()
        self.assertEqual(self.run_tool("build/app"), "12 24 36 ")

    def test_wrong_argument_types_do_not_compile(self):
        self.project(main=MAIN.replace("Vector<float> dx(device, x)", "Vector<double> dx(device, 3)"))
        self.configure(self.package)
        self.assertIn("main.cpp", self.build(status=1))

    def test_rebuilds_are_exact(self):
        self.project(kernels="import \"scale.sarek\";\n" + SAXPY.replace("a * x[i]", "scale() * a * x[i]"))
        self.write("scale.sarek", "fn scale() -> f32 { 1.0 }\n")
        self.configure(self.package)
        self.assertIn("Compiling kernels saxpy.sarek", self.build())
        self.assertIn("no work to do", self.build())
        self.write("main.cpp", MAIN + "\n")
        self.assertNotIn("Compiling kernels", self.build())
        self.write("scale.sarek", "fn scale() -> f32 { 2.0 }\n")
        self.assertIn("Compiling kernels saxpy.sarek", self.build())
        self.assertEqual(self.run_tool("build/app"), "14 28 42 ")
        self.assertIn("no work to do", self.build())

    def test_an_error_in_a_kernel_stops_the_build_with_its_place(self):
        self.project(kernels=SAXPY.replace("y.len", "z.len"))
        self.configure(self.package)
        self.assertIn("saxpy.sarek:3:", self.build(status=1))

    def test_wrong_arguments_are_named(self):
        for words, part in (("", "SOURCES is missing"), ("SOURCES", "without a value: SOURCES"), ("FAST SOURCES a.sarek", "unknown arguments: FAST"),
                            ("SOURCES a.sarek b/a.sarek", "two sources are named a"), ("SOURCES a.sarek b.sarek NAMESPACE n", "single source"),
                            ("SOURCES a.sarek NAMESPACE 1n", "no C\\+\\+ namespace"), ("SOURCES a.sarek EXPLAIN xml", "EXPLAIN is"),
                            ("SOURCES a.sarek EXPLAIN_FILE f", "goes with EXPLAIN")):
            self.project(f"cmake_minimum_required(VERSION 3.25)\nproject(app CXX)\nfind_package(Sarek CONFIG REQUIRED)\nadd_sarek_kernels(k {words})\n")
            self.assertRegex(self.configure(self.package, status=1).replace("\n  ", " "), part, words)

    def test_another_version_is_not_taken(self):
        self.project(PROJECT.replace("Sarek 0.1", "Sarek 99"))
        self.assertIn("99", self.configure(self.package, status=1))


class Installed(Project):
    def test_a_package_that_was_moved(self):
        self.run_tool("cmake", "--install", self.build_folder(), "--prefix", self.path("first"))
        shutil.move(self.path("first"), self.path("second"))
        found = [where for where, _, files in os.walk(self.path("second")) if "SarekConfig.cmake" in files]
        self.assertEqual(len(found), 1)
        for name in os.listdir(found[0]):
            text = self.read(os.path.join(found[0], name)).decode()
            self.assertNotIn(ROOT + "/", text, name)
            self.assertNotIn(self.build_folder() + "/", text, name)
        self.project()
        self.configure(found[0])
        self.build()
        self.assertEqual(self.run_tool("build/app"), "12 24 36 ")


class Subfolder(Project):
    def test_a_project_adds_the_sources_as_a_folder(self):
        lists = PROJECT.replace("project(app CXX)", "project(app C CXX)").replace(
            "find_package(Sarek 0.1 CONFIG REQUIRED)", f'add_subdirectory("{ROOT}" sarek EXCLUDE_FROM_ALL)')
        self.project(lists)
        self.configure("")
        # Building it would build the compiler again; the rules are there, and nothing of this project's own is built or tested with it.
        targets = self.run_tool("cmake", "--build", "build", "--target", "help")
        self.assertRegex(targets, r"(?m)^kernels(\.sarek.*|_kernels)?:")
        self.assertNotIn("sample_", targets)
        self.assertNotIn("_test:", targets)


if __name__ == "__main__":
    harness.main()
