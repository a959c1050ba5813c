#!/usr/bin/env python3
"""Checks how callers in C and C++ omit optional parameters, and pass tensors of different ranks to a kernel with a
pack of dimensions."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
EXPECTED = """with a bias: 11 22 13 24
without: 1 2 3 4
without an input: launch of 'K': parameter x: f32[M, N] has 2 dimensions, but the tensor given, unknown[], has 0
in C with a bias: 11 22 13 24
in C without: 1 2 3 4
in C with sums only: 3 7 0 0
in C, a pack of 2: 3 7 0 0
a pack of 2 x 2: 1 2 3 4
an empty pack: 10 2 3 4
another shape: launch of 'K': the dimensions R.. are [2, 2] in the tensor for x[R.., C], but [1, 4] in the tensor for y[R..]
"""


def call(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def sanitizers():
    found = re.search(r"^KDL_SANITIZE:\w+=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return [f"-fsanitize={found[1]}"] if found else []


def main():
    with tempfile.TemporaryDirectory() as folder:
        call("kernelc", "build", HERE / "any_shape.kdl", "-o", folder)
        outputs = pathlib.Path(folder)
        call("g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", *sanitizers(), "-I", ROOT / "include", "-I", folder,
             HERE / "any_shape_caller.cpp", *outputs.glob("*.orch.cpp"), "-x", "c++", *outputs.glob("*.c"), "-x", "none", *outputs.glob("*.o"),
             BUILD / "lib/libkdl_runtime.a", "-ldl", "-pthread", "-o", outputs / "caller")
        printed = call(outputs / "caller")
    printed = re.sub(r"'any_shape[#.][^']*'", "'K'", printed)
    if printed != EXPECTED:
        print(f"it printed\n{printed}and not\n{EXPECTED}")
    print(f"{int(printed == EXPECTED)} passed, {int(printed != EXPECTED)} failed")
    return printed != EXPECTED


if __name__ == "__main__":
    sys.exit(main())
