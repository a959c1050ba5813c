#!/usr/bin/env python3
"""Compares the speed of kernels as C source (`--emit c-source`), built by gcc and clang for this processor, with that of the object
that kernelc generates: `tests/bench/c_source.py [KERNEL...]`. A ratio above 1 says that the C code is faster. Both run on one thread,
in alternation, and must give the same bits. A machine with other work gives ratios of no meaning."""

import ctypes
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python"))
import kernelc  # noqa: E402

# A kernel, for f32: its file, its sizes, and the shapes of its tensors, of which the last one is the output.
CASES = {
    "softmax": ("samples/softmax/softmax.kdl", (512, 2048), [(512, 2048)] * 2),
    "matmul": ("samples/matmul/matmul.kdl", (384, 384, 384), [(384, 384)] * 3),
    "jacobi": ("tests/run/families/stencil.kdl", (512, 1024), [(512, 1024)] * 2),
}
COMPILERS = ("gcc", "clang-19")
TRIALS = 60


def functions(folder, path, name, level):
    """Returns the kernel as compiled by each C compiler."""
    subprocess.run(["kernelc", "build", path, "--target", f"host?isa={level}", "--emit", "c-source", "-o", folder], check=True)
    for compiler in COMPILERS:
        library = folder / f"{name}.{compiler}.so"
        subprocess.run([compiler, "-std=c11", "-O3", "-march=native", "-ffp-contract=off", "-Wno-psabi", "-shared", "-fPIC",
                        folder / f"{path.stem}.source.c", "-lm", "-o", library], check=True)
        built = ctypes.CDLL(str(library))
        function = getattr(built, f"{path.stem}_{name}", None) or getattr(built, f"{path.stem}_{name}_f32")
        function.restype = ctypes.c_char_p
        yield compiler, function


def measure(folder, name, level):
    file, sizes, shapes = CASES[name]
    ours = getattr(kernelc.compile(ROOT / file, device=f"host?isa={level}&threads=1"), name)
    rng = np.random.default_rng(1)
    values = [rng.standard_normal(shape).astype("f4") for shape in shapes]
    copies = [value.copy() for value in values]
    arguments = [ctypes.c_int64(size) for size in sizes] + [ctypes.c_void_p(value.ctypes.data) for value in copies]
    runs = {"kernelc": lambda: ours(*values)}
    for compiler, function in functions(folder, ROOT / file, name, level):
        if function(*arguments) is not None:
            sys.exit(f"{name} by {compiler} fails")
        ours(*values)
        if (values[-1].view("u4") != copies[-1].view("u4")).any():
            sys.exit(f"{name} by {compiler} gives other bits")
        runs[compiler] = lambda function=function: function(*arguments)
    least = {}
    for _ in range(TRIALS):
        for who, run in runs.items():
            start = time.perf_counter()
            run()
            least[who] = min(least.get(who, 1e9), time.perf_counter() - start)
    ratios = ", ".join(f"{who} {least['kernelc'] / least[who]:.2f}" for who in COMPILERS)
    print(f"{level} {name}: {ratios}; kernelc needs {least['kernelc'] * 1e6:.0f} us", flush=True)


def main():
    names = sys.argv[1:] or list(CASES)
    with tempfile.TemporaryDirectory() as folder:
        for level in ("x86-64-v3", "x86-64-v4"):
            for name in names:
                measure(pathlib.Path(folder), name, level)


main()
