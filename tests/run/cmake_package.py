#!/usr/bin/env python3
"""Tests the installed CMake package: a library is compiled only once, find_package finds the components that
exist, and kernels of the standard library can be compiled or found installed."""

import pathlib
import re
import shutil
import sys
import tempfile

import cmake_project as projects
from shared import checks

STANDARD_CALL = """
#include <inttypes.h>
#include <stdio.h>
#include "{header}.h"
int main(void) {{
  {header}_kernels* kernels;
  uint32_t words[5];
  if ({header}_open(NULL, "host", &kernels) || {header}_words(kernels, 5, 7, 0, words)) return 1;
  for (int i = 0; i < 5; ++i) printf("%" PRIu32 " ", words[i]);
  {header}_close(kernels);
}}
"""
STANDARD_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(app C)
find_package(kdl REQUIRED)
{library}
add_executable(app app.c)
target_link_libraries(app {target})
"""


def check_one_compile(root, package):
    """Checks that all files of a library come from one run of kernelc."""
    root.mkdir()
    counter = root / "kernelc"
    counter.write_text(f'#!/bin/sh\necho run >>{root}/runs\nexec {shutil.which("kernelc")} "$@"\n')
    counter.chmod(0o755)
    files = {"numbers.kdl": projects.PROGRAM, "app.c": projects.C_PROGRAMS, "CMakeLists.txt": projects.C_PROJECT.format(kind="")}
    built = projects.build(root, package, files, f"-DKDL_KERNELC={counter}")
    runs = (root / "runs").read_text() if (root / "runs").exists() else ""
    checks.expect("compiled once", built.returncode == 0 and runs == "run\n", built.stdout + built.stderr + runs)


def check_components(root, package):
    for components, expected in (("runtime", ""), ("runtime shared compiler", ""), ("runtime python", "kdl has no component 'python'")):
        folder = root / components.replace(" ", "_")
        folder.mkdir(parents=True)
        (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(app C)\n"
                                               f"find_package(kdl REQUIRED COMPONENTS {components})\n")
        configured = projects.call("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={package}", folder=folder)
        checks.expect(f"components {components}", (configured.returncode == 0) == (not expected) and expected in configured.stderr,
                      configured.stdout + configured.stderr)


def check_standard_library(own, root, package):
    built = projects.call("cmake", "--build", own, "--target", "kdl_std_random", folder=own)
    installed = projects.call("cmake", "--install", own, "--prefix", package, "--component", "libkdl-std", folder=own)
    checks.expect("a standard library, installed", built.returncode == installed.returncode == 0, built.stdout + installed.stderr)
    said = projects.call("kernelc", "run", "std.random", "--kernel", "words", "--set", "N=5", "--arg", "seed=7", "--arg", "first=0", folder=own).stdout
    words = re.sub(r"^.*= \[|[],\n]", "", said) + " "
    for header, library, target in (("std_random", "", "kdl::std_random"),
                                    ("random", "kdl_add_library(noise std.random OPTIONS --kernel words)", "noise")):
        files = {"app.c": STANDARD_CALL.format(header=header), "CMakeLists.txt": STANDARD_PROJECT.format(library=library, target=target)}
        projects.check_runs(f"a standard library: {target}", root / header, package, files, words)


def main():
    own = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        installed = projects.call("cmake", "--install", own, "--prefix", root / "kdl", folder=root)
        checks.expect("installed", installed.returncode == 0, installed.stdout + installed.stderr)
        check_one_compile(root / "once", root / "kdl")
        check_components(root / "components", root / "kdl")
        check_standard_library(own, root, root / "kdl")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
