#!/usr/bin/env python3
"""Kernels on a CUDA device: samples and families against their contracts and the interpreter, in an order drawn from a seed until
the time is over; traps with their places; a barrier of the launch in a loop.

Without a GPU the driver is one of the tests' (runtime/conformance/fake_cuda.h), which interprets the PTX thread by thread: what
the text says is checked so, not what NVIDIA's compiler and machines make of it. KDL_CUDA=1 takes the machine's own driver.
"""

import os
import pathlib
import shutil
import sys

from shared import teams


def is_missing(said):
    return "there is no CUDA here" in said or "cuda[0]: wanted the 1st, 0 match" in said


if __name__ == "__main__":
    if not os.environ.get("KDL_CUDA"):
        fake = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake"
        os.environ["LD_LIBRARY_PATH"] = f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    sys.exit(teams.run(__doc__.splitlines()[0], "cuda", is_missing))
