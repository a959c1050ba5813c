#!/usr/bin/env python3
"""Kernels on an OpenCL device: samples and families against their contracts and the interpreter, in an order drawn from a
seed until the time is over; traps with their places; a barrier of the launch in a loop; what a machine without OpenCL says.

Skipped where no OpenCL driver is installed.
"""

import os
import sys

from shared import teams


def is_missing(said):
    return "there is no OpenCL here" in said or "opencl[0]: wanted the 1st, 0 match" in said


if __name__ == "__main__":
    # PoCL makes as many devices as it is asked for.
    os.environ.setdefault("POCL_DEVICES", "pthread basic")
    sys.exit(teams.run(__doc__.splitlines()[0], "opencl", is_missing))
