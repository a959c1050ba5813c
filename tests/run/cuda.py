#!/usr/bin/env python3
"""Kernels on a CUDA device: samples and families against their contracts and the interpreter, in an order drawn from a seed until
the time is over; traps with their places; a barrier of the launch in a loop.

Without a GPU the driver is one of the tests' (runtime/conformance/fake_cuda.h), which interprets the PTX thread by thread: what
the text says is checked so, not what NVIDIA's compiler and machines make of it; each barrier that is taken away is missed.
KDL_CUDA=1 takes the machine's own driver.
"""

import os
import pathlib
import shutil
import sys
import tempfile

from shared import checks, teams


def is_missing(said):
    return "there is no CUDA here" in said or "cuda[0]: wanted the 1st, 0 match" in said


def barriers():
    """softmax without one of its barriers, each in turn: threads meet, or the bits are others."""
    softmax = ["run", "samples/softmax/softmax.kdl", "--target", "cuda", "--check", "--set", "R=37", "--set", "C=1003", "--arg", "x=random:1"]
    with tempfile.TemporaryDirectory() as folder:
        teams.kernelc("build", "samples/softmax/softmax.kdl", "--target", "cuda", "--emit", "ptx", "-o", folder)
        (text,) = pathlib.Path(folder).glob("*.ptx")
        count = text.read_text().count("bar.sync")
    checks.expect("softmax has barriers", count > 0, "")
    for number in range(count):
        os.environ["FAKE_CUDA_DROP"] = str(number)
        done = teams.kernelc(*softmax)
        checks.expect(f"softmax without barrier {number} is wrong", done.returncode != 0, done.stdout + done.stderr)
    del os.environ["FAKE_CUDA_DROP"]


if __name__ == "__main__":
    own = os.environ.get("KDL_CUDA")
    if not own:
        fake = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake"
        os.environ["LD_LIBRARY_PATH"] = f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    sys.exit(teams.run(__doc__.splitlines()[0], "cuda", is_missing, (lambda: None) if own else barriers))
