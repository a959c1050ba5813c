#!/usr/bin/env python3
"""Checks that each core only uses its own slice of the workspace: all other memory is poisoned before the
core runs, and must be unchanged afterwards. Tests compiled kernels on devices where every core has a slice,
and on devices where every worker has one."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
CORES = [1, 2, 24, 131, 1000]  # fewer and more than there are blocks
# One thread, so that cores run in sequence and the poison is intact until a core has ended.
DEVICES = ["host?threads=1", "host?threads=1&resident=cores", "debug?threads=1", "debug?threads=1&resident=cores&seed=9"]


def sanitizers():
    found = re.search(r"^KDL_SANITIZE:\w+=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return [f"-fsanitize={found[1]}"] if found else []


def call(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300)


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        built = call("kernelc", "build", HERE / "slices.kdl", "--pipes=buffered", "--emit", "images", "-o", folder)
        caller = pathlib.Path(folder) / "caller"
        compiled = call("g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", *sanitizers(), "-I", ROOT / "include",
                        HERE / "slices_caller.cpp", BUILD / "lib/libkdl_runtime.a", "-ldl", "-pthread", "-o", caller)
        if built.returncode or compiled.returncode:
            print(built.stderr + compiled.stderr)
            return 1
        library = next(pathlib.Path(folder).glob("*.so"))
        for device in DEVICES:
            for cores in CORES:
                done = call(caller, library, cores, device)
                if done.returncode:
                    failures.append(f"{cores} cores on {device}: {done.stdout}{done.stderr}")
    print("\n".join(failures))
    print(f"{len(DEVICES) * len(CORES) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
