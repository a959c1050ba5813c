#!/usr/bin/env python3
"""Tests the Python package with arrays whose strides have no meaning, with large arrays, which must not be copied, and with paths that are
not UTF-8."""

import os
import sys

from shared import checks
from shared.python_package import check_all, run

# Each check: what holds, and the Python text that shows it.
CHECKS = {
    "strides of axes with a single element, and of empty arrays, can be anything": '''
source = """export kernel merge(x: in f32[A, B, C], y: out f32[A, B, C]) {
    view v: f32[A * B, C] = x;
    view w: f32[A * B, C] = y;
    spmd for i in A * B by 2, j in C by 4 { w[i, j] = v[i, j] + 1.0; }
}"""
whole = np.arange(60, dtype="f4").reshape(3, 4, 5)
reached = np.lib.stride_tricks.as_strided(whole, (3, 1, 4), (80, 1, 4))
shown = [whole[:, 1:2], whole[:, 1:2][:, ::-1, :4], whole[1:2], whole[1:2][::-1], whole[1:2, :, :3], whole[:, :1, 1:2], whole[:0, ::-1, :3], reached]
for device in ("host", "debug"):
    merge = kernelc.compile(source, device=device).merge
    for x in shown:
        y, made = np.zeros(x.shape, "f4"), np.zeros_like(whole)
        merge(x, y)
        part = made[:x.shape[0], :x.shape[1], :x.shape[2]]
        merge(np.ascontiguousarray(x), part)
        assert (y == x + 1).all() and (part == y).all() and np.count_nonzero(made) == x.size, (device, x.shape, x.strides)
    fails("not contiguous", kernelc.Trap, lambda: merge(whole[:, :2], np.zeros((3, 2, 5), "f4"))) if device == "host" else None
''',
    "large arrays are not copied": '''
import resource
whole, y = np.ones((4, 5000000), "f4"), np.ones((2, 5000000), "f4")
kernel = kernelc.compile("export kernel f(x: in f32[M, N], y: out f32[M, N]) { spmd for i in M by 1, j in N by 4096 { y[i, j] = 2 * x[i, j]; } }").f
kernel(whole[:1, :9], np.zeros((1, 9), "f4"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for x in (whole[:2], whole[::2], OnlyDlpack(whole[::2]), memoryview(whole)[:2]):
    kernel(x, y)
    kernel.submit(x, y).result()
assert y.min() == y.max() == 2
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10000, "kilobytes"
''',
    "strides of several elements must be positive multiples of an element": '''
records = np.ones(3, [("a", "f4"), ("b", "u1")])["a"]
module.axpy(1, records[:1], np.zeros(1, "f4"))
fails("pass a copy", ValueError, lambda: module.axpy(1, records, np.zeros(3, "f4")))
module.axpy(1, np.ones(1, "f4")[::-1], np.ones(1, "f4")[::-1])
fails("stride -1 in dimension 0", kernelc.ArgumentError, lambda: module.axpy(1, np.ones(2, "f4")[::-1], np.ones(2, "f4")))
''',
}


def check_bytes(folder):
    """Names of folders need not be UTF-8."""
    name = os.fsdecode(b"caf\xe9")
    (folder / name).mkdir()
    (folder / name / "main.kdl").write_text("export kernel f(x: out i32[1]) { spmd for i in 1 by 1 { x[i] = 1; } }\n")
    text = f"""import kernelc
f = kernelc.compile({str(folder / name / 'main.kdl')!r}).f
with kernelc.interpret(): print(f()[0])
print(f()[0])
"""
    done = run(text, folder)
    checks.expect("a folder that is not UTF-8", done.stdout == "1\n1\n", done.stderr)


if __name__ == "__main__":
    sys.exit(check_all(CHECKS, check_bytes))
