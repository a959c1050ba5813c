#!/usr/bin/env python3
"""Checks that the Debian packages contain what users need: after unpacking, the compiler must build programs,
projects must find it, and man and bash must read its pages. A project that contains the sources must be able
to build the runtime with only a C++ compiler and CMake."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL = "export kernel scale(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = 2.0 * x[i]; } }\n"
APP = """
#include <cstdio>
#include "numbers.h"
int main() {
  kdl::Context context;
  context.Register(kdl_images_numbers);
  const kdl::Device host = context.Select("host");
  float x[2] = {1, 2}, y[2] = {0, 0};
  numbers::scale(host.queue(), KDL_CORES_AUTO, context.Wrap(host, x, {2}), context.Wrap(host, y, {2}));
  std::printf("%g %g\\n", y[0], y[1]);
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(app CXX)
{find}
kdl_add_library(numbers numbers.kdl OPTIONS --target host)
add_executable(app app.cpp)
target_link_libraries(app numbers)
"""
INSTALLED = PROJECT.format(find="find_package(kdl REQUIRED)")
# The build must not search for the compiler's dependencies, so searching for LLVM is disabled.
INSIDE = PROJECT.format(find=f"""set(KDL_RUNTIME_ONLY ON)
set(CMAKE_DISABLE_FIND_PACKAGE_LLVM ON)
add_subdirectory({ROOT} kdl)""")
PACKAGES = {"libkdl0": "libc6", "libkdl-dev": "libkdl0 (= ", "kernelc": "libkdl-dev (= "}


def call(*words, folder):
    return subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=600)


def succeed(what, *words, folder):
    """Returns the output of a command. If the command fails, records a failed check."""
    done = call(*words, folder=folder)
    checks.expect(what, done.returncode == 0, done.stdout + done.stderr)
    return done.stdout


def check_project(what, text, options, folder):
    folder.mkdir()
    for name, content in {"numbers.kdl": KERNEL, "app.cpp": APP, "CMakeLists.txt": text}.items():
        (folder / name).write_text(content)
    succeed(f"{what}: configured", "cmake", "-S", ".", "-B", "build", *options, folder=folder)
    succeed(f"{what}: built", "cmake", "--build", "build", "-j2", "--target", "app", folder=folder)
    if (folder / "build/app").exists():
        printed = succeed(f"{what}: runs", folder / "build/app", folder=folder)
        checks.expect(f"{what}: is right", printed == "2 4\n", printed)


def check_pages(usr):
    manual = (usr / "share/man/man1/kernelc.1").read_text()
    macros = set(re.findall(r"^\.(\w+)", manual, re.MULTILINE))
    checks.expect("the page for man has its macros", macros == {"TH", "SH", "B", "I", "TP"}, str(macros))
    checks.expect("and the options", "\\-\\-path\\-prefix\\-map OLD=NEW\n" in manual, manual)
    script = usr / "share/bash-completion/completions/kernelc"
    for words, expected in {"bu": "build", "build --em": "--emit --embed-ir", "run --co": "--core-num", "build x.k": ""}.items():
        line = ["kernelc", *words.split()]
        asked = f". {script}; COMP_WORDS=({' '.join(line)}); COMP_CWORD={len(line) - 1}; _kernelc; echo ${{COMPREPLY[@]}}"
        printed = succeed(f"bash completes {words}", "bash", "-c", asked, folder=usr)
        checks.expect(f"{words} becomes {expected}", printed == expected + "\n", printed)


def main():
    own = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        succeed("packed", "cpack", "--config", own / "CPackConfig.cmake", "-B", root, folder=own)
        for name, needed in PACKAGES.items():
            found = list(root.glob(f"{name}_*.deb"))
            checks.expect(f"{name} is one package", len(found) == 1, str(list(root.iterdir())))
            depends = succeed(f"{name} is read", "dpkg-deb", "-f", *found, "Depends", folder=root)
            checks.expect(f"{name} needs {needed}", needed in depends, depends)
            succeed(f"{name} is unpacked", "dpkg-deb", "-x", *found, root / "system", folder=root)
        usr = root / "system/usr"
        (root / "numbers.kdl").write_text(KERNEL)
        kernelc = usr / "bin/kernelc"
        succeed("a program", kernelc, "build", "numbers.kdl", "--emit", "exe", folder=root)
        printed = succeed("runs", root / "numbers", "--arg", "x=iota", "--set", "N=3", folder=root)
        checks.expect("it is right", printed == "y: f32[3] = [0, 2, 4]\n", printed)
        check_project("installed", INSTALLED, [f"-DCMAKE_PREFIX_PATH={usr}"], root / "installed")
        check_project("inside", INSIDE, [f"-DKDL_KERNELC={kernelc}", "-DCMAKE_CXX_FLAGS=-O0"], root / "inside")
        alone = root / "alone"
        alone.mkdir()
        (alone / "CMakeLists.txt").write_text(INSIDE.replace("app CXX", "app C"))
        refused = call("cmake", "-S", ".", "-B", "build", folder=alone)
        said = " ".join(refused.stderr.split())
        checks.expect("inside of C alone: says what is missing",
                      refused.returncode != 0 and "write project(app LANGUAGES C CXX)" in said, said)
        check_pages(usr)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
