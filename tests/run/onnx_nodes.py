#!/usr/bin/env python3
"""Runs a random selection of ONNX's node tests with the kernels of stdlib/ (tests/onnx), for 60 seconds. --all runs all cases.

ONNX's package is downloaded from PyPI when it is first needed, into a folder next to the builds."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from shared import pypi, seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python"
PACKAGES = ["onnx==1.23.2", "ml-dtypes==0.6.0"]


def python():
    """Returns the Python of an environment with ONNX's package."""
    return pypi.environment(PACKAGES) / "bin/python"


def main():
    if not list(PACKAGE.glob("kernelc/_core*.so")):
        print("the build has no Python package, because Python's headers are missing")
        return 77
    selection = [] if "--all" in sys.argv[1:] else ["--seconds", "60", "--seed", seeds.of_today()]
    others = [word for word in sys.argv[1:] if word.startswith("--") and word != "--all"]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "KDL_CACHE_DIR": cache}
        return subprocess.run([str(python()), str(ROOT / "tests/onnx/nodes.py"), *selection, *others], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
