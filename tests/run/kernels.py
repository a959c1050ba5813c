#!/usr/bin/env python3
"""Tests saxpy, matmul and softmax on edge-case shapes: compares compiled code with the interpreter bit for
bit (run --verify), and with NumPy in float64 within the language's default tolerance.

Each edge case runs with each -O and device, and with each number of cores; `--all` combines all three. Each
kernel must then give the same bits at every -O, on every processor level, on any number of cores, and with
any tiles that the language allows to vary."""

import itertools
import pathlib
import platform
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPS = 2.0 ** -23
TILE = 16
failures = []
checks = 0


def run(folder, sample, arguments, outputs, options):
    """Runs `kernelc run --verify` once; returns the outputs as arrays, or None after a failure."""
    global checks
    checks += 1
    command = ["kernelc", "run", str(ROOT / f"samples/{sample}/{sample}.kdl"), "--kernel", sample, "--verify", *options]
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value)
            value = f"@{folder / name}.npy"
        command += ["--arg", f"{name}={value}"]
    for name in outputs:
        command += ["--out", f"{name}=@{folder / name}.out.npy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        failures.append(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return None
    return [np.load(folder / f"{name}.out.npy") for name in outputs], command


def compare(result, reference, magnitude, terms):
    """Compares with a tolerance of 4 eps |ref| + max(4, sqrt(n)) eps A. A is the sum of the magnitudes that
    were added."""
    if result is None:
        return
    (got,), command = result
    bound = 4 * EPS * np.abs(reference) + max(4.0, np.sqrt(terms)) * EPS * magnitude
    wrong = ~((np.abs(got - reference) <= bound) | (got == reference) | (np.isnan(got) & np.isnan(reference)))
    if got.shape != reference.shape or wrong.any():
        failures.append(f"{' '.join(command)}\n{int(wrong.sum())} of {got.size} elements differ from NumPy")


def saxpy(folder, random, n, options):
    x = random.standard_normal(n).astype(np.float32)
    y = random.standard_normal(n).astype(np.float32)
    result = run(folder, "saxpy", {"a": 2.5, "x": x, "y": y}, ["y"], options)
    wide = 2.5 * x.astype(np.float64)
    compare(result, wide + y, np.abs(wide) + np.abs(y), 2)


def matmul(folder, random, m, n, k, options, tile=TILE):
    a = random.standard_normal((m, k)).astype(np.float32)
    b = random.standard_normal((k, n)).astype(np.float32)
    tiles = ["-D", f"BM={tile}", "-D", f"BN={tile}", "-D", f"BK={tile}"]
    result = run(folder, "matmul", {"a": a, "b": b}, ["c"], [*tiles, *options])
    wide = a.astype(np.float64), b.astype(np.float64)
    compare(result, wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1]), k)


def softmax(folder, random, rows, columns, options):
    x = (4 * random.standard_normal((rows, columns))).astype(np.float32)
    if x.size > 2:
        x[0, columns // 2] = -np.inf
    tiles = ["-D", f"BR={TILE}", "-D", f"BC={TILE}"]
    result = run(folder, "softmax", {"x": x}, ["y"], [*tiles, *options])
    wide = x.astype(np.float64)
    if not x.size:
        return compare(result, wide, wide, 1)
    top = wide.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # the softmax of a row of -inf is NaN
        shifted = wide - top
    exps = np.exp(shifted)
    reference = exps / exps.sum(axis=1, keepdims=True)
    compare(result, reference, reference * (2 + np.abs(np.where(np.isfinite(shifted), shifted, 0))), columns)


def levels():
    """Returns the spec of each processor level that this machine runs. On machines other than x86-64, this is
    only `host`."""
    if platform.machine() != "x86_64":
        return ["host"]
    flags = next(line for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("flags")).split()
    has_v4 = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= set(flags)
    has_bf16 = has_v4 and "avx512_bf16" in flags
    return ["host?isa=x86-64-v3"] + ["host?isa=x86-64-v4"] * has_v4 + ["host?isa=x86-64-v4-bf16"] * has_bf16


def bits_stay(folder, random):
    """Checks that each kernel gives the same bits for every -O, level and tiles, with a varying number of
    cores. softmax is online over its columns, so its column block does change bits and is not varied."""
    m, n, k = 37, 101, 83
    cases = [
        ("saxpy", {"a": 2.5, "x": random.standard_normal(5 * n), "y": random.standard_normal(5 * n)}, "y",
         ["BN=64", "BN=7", "BN=1024"]),
        ("matmul", {"a": random.standard_normal((m, k)), "b": random.standard_normal((k, n))}, "c",
         ["BM=16 BN=64 BK=32", "BM=5 BN=24 BK=7", "BM=64 BN=128 BK=256"]),
        ("softmax", {"x": 4 * random.standard_normal((m, n))}, "y", ["BR=8 BC=40", "BR=3 BC=40", "BR=64 BC=40"]),
    ]
    for sample, arguments, output, tiles in cases:
        arguments = {name: np.asarray(value, np.float32) if isinstance(value, np.ndarray) else value
                     for name, value in arguments.items()}
        seen = {}
        cores = itertools.cycle(["1", "2", "7", "1000", "3"])
        for tile, level, target in itertools.product(tiles, "0123", levels()):
            options = ["-O", level, "--target", target, "--core-num", next(cores), *(f"-D{one}" for one in tile.split())]
            if result := run(folder, sample, arguments, [output], options):
                seen.setdefault(result[0][0].tobytes(), " ".join(result[1]))
        if len(seen) != 1:
            failures.append("other bits:\n" + "\n".join(seen.values()))


def main():
    random = np.random.default_rng(1)
    settings = [["-O", level, "--target", target, "--core-num", cores]
                for level, target in itertools.product("03", ["host", "debug"]) for cores in ["1", "3", "1000"]]
    edges = [1, 13, TILE - 1, TILE, TILE + 1, 97]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for i, options in enumerate(settings):
            for j, n in enumerate(edges):
                if (i + j) % 2 and "--all" not in sys.argv:
                    continue
                m, k = edges[(i + j) % len(edges)], edges[(i + 2 * j + 1) % len(edges)]
                saxpy(folder, random, n, options)
                matmul(folder, random, m, n, k, options)
                softmax(folder, random, m, n, options)
            # Many rows and terms: panels are packed one at a time, and c is stored from registers.
            matmul(folder, random, 97, 70, 150, options, tile=64)
            matmul(folder, random, 5, 7, 0, options)
            matmul(folder, random, 0, 7, 5, options)
            saxpy(folder, random, 0, options)
            softmax(folder, random, 0, 5, options)
            softmax(folder, random, 5, 0, options)
        bits_stay(folder, random)
    for failure in failures[:10]:
        print(failure)
    print(f"{checks - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
