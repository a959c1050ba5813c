#!/usr/bin/env python3
"""Builds programs over ranks with a transport of its own, in C++, and checks that blocks run while messages travel, and that
a step allocates nothing, also if it reduces.

tests/run/ranks_overlap.py
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from shared import checks

FOLDER = pathlib.Path(__file__).resolve().parent


def main():
    own_root = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name)
        built = subprocess.run(["kernelc", "build", str(FOLDER / "ranks.kdl"), "--emit", "header,orch,obj", "-o", name],
                               capture_output=True, text=True)
        checks.expect("ranks.kdl is not built", built.returncode == 0, built.stderr)
        words = ["c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-I", name, "-I", str(FOLDER.parents[1] / "include"),
                 str(FOLDER / "ranks_overlap.cpp"), *map(str, sorted(out.glob("*.orch.cpp"))), *map(str, sorted(out.glob("*.o"))),
                 str(own_root / "lib" / "libkdl_runtime.a"), "-pthread", "-ldl", "-o", str(out / "overlap")]
        linked = subprocess.run(words, capture_output=True, text=True)
        checks.expect("ranks_overlap.cpp is not built", linked.returncode == 0 and not linked.stderr, linked.stderr)
        if linked.returncode == 0:
            done = subprocess.run([str(out / "overlap")], capture_output=True, text=True, timeout=120)
            print(done.stdout, end="")
            checks.expect("no blocks run while messages travel, steps allocate memory, or the bits differ", done.returncode == 0, done.stdout + done.stderr)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
