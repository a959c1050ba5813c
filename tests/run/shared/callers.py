"""Builds NAME.kdl and NAME_caller.cpp of tests/run, and compares what the program prints."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]


def call(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def sanitizers(build):
    found = re.search(r"^KDL_SANITIZE:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    return [f"-fsanitize={found[1]}"] if found else []


def compare(name, expected, *options):
    """Runs the program of the test `name`, whose kernels are built with the options. The names of kernels in its output are
    replaced by 'K'. Returns the exit code of the test."""
    build = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        call("kernelc", "build", HERE / f"{name}.kdl", *options, "-o", folder)
        outputs = pathlib.Path(folder)
        call("g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", *sanitizers(build), "-I", ROOT / "include", "-I", folder,
             "-I", HERE, HERE / f"{name}_caller.cpp", *outputs.glob("*.orch.cpp"), "-x", "c++", *outputs.glob("*.c"), "-x", "none",
             *outputs.glob("*.o"), build / "lib/libkdl_runtime.a", "-ldl", "-pthread", "-o", outputs / "caller")
        printed = call(outputs / "caller")
    printed = re.sub(rf"'{name}[#.][^']*'", "'K'", re.sub(r"; there are .*", "", printed))
    if printed != expected:
        print(f"it printed\n{printed}and not\n{expected}")
    print(f"{int(printed == expected)} passed, {int(printed != expected)} failed")
    return int(printed != expected)
