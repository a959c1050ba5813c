#!/usr/bin/env python3
"""Compiles kernels that contain the same loops: LLVM must get one copy of them, except with -g, and the results must stay those of
the reference interpreter."""

import pathlib
import platform
import re
import subprocess
import sys
import tempfile

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
SIZES = ["M=131", "K=70", "N=77"]
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
    return [f"{level}: {one}" for one in wrong]


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = folder / "two.kdl"
        source.write_text(TWO)
        for level in LEVELS:
            failures += check(folder, source, level)
        for kernel in ("product", "half"):
            words = [word for size in SIZES for word in ("--set", size)]
            code, text = kernelc("run", source, "--kernel", kernel, *words, "--verify")
            if code != 0 or "bit for bit" not in text:
                failures.append(f"{kernel}: {text}")
    print("\n".join(failures))
    count = len(LEVELS) + 2
    print(f"{count - min(count, len(failures))} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
