"""Shared by tests of cluster machines: kernels, descriptions, and the counts in a run's output."""

import re

from shared import teams

KIND = "cluster-riscv64"
SHIPPED = teams.ROOT / "runtime/cluster/cluster-riscv64.yaml"
PRODUCT = """
export kernel product(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N]) {
    spmd for i in M by 32, j in N by 32 {
        var acc: f32[i, j] = 0;
        for k in K by 16 { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}
"""
STEPS = """
export kernel steps(x: inout f32[N], turns: i64) {
    for t in 0..turns {
        spmd for i in N by 16 { let s = x[i] * 0.5; x[i] = s + sum(s over i); }
        sync;
    }
}
"""


def moved(done):
    """Returns what the device counted: the number of block copies, their bytes, barriers, and the scratchpad
    bytes."""
    found = re.search(r"block copies (\d+), bytes of block copies (\d+), barriers (\d+), most scratchpad bytes (\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else (0, 0, 0, 0)


def describe(folder, name, **keys):
    """Returns the spec of a machine like the machine that comes with kernelc, except for these keys."""
    lines = [line for line in SHIPPED.read_text().splitlines() if line.split(":")[0] not in ("name", *keys)]
    lines += [f"{key}: {value}" for key, value in {"name": name, **keys}.items()]
    file = folder / f"{name}.yaml"
    file.write_text("\n".join(lines) + "\n")
    return f"cluster?description={file}"
