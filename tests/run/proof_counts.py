#!/usr/bin/env python3
"""Checks that the number of proofs does not grow with the number of types of a kernel: `--time-passes` says how many were tried.
Kernels that convert their elements are proven once, too, because no index follows from these."""

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

kernel sums<T: {types}>(x: in T[R, D], w: in T[C], y: out T.acc[R]) where D == 2 * C {{
    spmd for r in R by 8 {{
        var s: T.acc[r] = 0;
        for c in C by 64 {{ s += sum((x[r, 2 * iota(c)] * w[c]) as T.acc over c); }}
        y[r] = s;
    }}
}}
"""
EIGHT = "f32 | f64 | f16 | bf16 | i8 | i16 | i32 | i64"  # elements of f32, f64, i32 and i64 are not converted
# How often the proofs for f32 the library files may take for all their types. Kernels with conditions on integers, such as
# nonzero, are proven for each type of these: whether an integer is negative depends on its type. When each kernel that converts
# its elements was proven for each type, the numbers were 4.4, 3.6 and 3.6.
LIBRARY = {"std.reduce": 2, "std.windows": 1.25, "std.index": 3.2}


def checked(*words):
    """Returns how many proofs `kernelc check` tries."""
    done = subprocess.run(["kernelc", "check", *words, "--time-passes"], capture_output=True, text=True, timeout=300)
    found = re.search(r"^ *(\d+) proofs$", done.stdout + done.stderr, re.MULTILINE)
    checks.expect("the proofs are counted", done.returncode == 0 and found, done.stdout + done.stderr)
    return int(found[1]) if found else 0


def proofs(folder, types):
    file = folder / "kernels.kdl"
    file.write_text(KERNELS.format(types=types))
    return checked(file)


def main():
    with tempfile.TemporaryDirectory(prefix="proofs-") as name:
        one, many = (proofs(pathlib.Path(name), types) for types in ("f32", EIGHT))
    checks.expect("the kernels need proofs", one >= 6, str(one))
    checks.expect("eight types need as many proofs as one", many == one, f"{many}, not {one}")
    for library, most in LIBRARY.items():
        one, many = checked(library, "-D", "T=f32"), checked(library)
        checks.expect(f"{library} needs at most {most} times the proofs for one type", many <= most * one, f"{many}, not {one}")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
