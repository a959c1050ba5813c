#!/usr/bin/env python3
"""Compares products of narrow integers, which use matrix instructions, with NumPy's on random shapes: each
pair of types, plain and with transposed operands, on each processor level of this machine.

units.py [shapes of each pair and level, 3] [seed, 1]"""

import itertools
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

import numpy as np

PAIRS = ["u8 i8 i32", "i8 u8 i32", "i8 i8 i32", "u8 u8 u32", "i16 i16 i32", "i16 i8 i32", "u8 i16 i32", "u16 i16 i32"]
KERNEL = """
export kernel products<BM: int = auto, BN: int = auto, BK: int = auto>(
    a: in A[M, K], b: in B[K, N], at: in A[K, M], bt: in B[N, K], c: out C[M, N], d: out C[M, N], e: out C[M, N])
{
    spmd for i in M by BM, j in N by BN {
        var acc: C[i, j] = 0;
        for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
    spmd for i in M by BM, j in N by BN {
        var acc: C[i, j] = 0;
        for k in K by BK { acc += dot(at[k, i], b[k, j] over k); }
        d[i, j] = acc;
    }
    spmd for i in M by BM, j in N by BN {
        var acc: C[i, j] = 0;
        for k in K by BK { acc += dot(a[i, k], bt[j, k] over k); }
        e[i, j] = acc;
    }
}
"""
LEVELS = {"x86-64-v3": set(), "x86-64-v3-vnni": {"avx_vnni"}, "x86-64-v4": {"avx512bw"},
          "x86-64-v4-vnni": {"avx512_vnni"}, "x86-64-v4-bf16": {"avx512_vnni", "avx512_bf16"}}
SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 14, 15, 16, 17, 31, 32, 33, 47, 64, 65, 100, 129, 200, 257, 400, 700]
TYPES = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32}


def drawn(random, kind, shape):
    """Returns random numbers, which often include the smallest and the largest number."""
    info = np.iinfo(kind)
    values = random.integers(info.min, info.max, shape, endpoint=True).astype(kind)
    ends = random.choice(np.array([info.min, info.max], kind), shape)
    return np.where(random.random(shape) < 0.3, ends, values)


def check(folder, types, level, random):
    m, n, k = (int(random.choice(SIZES)) for _ in range(3))
    a, b = drawn(random, TYPES[types[0]], (m, k)), drawn(random, TYPES[types[1]], (k, n))
    wanted = (a.astype(np.int64) @ b.astype(np.int64)).astype(TYPES[types[2]])
    words = ["./products", "--target", f"host?isa={level}", "--core-num", str(random.integers(1, 4))]
    for name, value in {"a": a, "b": b, "at": a.T, "bt": b.T}.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(value))
        words += ["--arg", f"{name}=@{name}.npy"]
    for name in "cde":
        words += ["--out", f"{name}=@{name}.npy"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    what = f"{' '.join(types)} on {level}: {m}x{n}x{k}"
    if done.returncode != 0:
        return [f"{what}: {done.returncode}\n{done.stdout}{done.stderr}"]
    return [f"{what}: {name} differs" for name in "cde" if not np.array_equal(np.load(folder / f"{name}.npy"), wanted)]


def main():
    if platform.machine() != "x86_64":
        print("units of x86-64 only")
        sys.exit(77)
    shapes = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    flags = set(next(line for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("flags")).split())
    levels = [level for level, wanted in LEVELS.items() if wanted <= flags]
    problems, checks, failed = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="units-") as name:
        folder = pathlib.Path(name)
        for pair in PAIRS:
            types = pair.split()
            text = KERNEL
            for word, by in zip("ABC", types):
                text = re.sub(rf"\b{word}\b", by, text)
            (folder / "products.kdl").write_text(text)
            subprocess.run(["kernelc", "build", "products.kdl", "--emit", "exe", "-o", "."], cwd=folder, check=True, timeout=600)
            for level, _ in itertools.product(levels, range(shapes)):
                found = check(folder, types, level, random)
                problems += found
                checks += 1
                failed += bool(found)
    print("\n".join(problems))
    print(f"{checks - failed} passed, {failed} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
