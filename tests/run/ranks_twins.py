#!/usr/bin/env python3
"""Programs over two ranks send no more than what somebody has written by hand with MPI, and have the same results.

tests/run/ranks_twins.py
"""

import pathlib
import shutil
import subprocess
import sys

from shared import checks

COMPARE = pathlib.Path(__file__).resolve().parents[1] / "bench" / "ranks" / "ranks.py"


def main():
    if not shutil.which("mpirun.openmpi"):
        checks.expect("Open MPI is missing: tests/install.sh tests", False)
        return checks.end()
    done = subprocess.run([sys.executable, str(COMPARE), "--traffic"], capture_output=True, text=True, timeout=300)
    print(done.stdout, end="")
    checks.expect("a twin sends less, or has other results", done.returncode == 0, done.stdout + done.stderr)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
