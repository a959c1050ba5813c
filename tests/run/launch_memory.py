#!/usr/bin/env python3
"""Tests memory shared by the cores of a launch: atomic updates, barriers, tensors of a launch, reductions
over groups. Every kernel of launch_memory.kdl runs with sizes around its blocks, on 1 core and on more cores
than blocks, unoptimized and optimized, on the host and on the debug device. Compares the results with the
interpreter bit for bit, and with NumPy."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

SOURCE = pathlib.Path(__file__).with_suffix(".kdl")
LIMIT_S = 60
CORES = [1, 2, 3, 7, 1000]
PLACES = [("-O0", "host"), ("-O3", "host"), ("-O3", "debug")]
LENGTHS = [0, 1, 15, 16, 17, 131, 4999]


def ints(rng, n, limit=1000):
    return rng.integers(-limit, limit, n).astype(np.int32)


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def histogram(rng, n):
    b, w = ints(rng, n), ints(rng, n, 100)
    h, top, odd = np.zeros(256, np.int64), np.full(256, -1000, np.float32), np.zeros(256, np.bool_)
    want = [h.copy(), top.copy(), odd.copy()]
    np.add.at(want[0], b & 255, w)
    want[0][0] += (w < 0).sum()
    np.maximum.at(want[1], b & 255, w.astype(np.float32))
    np.bitwise_xor.at(want[2], b & 255, w % 2 == 1)
    return dict(b=b, w=w, h=h, top=top, odd=odd), {}, dict(h=want[0], top=want[1], odd=want[2])


def normalize(rng, n):
    x = floats(rng, n) ** 2
    return dict(x=x), {}, dict(y=x / np.sum(x, dtype=np.float64))


def smooth(rng, n):
    x, turns = ints(rng, n), int(rng.integers(0, 5))
    y = x.copy()
    for _ in range(turns):
        wide = np.pad(y, 1)
        y = wide[:-2] + 2 * wide[1:-1] + wide[2:]
    return dict(x=x), dict(turns=turns), dict(y=y + 4 * 3**turns)


def rows(rng, n):
    x = ints(rng, n).astype(np.int64)
    return dict(x=x), {}, lambda cores: dict(y=np.array([x.sum() * (cores * (cores - 1) // 2), cores]))


def losses(rng, n):
    x, m = floats(rng, n), np.full(1, -np.inf, np.float32)
    blocks = -(-n // 16)
    counts = np.zeros(4, np.int64)
    for block in range(blocks):
        counts[block % 4] += min(16, n - 16 * block)
    s = np.sum(x.astype(np.float64) ** 2) + 0.125 * blocks
    return dict(x=x, m=m), {}, dict(s=np.array([s]), m=np.array([x.max(initial=-np.inf)]), n=counts,
                                    low=np.array([x.min(initial=np.inf)]))


def columns(rng, n):
    r, c = n % 300, n % 37 + 1
    x, h = floats(rng, r, c), np.zeros(c, np.float16)
    tops = sum((x[i:i + 8].max(axis=0).astype(np.float16).astype(np.float32) for i in range(0, r, 8)), np.zeros(c, np.float32))
    return dict(x=x, h=h), {}, dict(w=x.sum(axis=0, dtype=np.float64), h=tops)


def counted(rng, n):
    b, w, most = ints(rng, n), floats(rng, n), np.full(64, -2000, np.int32)
    h, top = np.zeros(64), most.copy()
    np.add.at(h, b & 63, w.astype(np.float64))
    np.maximum.at(top, (b & 63)[w > 0], b[w > 0])
    return dict(b=b, w=w, most=most), {}, dict(h=h, most=top)


def steps(rng, n):
    x, turns = floats(rng, n), int(rng.integers(0, 4))
    y, s = x.astype(np.float64), np.array([0.5, 2.0])
    for _ in range(turns):
        s[0] += y.sum()
        y = y * 0.5 + s[0] / 64.0
        s[1] += -(-n // 16)
    return dict(x=x, s=np.array([0.5, 2.0], np.float32)), dict(turns=turns), dict(y=y, s=s)


KERNELS = [histogram, normalize, smooth, rows, losses, columns, counted, steps]


def differs(got, want):
    if got.dtype.kind in "iub":
        return not np.array_equal(got, want)
    scale = 1e-2 if got.dtype == np.float16 else 1e-4
    return not np.allclose(got.astype(np.float64), want, rtol=scale, atol=scale)


def run(kernel, seed, length, cores, place):
    """Returns what is wrong with the results, or None."""
    tensors, scalars, want = kernel(np.random.default_rng(seed), length)
    want = want(cores) if callable(want) else want
    opt, target = place
    with tempfile.TemporaryDirectory() as folder:
        command = ["kernelc", "run", str(SOURCE), "--kernel", kernel.__name__, opt, "--target", target, "--verify",
                   "--core-num", str(cores)]
        for name, value in tensors.items():
            np.save(f"{folder}/{name}.npy", value)
            command += ["--arg", f"{name}=@{folder}/{name}.npy"]
        for name, value in scalars.items():
            command += ["--arg", f"{name}={value}"]
        for name in want:
            command += ["--out", f"{name}=@{folder}/{name}.out.npy"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        what = f"{kernel.__name__} length {length}, {cores} cores, {opt} {target}"
        if done.returncode != 0 or "equal to the reference, bit for bit" not in done.stdout:
            return f"{what}: {' '.join(command)}\n{done.stdout[-300:]}{done.stderr[-600:]}"
        for name, value in want.items():
            got = np.load(f"{folder}/{name}.out.npy")
            if differs(got, value):
                return f"{what}: {name} is {got[:8]}, NumPy has {np.asarray(value)[:8]}"
    return None


def cases():
    for number, kernel in enumerate(KERNELS):
        for n, length in enumerate(LENGTHS):
            # The last length runs with every number of cores. Each other length runs with only two numbers of
            # cores, each in one place.
            many = range(len(CORES)) if length == LENGTHS[-1] else (n, n + 2)
            for c in many:
                place = PLACES[(number + n + c) % len(PLACES)]
                yield kernel, 100 * number + n, length, CORES[c % len(CORES)], place


def main():
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [text for text in pool.map(lambda case: run(*case), cases()) if text]
    for text in wrong[:5]:
        print(text)
    count = len(list(cases()))
    print(f"launch_memory: {count - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
