#!/usr/bin/env python3
"""Compares the speed of kernels as C source (`--emit c-source`), built by gcc and clang with the flags of its first comment, with that of the
object that kernelc generates: `tests/bench/c_source.py [--level x86-64-v4] [KERNEL...]`. A ratio above 1 says that the C code is faster. Both
run on one thread, in alternation, and must give the same bits. There are some kernels of each class; the last lines are the geometric mean and
the least ratio. Processor time is measured, but a machine with other work still gives rough figures."""

import argparse
import ctypes
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python"))
sys.path.insert(0, str(ROOT / "tests/run"))
import kernelc  # noqa: E402
from c_source import FUNCTION, Function, draw, same  # noqa: E402

SAMPLES, FAMILIES = "samples", "tests/run/families"
# A kernel: its class, its file, its sizes, and the values of generic parameters.
CASES = {
    "saxpy": ("elementwise", f"{SAMPLES}/saxpy/saxpy.kdl", {"N": 1 << 16}, {}),
    "gelu_tanh": ("elementwise", f"{FAMILIES}/elementwise.kdl", {"M": 256, "N": 512}, {}),
    "gelu": ("elementwise, f16", f"{FAMILIES}/elementwise.kdl", {"N": 1 << 16}, {"T": "f16"}),
    "hash": ("elementwise, u32", f"{FAMILIES}/functions.kdl", {"N": 1 << 16}, {}),
    "over": ("colours, u8", f"{FAMILIES}/colour.kdl", {"N": 1 << 14}, {}),
    "reversed_rows": ("permutations", f"{FAMILIES}/elementwise.kdl", {"M": 256, "N": 512}, {}),
    "broadcast_rows": ("permutations", f"{FAMILIES}/elementwise.kdl", {"M": 256, "N": 512}, {}),
    "softmax": ("rows", f"{SAMPLES}/softmax/softmax.kdl", {"R": 512, "C": 2048}, {}),
    "layer_norm": ("rows", f"{FAMILIES}/softmax_norm.kdl", {"R": 256, "C": 1024}, {}),
    "norms": ("reductions", f"{FAMILIES}/reductions.kdl", {"M": 256, "N": 1024}, {}),
    "over_first": ("reductions", f"{FAMILIES}/reductions.kdl", {"M": 256, "N": 1024}, {"T": "f32"}),
    "flags": ("reductions, i32", f"{FAMILIES}/reductions.kdl", {"M": 256, "N": 1024}, {}),
    "matmul": ("products", f"{SAMPLES}/matmul/matmul.kdl", {"M": 384, "N": 384, "K": 384}, {"T": "f32"}),
    "transposed": ("products", f"{FAMILIES}/matmul.kdl", {"M": 256, "N": 256, "K": 256}, {"T": "f64"}),
    "unsigned_matmul": ("products, u8", f"{FAMILIES}/matmul.kdl", {"M": 128, "N": 256, "K": 256}, {}),
    "matvec": ("products with vectors", f"{FAMILIES}/matmul.kdl", {"M": 512, "K": 1024}, {}),
    "jacobi": ("stencils", f"{FAMILIES}/stencil.kdl", {"H": 512, "W": 1024}, {}),
    "blur_columns": ("stencils", f"{FAMILIES}/image.kdl", {"H": 256, "W": 512}, {}),
    "sobel": ("images, u8", f"{FAMILIES}/edges.kdl", {"H": 256, "W": 512}, {}),
    "median": ("images, u8", f"{FAMILIES}/morphology.kdl", {"H": 256, "W": 512}, {}),
    "fir": ("filters", f"{FAMILIES}/audio.kdl", {"C": 2, "N": 4096}, {}),
    "conv2d": ("convolutions", f"{FAMILIES}/convolution.kdl", {"N": 2, "C": 16, "H": 32, "W": 32, "O": 32, "OH": 32, "OW": 32},
               {"S": 1, "P": 1, "KH": 3, "KW": 3}),
    "forward": ("scans", f"{FAMILIES}/scans.kdl", {"R": 64, "C": 1024}, {}),
    "embedding": ("gathers", f"{FAMILIES}/gather.kdl", {"V": 512, "D": 256, "N": 512}, {"T": "i64"}),
    "mandelbrot": ("loops that end early", f"{FAMILIES}/mandelbrot.kdl", {"M": 64, "N": 64}, {}),
}
COMPILERS = ("gcc", "clang-19")
TRIALS = 40
TRIAL_SECONDS = 2e-3


def functions(folder, name, level):
    """Returns the kernel as compiled by each C compiler."""
    _, file, _, constants = CASES[name]
    defines = [word for constant, value in constants.items() for word in ("-D", f"{constant}={value}")]
    subprocess.run(["kernelc", "build", ROOT / file, "--kernel", name, *defines, "--module", f"c_{name}", "--target", f"host?isa={level}", "--emit", "c-source",
                    "-o", folder], check=True)
    source = folder / f"c_{name}.source.c"
    flags = re.search(r"// Compile with (.*)\.\n", source.read_text()).group(1).split()
    docs, function, arguments = FUNCTION.findall(source.with_suffix(".h").read_text())[0]
    for compiler in COMPILERS:
        library = folder / f"c_{name}.{compiler}.so"
        subprocess.run([compiler, "-std=c11", *flags, "-w", "-shared", "-fPIC", source, "-lm", "-o", library], check=True)
        yield compiler, Function(ctypes.CDLL(str(library)), docs, function, arguments)


def made_arrays(function, sizes):
    rng = np.random.default_rng(1)
    return [draw(rng, element, shape, False) if shape is not None else draw(rng, element, (), False).item()
            for shape, (_, _, element, _) in zip((None if text is None else function.shape(text, sizes) for *_, text in function.params), function.params)]


def words_of(function, sizes, values):
    """Returns the arguments of the C function."""
    kinds = {"f32": ctypes.c_float, "f64": ctypes.c_double}
    return [ctypes.c_int64(sizes[name.rstrip("_")]) for name in function.sizes] + [
        ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else kinds.get(element, ctypes.c_int64)(value)
        for (_, _, element, _), value in zip(function.params, values)]


def seconds(run, times):
    start = time.thread_time()
    for _ in range(times):
        run()
    return (time.thread_time() - start) / times


def compared(folder, name, level):
    """Returns {compiler: ratio}, and the seconds that the object needs."""
    _, file, sizes, constants = CASES[name]
    ours = getattr(kernelc.compile(ROOT / file, kernel=name, defines=constants, device=f"host?isa={level}&threads=1"), name)
    runs, first = {}, None
    for compiler, function in functions(folder, name, level):
        values = made_arrays(function, sizes)
        if first is None:
            first, given = made_arrays(function, sizes), made_arrays(function, sizes)
            ours(*first)
            runs["kernelc"] = lambda: ours(*given)
        words = words_of(function, sizes, values)
        if function.call(*words) is not None:
            sys.exit(f"{name} by {compiler} fails")
        if not all(same(mine, theirs) for mine, theirs in zip(values, first) if isinstance(mine, np.ndarray)):
            sys.exit(f"{name} by {compiler} gives other bits")
        runs[compiler] = lambda call=function.call, words=words, keep=values: call(*words)
    times = max(1, int(TRIAL_SECONDS / max(seconds(runs["kernelc"], 3), 1e-7)))
    least = {}
    for _ in range(TRIALS):
        for who, run in runs.items():
            least[who] = min(least.get(who, 1e9), seconds(run, times))
    return {who: least["kernelc"] / least[who] for who in COMPILERS}, least["kernelc"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--level", action="append", metavar="ISA", help="a level of the processor; default: x86-64-v3")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for level in given.level or ["x86-64-v3"]:
            all_ratios = []
            for name in given.kernels or CASES:
                ratios, least = compared(pathlib.Path(folder), name, level)
                all_ratios.append(ratios)
                print(f"{level} {name} ({CASES[name][0]}): {', '.join(f'{who} {ratio:.2f}' for who, ratio in ratios.items())}; kernelc needs {least * 1e6:.0f} us", flush=True)
            for who in COMPILERS:
                values = [ratios[who] for ratios in all_ratios]
                print(f"{level} {who}: geometric mean {statistics.geometric_mean(values):.2f}, least {min(values):.2f}")


main()
