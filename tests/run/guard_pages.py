#!/usr/bin/env python3
"""Compiled kernels touch nothing outside their tensors, not even to read: every kernel with a contract runs on tensors that
end at a page that may not be touched, those with windows also on tensors that start at one. And the pages do what is said: unchecked kernels that leave them end."""

import pathlib
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [*sorted((ROOT / "tests/run/families").glob("*.kdl")), *sorted((ROOT / "samples").glob("*/*.kdl"))]
# Indices before the first element come from windows and tables.
BACKWARDS = {"convolution", "convolution_more", "gather", "positions", "solve", "stencil"}

OUTSIDE = """
export kernel outside(x: in f32[N], at: i64, y: out f32[N]) {
    spmd for i in 0..N { y[i] = x[i + at]; }
}
"""


def kept(paths, guard):
    """What is wrong with the kernels of some files on guarded tensors, or None."""
    done = subprocess.run(["kernelc", "test", "--contracts", *map(str, paths), "--target", f"debug?guard={guard}"],
                          capture_output=True, text=True, timeout=800)
    return None if done.returncode == 0 else f"guard={guard}:\n{(done.stdout + done.stderr)[-4000:]}"


def faulted(file, guard, at):
    """What is wrong with a read `at` elements outside, or None."""
    target = f"debug?guard={guard}&threads=1"
    done = subprocess.run(["kernelc", "run", "--unchecked", "--target", target, str(file), "--set", "N=1024", "--arg", "x=iota",
                           "--arg", f"at={at}"], capture_output=True, text=True, timeout=60)
    if done.returncode == -signal.SIGSEGV:
        return None
    return f"guard={guard}, {at} elements outside: ended with {done.returncode}\n{done.stderr[-500:]}"


def main():
    wrong = [kept(FILES, "end"), kept([path for path in FILES if path.stem in BACKWARDS], "start")]
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "outside.kdl"
        file.write_text(OUTSIDE)
        wrong += [faulted(file, "end", 1), faulted(file, "start", -1)]
        wrong += [None if faulted(file, guard, 0) else f"guard={guard}: faults though nothing is outside" for guard in ("end", "start")]
    for text in filter(None, wrong):
        print(text)
    failed = sum(text is not None for text in wrong)
    print(f"{len(wrong) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
