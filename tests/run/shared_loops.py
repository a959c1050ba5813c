#!/usr/bin/env python3
"""Compiles kernels that contain the same loops: LLVM must get one copy of them, except with -g, and each kernel must give the same bits as
if it was compiled alone."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

COMPILER = pathlib.Path(shutil.which("kernelc")).resolve()
sys.path.insert(0, str(COMPILER.parents[1] / "python"))
os.environ["KERNELC"] = str(COMPILER)
LEVELS = ["x86-64-v3", "x86-64-v4"] if platform.machine() == "x86_64" else ["armv8-a"]
PRODUCT = """
export kernel {name}(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N]) {{
    spmd for i in M by 64, j in N by 64 {{
        var acc: f32[i, j] = 0;
        for k in K by 32 {{ acc += dot(a[i, k], b[k, j] over k); }}
        c[i, j] = {result};
    }}
}}
"""
TWO = PRODUCT.format(name="product", result="acc") + PRODUCT.format(name="half", result="acc * 0.5 + b[0, j]")
MOST = 0.95  # of the instructions of two separate products


def kernelc(*words):
    done = subprocess.run(["kernelc", *map(str, words)], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def functions(text):
    """Returns the numbers of lines of the public and the private functions of LLVM IR."""
    public, private = [], []
    for body in re.findall(r"^define .*?^}", text, re.MULTILINE | re.DOTALL):
        (private if body.startswith("define internal") else public).append(body.count("\n"))
    return public, private


def llvm(folder, source, level, *words):
    code, text = kernelc("build", source, "--emit", "llvm", "--target", f"host?isa={level}", "-o", folder, *words)
    if code != 0:
        sys.exit(text)
    return functions(next(folder.glob("*.ll")).read_text())


def has_level(level):
    return level != "x86-64-v4" or "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text()


def differences(source, level):
    """Compares the results of the kernels when they share loops with those of each kernel alone."""
    import kernelc as package
    import numpy
    draw = numpy.random.default_rng(1)
    a, b = draw.standard_normal((131, 70), dtype="f4"), draw.standard_normal((70, 77), dtype="f4")
    device = f"host?isa={level}"
    together = package.compile(source, device=device)
    alone = {name: getattr(package.compile(source, kernel=name, device=device), name) for name in ("product", "half")}
    return [f"{name} has other bits" for name, kernel in alone.items() if kernel(a, b).tobytes() != getattr(together, name)(a, b).tobytes()]


def check(folder, source, level):
    """Returns what is wrong at a level of the processor."""
    public, private = llvm(folder, source, level)
    apart, _ = llvm(folder, source, level, "-g")
    wrong = []
    if not private:
        wrong.append("no loop is shared")
    if sum(public + private) > MOST * sum(apart):
        wrong.append(f"{sum(public + private)} lines of LLVM IR instead of {sum(apart)}")
    if len(apart) != len(public) or llvm(folder, source, level, "-g")[1]:
        wrong.append("loops are shared with -g")
    if has_level(level):
        wrong += differences(source, level)
    return [f"{level}: {one}" for one in wrong]


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = folder / "two.kdl"
        source.write_text(TWO)
        for level in LEVELS:
            failures += check(folder, source, level)
    print("\n".join(failures))
    count = len(LEVELS)
    print(f"{count - min(count, len(failures))} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
