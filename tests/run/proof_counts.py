#!/usr/bin/env python3
"""Checks that the number of proofs does not grow with the number of types of a kernel: `--time-passes` says how many were tried.
Kernels that convert their elements are proven once for all types with the same conversions."""

import pathlib
import re
import subprocess
import sys
import tempfile

from shared import checks

KERNELS = """
kernel pairs<T: {types}>(x: in T[N], z: in T[N], y: out T[M]) where M == 2 * N {{
    spmd for i in N by 64 {{ y[2 * iota(i)] = x[i]; y[2 * iota(i) + 1] = z[i]; }}
}}

kernel sums<T: {sums}>(x: in T[R, D], w: in T[C], y: out T.acc[R]) where D == 2 * C {{
    spmd for r in R by 8 {{
        var s: T.acc[r] = 0;
        for c in C by 64 {{ s += sum((x[r, 2 * iota(c)] * w[c]) as T.acc over c); }}
        y[r] = s;
    }}
}}
"""
# Both types of `sums` are converted to f32.
ONE = {"types": "f32", "sums": "f16"}
MANY = {"types": "f32 | f64 | f16 | bf16 | i8 | i16 | i32 | i64", "sums": "f16 | bf16"}


def proofs(folder, types):
    """Returns how many proofs `kernelc check` tries."""
    file = folder / "kernels.kdl"
    file.write_text(KERNELS.format(**types))
    done = subprocess.run(["kernelc", "check", file, "--time-passes"], capture_output=True, text=True, timeout=300)
    found = re.search(r"^ *(\d+) proofs$", done.stdout + done.stderr, re.MULTILINE)
    checks.expect("the proofs are counted", done.returncode == 0 and found, done.stdout + done.stderr)
    return int(found[1]) if found else 0


def main():
    with tempfile.TemporaryDirectory(prefix="proofs-") as name:
        one, many = (proofs(pathlib.Path(name), types) for types in (ONE, MANY))
    checks.expect("the kernels need proofs", one >= 6, str(one))
    checks.expect("eight types need as many proofs as one", many == one, f"{many}, not {one}")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
