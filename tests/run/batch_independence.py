#!/usr/bin/env python3
"""Checks that the result of a row does not depend on the batch: how many rows there are, where the row is, and on how many cores the kernel
runs. Each row of each call has the same bits as in a call with this row only.

    tests/run/batch_independence.py [--all] [DEVICE...]     # --all: more numbers of rows and of cores, on more devices
"""

import argparse
import sys

from shared.python_package import check_all

# Multiples of blocks, one more or one less, and numbers from which a kernel may choose another way.
ROWS, ALL_ROWS = [1, 3, 65], [1, 2, 3, 7, 63, 64, 65, 300]
CORES, ALL_CORES = [1, 7], [1, 2, 1000]
DEVICES, ALL_DEVICES = ["host", "opencl"], ["host", "host?isa=x86-64-v2", "host?isa=x86-64-v3", "debug", "opencl"]

TEXT = '''
SOURCE = """
export kernel rows_first(x: in f32[M, N], y: out f32[M]) {{
    spmd for r in M by 16, c in N by 32 {{ reduce y[r] += sum(x[r, c] over c); }}
}}
export kernel rows_last(x: in f32[M, N], y: out f32[M], least: out f32[1]) {{
    spmd for c in N by 32, r in 0..M {{ reduce y[r] += sum(x[r, c] over c); reduce least[0] min= min(x[r, c] over c); }}
}}
export kernel products(x: in f32[M, K], w: in f32[K, N], y: out f32[M, N]) {{
    spmd for i in M by 16, j in N by 32, k in K by 16 {{ reduce y[i, j] += dot(x[i, k], w[k, j] over k); }}
}}
"""
DEVICE = {device!r}
rng = np.random.default_rng(7)
numbers = lambda *shape: rng.standard_normal(shape).astype("f4")
library = lambda file, name: kernelc.compile(f"std.{{file}}", kernel=name, defines={{"T": "f32"}}, device=DEVICE)[name]
own = kernelc.compile(SOURCE, device=DEVICE)
long, wide = numbers(20, 700), numbers(20, 333)
square, transposed = numbers(333, 130), numbers(130, 333)
keys, values = numbers(2, 50, 24), numbers(2, 50, 16)

def attention(f, x):
    """Calls attention with a batch for each row of x, which contains the queries of two heads."""
    k, v = np.stack([keys] * len(x)), np.stack([values] * len(x))
    q = x.reshape(len(x), 2, -1, 24)
    return f(q, k, v, np.zeros((*q.shape[:3], 50), "f4"), 0.2, 0.0, False, np.zeros(len(x), "i8"))

# Each kernel: rows, the kernel, and a call of it with some of the rows.
along = lambda f, x, *more: f(x, *more, rank_A=1)
KERNELS = {{
    "softmax": (long, library("nn", "softmax"), lambda f, x: f(x)),
    "log_softmax": (wide, library("nn", "log_softmax"), lambda f, x: f(x)),
    "layer_norm": (long, library("nn", "layer_norm"), lambda f, x: f(x, long[0], epsilon=1e-5)),
    "rms_norm": (long, library("nn", "rms_norm"), lambda f, x: f(x, long[0], 1e-5)),
    "sum_axis": (long, library("reduce", "sum_axis"), along),
    "log_sum_exp_axis": (wide, library("reduce", "log_sum_exp_axis"), along),
    "cumulative_sum": (wide, library("reduce", "cumulative_sum"), lambda f, x: along(f, x, False, False)),
    "matmul": (wide, library("linalg", "matmul"), lambda f, x: f(x, square)),
    "gemm_nt": (wide, library("linalg", "gemm_nt"), lambda f, x: f(x, transposed, np.ones((len(x), 130), "f4"), 1.5, 0.5)),
    "attention": (numbers(20, 2 * 3 * 24), library("nn", "attention"), attention),
    "attention with one query": (numbers(20, 2 * 24), library("nn", "attention"), attention),
    "reduce, rows first": (long, own.rows_first, lambda f, x: f(x)),
    "reduce, rows last": (long, own.rows_last, lambda f, x: f(x)[0]),
    "reduce of products": (wide, own.products, lambda f, x: f(x, square)),
}}
for name, (rows, kernel, call) in KERNELS.items():
    alone = [call(kernel, row[None])[0].tobytes() for row in rows]
    assert len(set(alone)) == len(rows), name
    for size in {sizes}:
        for cores in {cores}:
            chosen = rng.integers(0, len(rows), size)
            results = call(kernel[cores], rows[chosen])
            differing = [place for place, row in enumerate(chosen) if results[place].tobytes() != alone[row]]
            assert not differing, (name, size, cores, differing)
'''


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("devices", nargs="*")
    options = parser.parse_args()
    devices = options.devices or (ALL_DEVICES if options.all else DEVICES)
    sizes, cores = (ALL_ROWS, ALL_CORES) if options.all else (ROWS, CORES)
    return check_all({device: TEXT.format(device=device, sizes=sizes, cores=cores) for device in devices})


if __name__ == "__main__":
    sys.exit(main())
