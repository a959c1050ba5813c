#!/usr/bin/env python3
"""Compares the elementary functions of stdlib/math with correctly rounded results (tests/accuracy). Each
function must stay within the bound that its comment states. Its bits must be the same at every -O and
instruction set, and in the interpreter. Options are passed to math_accuracy: --all, --only sin."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tests/run/elementary.kdl"
PROGRAM = pathlib.Path(shutil.which("kernelc")).resolve().parent / "math_accuracy"
FUNCTIONS = ["exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf",
             "sigmoid", "sqrt", "rsqrt"]
V4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


def call(*words):
    """Returns the output of a command, which must succeed."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def targets():
    """Returns the levels that this machine runs, the best first."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    return ["host?isa=x86-64-v4"] * V4.issubset(flags) + ["host?isa=x86-64-v3"] * ("avx2" in flags) or ["host"]


def arguments(kind):
    """Returns a few numbers of every magnitude, and special numbers. More would take the interpreter too
    long."""
    random = np.random.RandomState(7)
    info = np.finfo(kind)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp)
    x = np.concatenate([np.ldexp(random.uniform(1, 2, len(exponents)), exponents), random.uniform(0, 1000, 500),
                        random.uniform(0, 3, 500), [0, 1, info.tiny, info.smallest_subnormal, info.max],
                        [np.inf, np.nan]])
    x = x.astype(kind)
    return np.concatenate([x, -x])


def check_interpreter(folder):
    """Compares every bit with the interpreter, using `run --verify`."""
    for kind in (np.float32, np.float64):
        x = arguments(kind)
        np.save(folder / "x.npy", x)
        np.save(folder / "y.npy", np.random.RandomState(8).permutation(x))
        for name in FUNCTIONS:
            call("kernelc", "run", KERNELS, "--kernel", f"{name}_of", "--verify", "--arg", f"x=@{folder}/x.npy")
        for name in ("pow", "atan2"):
            call("kernelc", "run", KERNELS, "--kernel", f"{name}_of", "--verify", "--arg", f"x=@{folder}/x.npy",
                 "--arg", f"y=@{folder}/y.npy")


def rounded_to_tf32(x):
    """Rounds to 10 bits of the mantissa, ties to even; -0 becomes +0 because a dot starts from 0."""
    bits = x.view(np.uint32)
    rounded = ((bits + 0xfff + ((bits >> 13) & 1)) & 0xffffe000).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(x), rounded, x) + np.float32(0)


def check_tf32(folder):
    """Checks that rounding is exact, for numbers of every magnitude, and for ties between two numbers of 10
    bits."""
    x = arguments(np.float32)
    halves = ((x.view(np.uint32) & 0xffffe000) | 0x1000).view(np.float32)
    x = np.concatenate([x, halves[np.isfinite(x)]])
    np.save(folder / "x.npy", x)
    call("kernelc", "run", KERNELS, "--kernel", "tf32_of", "--verify", "--arg", f"x=@{folder}/x.npy", "--out",
         f"y=@{folder}/y.npy")
    with np.errstate(all="ignore"):
        expected = rounded_to_tf32(x)
    if not np.array_equal(np.load(folder / "y.npy"), expected, equal_nan=True):
        sys.exit("tf32: not rounded to 10 bits")


def main():
    with tempfile.TemporaryDirectory(prefix="math-") as scratch:
        folder = pathlib.Path(scratch)
        check_interpreter(folder)
        check_tf32(folder)
        shared = []
        for level in ("3", "0"):
            for target in targets():
                out = folder / str(len(shared))
                call("kernelc", "build", KERNELS, "--emit", "images", "-O", level, "--target", target, "-o", out)
                shared.append(out / "elementary.images.so")
        sys.exit(subprocess.run([str(PROGRAM), *sys.argv[1:], str(ROOT / "stdlib/math"), *map(str, shared)]).returncode)


if __name__ == "__main__":
    main()
