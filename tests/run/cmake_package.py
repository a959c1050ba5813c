#!/usr/bin/env python3
"""Tests the installed CMake package: a library is compiled only once, and find_package finds the components
that exist."""

import pathlib
import shutil
import sys
import tempfile

import cmake_project as projects
from shared import checks


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


def main():
    own = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        installed = projects.call("cmake", "--install", own, "--prefix", root / "kdl", folder=root)
        checks.expect("installed", installed.returncode == 0, installed.stdout + installed.stderr)
        check_one_compile(root / "once", root / "kdl")
        check_components(root / "components", root / "kdl")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
