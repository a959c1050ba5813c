#!/usr/bin/env python3
"""Kernels on an OpenCL device: samples and families against their contracts and the interpreter, in an order drawn from a
seed until the time is over; traps with their places; a barrier of the launch in a loop; what a machine without OpenCL says;
where workers meet once more, without which PoCL loses conditions.

Skipped where no OpenCL driver is installed.
"""

import os
import pathlib
import sys
import tempfile

from shared import checks, teams


def is_missing(said):
    return "there is no OpenCL here" in said or "opencl[0]: wanted the 1st, 0 match" in said


def turns_with_barriers(text):
    """The last line of each loop's turn in which workers meet."""
    open_blocks = []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("}") and open_blocks:
            is_loop, meets, last = open_blocks.pop()
            if is_loop and meets:
                yield last
            if open_blocks:
                open_blocks[-1][1] |= meets
        if line.endswith("{"):
            open_blocks.append([line.startswith(("for ", "while ")), False, ""])
        elif open_blocks and line != "}" and not line.endswith("break;"):
            open_blocks[-1][1] |= line.startswith("barrier(")
            open_blocks[-1][2] = line


def meetings():
    with tempfile.TemporaryDirectory() as folder:
        file = teams.ROOT / "tests/run/families/softmax_norm.kdl"
        done = teams.kernelc("build", file, "--target", "opencl", "--emit", "ocl", "-D", "S=4", "-o", folder)
        texts = [text.read_text() for text in pathlib.Path(folder).glob("*.cl")]
    last = [line for text in texts for line in turns_with_barriers(text.split("__kernel", 1)[1])]
    checks.expect("loops whose workers meet are found", len(last) > 20, done.stderr + str(len(last)))
    checks.expect("each turn ends where they meet", all(line == "KDL_MEET;" for line in last), str(last))


if __name__ == "__main__":
    # PoCL makes as many devices as it is asked for.
    os.environ.setdefault("POCL_DEVICES", "pthread basic")
    sys.exit(teams.run(__doc__.splitlines()[0], "opencl", is_missing, meetings))
