#!/usr/bin/env python3
"""Prints the folder of a Python that has NumPy and Numba, for PATH. They are downloaded from PyPI at the first call, with SciPy,
without which Numba has no products of matrices.

    PATH=$(tests/suites/baselines.py):$PATH kernelc bench --suite tests/suites/npbench.yaml
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run"))
from shared import pypi  # noqa: E402

print(pypi.environment(["numba==0.60.0", "numpy==1.26.4", "scipy==1.13.1"]) / "bin")
