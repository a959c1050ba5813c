#!/usr/bin/env python3
"""Checks that compiled kernels access nothing outside their tensors, not even to read.

Kernels with a contract, selected anew each day, run on tensors that end at an inaccessible page. Kernels with
windows also run on tensors that start at such a page. Unchecked kernels that leave their tensors must be
stopped by these pages.

tests/run/guard_pages.py --seconds 10000    # all kernels
"""

import pathlib
import signal
import subprocess
import sys
import tempfile

from shared import checks, contracts

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [*(ROOT / "tests/run/families").glob("*.kdl"), *(ROOT / "samples").glob("*/*.kdl")]
# Kernels with windows and tables may have indices before the first element.
BACKWARDS = {"audio", "convolution", "convolution_more", "edges", "gather", "morphology", "positions", "resize", "solve", "stencil"}

OUTSIDE = """
export kernel outside(x: in f32[N], at: i64, y: out f32[N]) {
    spmd for i in 0..N { y[i] = x[i + at]; }
}
"""


def kept(case, _):
    """Runs a kernel on guarded tensors."""
    file, kernel, guard = case
    done = subprocess.run(["kernelc", "test", "--contracts", str(file), "--kernel", kernel, "--target", f"debug?guard={guard}"],
                          cwd=ROOT, capture_output=True, text=True, timeout=800)
    return f"guard={guard}: {kernel} in {file}", done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def faulted(file, guard, at):
    """Returns what is wrong with a read `at` elements outside the tensor, or None."""
    target = f"debug?guard={guard}&threads=1"
    done = subprocess.run(["kernelc", "run", "--unchecked", "--target", target, str(file), "--set", "N=1024", "--arg", "x=iota",
                           "--arg", f"at={at}"], capture_output=True, text=True, timeout=60)
    if done.returncode == -signal.SIGSEGV:
        return None
    return f"guard={guard}, {at} elements outside: ended with {done.returncode}\n{done.stderr[-500:]}"


def main():
    options = contracts.options(__doc__.splitlines()[0], 15)
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "outside.kdl"
        file.write_text(OUTSIDE)
        for guard, at in (("end", 1), ("start", -1)):
            wrong = faulted(file, guard, at)
            checks.expect(f"guard={guard}: a read outside faults", not wrong, wrong)
            checks.expect(f"guard={guard}: nothing else faults", faulted(file, guard, 0))
    cases = [(*case, "end") for case in contracts.with_contracts(FILES)]
    cases += [(*case, "start") for case in contracts.with_contracts(file for file in FILES if file.stem in BACKWARDS)]
    contracts.sample(cases, kept, options.seconds)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
