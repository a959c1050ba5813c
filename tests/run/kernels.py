#!/usr/bin/env python3
"""saxpy, matmul and softmax over edge shapes: compiled code against the interpreter bit for bit (run --check), and
against NumPy in float64 within the language's default tolerance."""

import itertools
import pathlib
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
    """One `kernelc run --check`; the outputs as arrays, or None after a failure."""
    global checks
    checks += 1
    command = ["kernelc", "run", str(ROOT / f"samples/{sample}/{sample}.kdl"), "--kernel", sample, "--check", *options]
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value)
            value = f"@{folder / name}.npy"
        command += ["--arg", f"{name}={value}"]
    for name in outputs:
        command += ["--out", f"{name}=@{folder / name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        failures.append(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return None
    return [np.load(folder / f"{name}.npy") for name in outputs], command


def compare(result, reference, magnitude, terms):
    """4 eps |ref| + max(4, sqrt(n)) eps A, A the sum of the magnitudes that were added."""
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


def matmul(folder, random, m, n, k, options):
    a = random.standard_normal((m, k)).astype(np.float32)
    b = random.standard_normal((k, n)).astype(np.float32)
    tiles = ["-D", f"BM={TILE}", "-D", f"BN={TILE}", "-D", f"BK={TILE}"]
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
    with np.errstate(invalid="ignore"):  # a row of -inf only has no softmax: NaN
        shifted = wide - top
    exps = np.exp(shifted)
    reference = exps / exps.sum(axis=1, keepdims=True)
    compare(result, reference, reference * (2 + np.abs(np.where(np.isfinite(shifted), shifted, 0))), columns)


def main():
    random = np.random.default_rng(1)
    settings = [["-O", level, "--target", target, "--core-num", cores]
                for level, target in itertools.product("03", ["host", "debug"]) for cores in ["1", "3", "1000"]]
    edges = [1, 13, TILE - 1, TILE, TILE + 1, 97]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for i, options in enumerate(settings):
            for j, n in enumerate(edges):
                m, k = edges[(i + j) % len(edges)], edges[(i + 2 * j + 1) % len(edges)]
                saxpy(folder, random, n, options)
                matmul(folder, random, m, n, k, options)
                softmax(folder, random, m, n, options)
            matmul(folder, random, 5, 7, 0, options)
            matmul(folder, random, 0, 7, 5, options)
            saxpy(folder, random, 0, options)
            softmax(folder, random, 0, 5, options)
            softmax(folder, random, 5, 0, options)
    for failure in failures[:10]:
        print(failure)
    print(f"{checks - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
