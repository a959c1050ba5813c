#!/usr/bin/env python3
"""Prints the folder of a Python that has NumPy and Numba, for PATH. Numba is downloaded from PyPI at the first call.

    PATH=$(tests/suites/baselines.py):$PATH kernelc bench --suite tests/suites/npbench.yaml
"""

import fcntl
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ["numpy==1.26.4", "numba==0.60.0"]


def main():
    folder = ROOT / f"build-{PACKAGES[-1].replace('==', '-')}"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            for words in [("/usr/bin/python3", "-m", "venv", "--clear", folder / "venv"),
                          (folder / "venv/bin/pip", "-q", "--disable-pip-version-check", "install", *PACKAGES)]:
                done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if done.returncode != 0:
                    sys.exit(f"pip could not bring {' and '.join(PACKAGES)}; is there a network?\n{done.stdout}")
            (folder / "complete").touch()
    print(folder / "venv/bin")


if __name__ == "__main__":
    main()
