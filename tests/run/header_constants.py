#!/usr/bin/env python3
"""Checks integer parameters that cannot be derived from any tensor: the functions of a header have an
argument for each of them, and run the variant that belongs to the argument's value."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
EXPECTED = """3, 1: 4 7 10 13
5, 2: 7 12 17 22
4, 1: launch of 'K': kernel 'K' cannot run on host: no variant has these constants; the variants have T=f32, S=3, queue=1, T=f32, S=3, queue=2, T=f32, S=5, queue=1 and T=f32, S=5, queue=2
sums of 2: 3 7 17 22
in C: 6 11 16 21
sums of 4: 10 11 16 21
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
        call("kernelc", "build", HERE / "header_constants.kdl", "-D", "S=3,5", "-D", "queue=1,2", "-D", "D=2,4", "-D", "T=f32",
             "-o", folder)
        outputs = pathlib.Path(folder)
        call("g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", *sanitizers(), "-I", ROOT / "include", "-I", folder,
             HERE / "header_constants_caller.cpp", *outputs.glob("*.orch.cpp"), "-x", "c++", *outputs.glob("*.c"), "-x", "none", *outputs.glob("*.o"),
             BUILD / "lib/libkdl_runtime.a", "-ldl", "-pthread", "-o", outputs / "caller")
        printed = call(outputs / "caller")
    printed = re.sub(r"'header_constants[#.][^']*'", "'K'", re.sub(r"; there are .*", "", printed))
    if printed != EXPECTED:
        print(f"it printed\n{printed}and not\n{EXPECTED}")
    print(f"{int(printed == EXPECTED)} passed, {int(printed != EXPECTED)} failed")
    return printed != EXPECTED


if __name__ == "__main__":
    sys.exit(main())
