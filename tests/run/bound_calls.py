#!/usr/bin/env python3
"""Calls kernels from C with bound arguments. They must use the present contents of their tensors, also after a
trap. On the calling thread, a call must not allocate memory, take a lock or make a system call."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from shared import checks

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
RESULTS = """\
scale: 3 6
gather: 2 0
scale: 6 12
gather: 6 2
trap: bound_calls.kdl:8:33: error: index 24 is outside dimension 0 of size 24 in 'x[at[i]]'
after the trap: 6
trap: bound_calls.kdl:14:26: error: assertion failed: off[e] <= off[e + 1]
after the trap: -2 -4
"""
COUNTS = "".join(f"{name}: 0 allocations, 0 locks\n" for name in ("scale", "gather", "negate", "products", "residual"))
EXPECTED = RESULTS + COUNTS + "calls that are not bound: counted\ncalls that repeat the last one: 6 of 6 are right\nno system calls\n"


def call(*words, folder):
    return subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=60)


def main():
    sanitizers = re.search(r"^KDL_SANITIZE:\w+=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    if sanitizers:
        print("sanitizers replace the functions that this test counts")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        steps = [call("kernelc", "build", HERE / "bound_calls.kdl", "--pipes=buffered", folder=folder)]
        steps.append(call("gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-builtin", "-I", ROOT / "include", "-I", folder,
                          HERE / "bound_calls_caller.c", "bound_calls.c", *folder.glob("*.o"), BUILD / "lib/libkdl_runtime.a", "-lstdc++", "-lm",
                          "-ldl", "-pthread", "-o", "caller", folder=folder))
        if not all(step.returncode == 0 for step in steps):
            print("".join(step.stdout + step.stderr for step in steps))
            return 1
        for device in ("host?threads=1", "host?threads=2", "host?resident=cores&threads=1"):
            done = call("./caller", device, folder=folder)
            checks.expect(device, done.returncode == 0 and done.stdout == EXPECTED, f"{done.returncode}\n{done.stdout}{done.stderr}")
        done = call("./caller", "debug", folder=folder)
        checks.expect("debug", done.stdout.startswith(RESULTS), done.stdout + done.stderr)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
