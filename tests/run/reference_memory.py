#!/usr/bin/env python3
"""Tests that the interpreter refuses tensors that are larger than the machine's memory, as other devices do. The
system would promise this memory, and end the process when it is used."""

import resource
import subprocess
import sys
import tempfile

from shared import checks

SOURCE = """
export program filled(x: in f32[N], n: i64, y: out f32[N]) {
    let t: f32[n] = 1.0;
    for i in 0..N { y[i] = t[i else 0.0]; }
}
export kernel of_launch(x: in f32[N], n: i64, y: out f32[N]) {
    let t: f32[N, 1000000000];
    spmd for i in 0..N { t[i, 0] = x[i]; y[i] = t[i, 0]; }
}
"""
LARGE = str(1 << 44)
MOST_BYTES = 64 << 30  # of address space, in case the tensor is not refused


def run(folder, *options):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    done = subprocess.run(["kernelc", "run", "t.kdl", "--target", "reference", "-W", "no-unused", *options], capture_output=True, text=True, timeout=60,
                          cwd=folder, preexec_fn=limit)
    return done.returncode, done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/t.kdl", "w", encoding="utf-8") as file:
            file.write(SOURCE)
        code, errors = run(folder, "--program", "filled", "--set", "N=3", "--arg", f"n={LARGE}")
        told = f"t.kdl:3:5: error: allocation of {4 << 44} bytes on reference: the device has "
        checks.expect("a tensor of a program", code == 3 and errors.startswith(told), errors)
        code, errors = run(folder, "--kernel", "of_launch", "--set", "N=100000", "--arg", "n=0")
        told = f"t.kdl:6:15: error: allocation of {400000 * 10**9} bytes on reference: the device has "
        checks.expect("a tensor of a launch", code == 3 and errors.startswith(told), errors)
        code, errors = run(folder, "--program", "filled", "--set", "N=3", "--arg", "n=2")
        checks.expect("a small tensor", code == 0 and errors == "", errors)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
