#!/usr/bin/env python3
"""Prints what a call of a kernel costs in each way to call it, beyond the kernel itself.

All ways call the same kernel, `y += a * x`, in one process on one thread, and alternate. A row shows the median of the processor time of
a call for two sizes of vectors, and next to it what remains without the kernel alone, which is called as C source (`--emit c-source`).
Uses the kernelc in PATH, and the runtime and the Python package next to it, which should be those of an optimized build.
"""

import argparse
import ctypes
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
KERNEL = "export kernel axpy(a: f32, x: in f32[N], y: inout f32[N]) { spmd for i in N by 4096 { y[i] += a * x[i]; } }\n"
ROW = "{:<40} {:>12} {:>12} {:>12} {:>12}"
TRIAL_NS = 2e6


def build(folder):
    """Returns the library with calls.c and the kernel in all its forms."""
    (folder / "axpy.kdl").write_text(KERNEL)
    run = lambda *words: subprocess.run([str(word) for word in words], cwd=folder, check=True)
    level = "host?isa=x86-64-v3"
    run("kernelc", "build", "axpy.kdl", "--target", level, "--emit", "header,c,ffi,obj", "-o", ".")
    run("kernelc", "build", "axpy.kdl", "--module", "alone", "--target", level, "--emit", "c-source", "-o", ".")
    run("cc", "-std=c11", "-O3", "-march=x86-64-v3", "-ffp-contract=off", "-w", "-fPIC", "-c", "alone.source.c")
    run("cc", "-std=gnu11", "-O2", "-w", "-fPIC", "-shared", f"-I{HERE.parent.parent / 'include'}", "-I.", HERE / "calls.c", "axpy.c", "axpy.ffi.c",
        *folder.glob("*.o"), f"-L{BUILD}/lib", "-lkdl", f"-Wl,-rpath,{BUILD}/lib", "-o", "calls.so")
    return ctypes.CDLL(str(folder / "calls.so"))


def in_c(function):
    """Returns a function that measures calls which a loop in C makes."""
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_int64, ctypes.c_int64]
    return lambda size, times: function(size, times)


def in_python(call):
    """Returns a function that measures calls which a loop in Python makes, without the time of the loop itself."""
    def nanoseconds(work, size, times):
        work = work(size)
        begin = time.thread_time_ns()
        for _ in range(times):
            work()
        return (time.thread_time_ns() - begin) / times
    return lambda size, times: nanoseconds(call, size, times) - nanoseconds(lambda _: lambda: None, size, times)


def ways(library, folder):
    """Returns {name: function of size and number of calls that measures one call}."""
    import numpy as np
    sys.path.insert(0, str(BUILD / "python"))
    import kernelc
    axpy = kernelc.compile(folder / "axpy.kdl", device="host?threads=1").axpy
    by_hand = library.axpy_by_hand
    by_hand.argtypes = [ctypes.c_int64, ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p]

    def arrays(size):
        return np.zeros(size, "f4"), np.zeros(size, "f4")

    def package(size):
        x, y = arrays(size)
        return lambda: axpy(1.0, x, y)

    def hand(size):
        x, y = arrays(size)
        return lambda: by_hand(len(x), 1.0, x.ctypes.data, y.ctypes.data)

    def hand_bound(size):
        x, y = arrays(size)
        words = ctypes.c_int64(size), ctypes.c_float(1), ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)
        return lambda keep=(x, y): by_hand(*words)

    def numpy(size):
        x, y = arrays(size)
        return lambda: np.add(y, x, out=y)

    return {"the kernel alone (C source)": in_c(library.alone), "C, bound arguments": in_c(library.from_c_bound), "C": in_c(library.from_c),
            "TVM FFI, called from C": in_c(library.by_ffi), "Python, the package kernelc": in_python(package),
            "Python, ctypes by hand": in_python(hand), "Python, ctypes, converted before": in_python(hand_bound),
            "to compare: numpy.add(y, x, out=y)": in_python(numpy), **of_tvm_ffi(folder), **of_torch(folder)}


def of_tvm_ffi(folder):
    """Returns the call by the package tvm_ffi, with its own tensors, if that package is installed."""
    try:
        import tvm_ffi
    except ImportError:
        return {}
    import numpy as np
    library = tvm_ffi.load_module(str(folder / "calls.so"))

    def call(function):
        def work(size):
            x, y = (tvm_ffi.from_dlpack(np.zeros(size, "f4")) for _ in "xy")
            return lambda: function(1.0, x, y)
        return in_python(work)

    return {"Python, TVM FFI": call(library.axpy), "to compare: an empty function of TVM FFI": call(library.empty)}


def of_torch(folder):
    """Returns the call as an operator of PyTorch, if that is installed."""
    try:
        import torch
    except ImportError:
        return {}
    words = ["kernelc", "build", "axpy.kdl", "--module", "axpy_ops", "--target", "host?isa=x86-64-v3", "--emit", "python", "-o", "project"]
    subprocess.run(words, cwd=folder, check=True)
    sys.path.insert(0, str(folder / "project"))
    import axpy_ops.torch  # noqa: F401
    torch.set_num_threads(1)

    def call(operator):
        def work(size):
            x, y = torch.zeros(size), torch.zeros(size)
            return lambda: operator(1.0, x, y)
        return in_python(work)

    return {"Python, a torch operator": call(torch.ops.axpy_ops.axpy),
            "to compare: y.add_(x) of torch": call(lambda _, x, y: y.add_(x))}


def measure(library, all_ways, size, trials):
    """Returns {way: median nanoseconds of a call}."""
    library.prepare(ctypes.c_int64(size))
    times = {name: max(int(TRIAL_NS / max(way(size, 100), 1)), 10) for name, way in all_ways.items()}
    rows = {name: [] for name in all_ways}
    for _ in range(trials):
        for name, way in all_ways.items():
            rows[name].append(way(size, times[name]))
    return {name: statistics.median(values) for name, values in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--sizes", default="256,4096", help="the numbers of elements, two of them")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory() as name:
        library = build(pathlib.Path(name))
        all_ways = ways(library, pathlib.Path(name))
        found = [measure(library, all_ways, size, options.trials) for size in sizes]
    print(ROW.format("ns for each call", *(text for size in sizes for text in (f"N={size}", "beyond"))))
    first = next(iter(all_ways))
    for way in all_ways:
        print(ROW.format(way, *(f"{value:.0f}" for rows in found for value in (rows[way], rows[way] - rows[first]))))


if __name__ == "__main__":
    main()
