#!/usr/bin/env python3
"""Calls the entry points of a compiled file from C. Overlapping memory must be refused if it is written. No
result may depend on the caller's floating-point state, which must be preserved. Tests the programs' C++ and C
on the host, also if other code is linked with fast-math, and kernels on PoCL and on the debug device."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
# For each way: how to compile the programs, the optimization level, and flags for linking. When linking,
# -ffast-math changes the floating-point state of the process.
WAYS = [(("g++", "-std=c++20", "entries.orch.cpp"), "-O0", []), (("g++", "-std=c++20", "entries.orch.cpp"), "-O2", []),
        (("gcc", "-std=c11", "entries.orch.c"), "-O2", ["-ffast-math"])]
PARTS = "./entries.kdl:38:25: error: 'y[to..to + n]' is passed to 'y', which is written, but overlaps the argument for 'x'"
OVERLAPS = f"""\
two apart: runs
two alike: parameter 'x' is written, but shares memory with 'y'; a written tensor must not overlap another parameter
two that meet: parameter 'x' is written, but shares memory with 'y'; a written tensor must not overlap another parameter
many apart: runs
many, the first: parameter 'y' is written, but shares memory with 'x'; a written tensor must not overlap another parameter
many, the second: parameter 'y' is written, but shares memory with 'w'; a written tensor must not overlap another parameter
one element: parameter 'y' is written, but has elements that share memory; its strides must keep all elements apart
parts apart: runs
parts that meet: {PARTS}
empty parts: runs
""".splitlines()


def sanitizers():
    found = re.search(r"^KDL_SANITIZE:\w+=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return [f"-fsanitize={found[1]}"] if found else []


def call(*words, folder):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300, cwd=folder)


def states(*whats):
    return [f"{what}, state {n}: 0 wrong, kept" for what in whats for n in range(6)]


def difference(name, done, wanted):
    found = (done.stdout + done.stderr).splitlines()
    if done.returncode == 0 and found == wanted:
        return []
    return [f"{name} ({done.returncode}): {line!r} instead of {want!r}" for line, want in zip(found + [""] * 99, wanted) if line != want][:5] or \
        [f"{name} ({done.returncode}): {found[len(wanted):]}"]


def main():
    failures = []
    runs = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        built = call("kernelc", "build", HERE / "entries.kdl", "--target", "host", "--target", "opencl", "--emit", "header,c,orch,orch-c,obj",
                     "--path-prefix-map", f"{HERE}=.", "-o", folder, folder=folder)
        if built.returncode:
            print(built.stderr)
            return 1
        objects = list(folder.glob("*.o"))
        for (compiler, standard, source), level, flags in WAYS:
            include = [level, *WARNINGS, "-I", ROOT / "include", "-I", folder, "-c"]
            steps = [call(compiler, standard, *include, source, "-o", "programs.obj", folder=folder)]
            for text in (HERE / "entries_caller.c", folder / "entries.c"):
                steps.append(call("gcc", "-std=c11", *include, text, "-o", f"{text.stem}.obj", folder=folder))
            steps.append(call("g++", *sanitizers(), *flags, *folder.glob("*.obj"), *objects, BUILD / "lib/libkdl_runtime.a", "-ldl",
                              "-pthread", "-o", "caller", folder=folder))
            if any(step.returncode for step in steps):
                print("".join(step.stderr for step in steps))
                return 1
            runs += 1
            failures += difference(f"{source} {level} {flags}", call("./caller", folder=folder),
                                   OVERLAPS + states("called", "queued", "program"))
        for device in ("opencl", "host?threads=1", "debug"):
            runs += 1
            failures += difference(device, call("./caller", device, folder=folder), states("called", "queued"))
    print("\n".join(failures))
    print(f"{runs - min(runs, len(failures))} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
