#!/usr/bin/env python3
"""Compares the blocks that the selector chooses for a product with the best of many random schedules.

A schedule is a choice of values for the constants on which, according to `kernelc explain --tiles`, no
result depends. All schedules are compiled into one library and timed in turn, on shapes that were not used
to develop the selector, on one thread, in processor time. The few fastest schedules then alternate with the
selector's choice until the result is clear. Prints a line for each shape with the selector's speed relative
to the best (1 is the best), and the distribution.
"""

import argparse
import ctypes
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STEPS = (1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1, 3 / 2, 2)  # factors for the selector's choice


class Type:
    """The element type of a kernel's operands, and its size in bytes. Values do not affect the time unless
    they are subnormal."""

    def __init__(self, source, kernel, bytes_in, bytes_out, one):
        self.source, self.kernel, self.bytes_in, self.bytes_out, self.one = source, kernel, bytes_in, bytes_out, one


TYPES = {
    "f32": Type("matmul.kdl", "matmul", 4, 4, b"\0\0\x80\x3f"),
    "bf16": Type("matmul_types.kdl", "matmul_half.bf16", 2, 4, b"\x80\x3f"),
    "i8": Type("matmul_types.kdl", "matmul_bytes.i8", 1, 4, b"\1"),
}


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}{done.stdout}")
    return done.stdout


def chosen(kernelc, source, kernel, target):
    """Returns the values that the selector chooses for the constants that do not affect results."""
    text = run([kernelc, "explain", "--tiles", source, "--kernel", kernel, "--target", target])
    found = re.search(rf"^kernel {re.escape(kernel)} on \S+: (.*)\n  no result depends on (.*)$", text, re.MULTILINE)
    tiles = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", found[1])}
    return {name: tiles[name] for name in found[2].split(", ")}


def drawn(tiles, count, rng):
    """Returns the selector's choice followed by random schedules, without duplicates."""
    schedules = [tiles]
    while len(schedules) <= count:
        other = {name: max(2, int(value * rng.choice(STEPS)) // 2 * 2) for name, value in tiles.items()}
        if other not in schedules:
            schedules.append(other)
    return schedules


def library(options, folder, form, schedules):
    """Builds a shared object with a function for each schedule, named by the schedule's number, and loads
    it."""
    source = (HERE / "kernels" / form.source).read_text()
    base = form.kernel.split(".")[0]
    kernel = re.search(rf"^export kernel {base}\b.*?^}}\n(?=ensures)", source, re.MULTILINE | re.DOTALL)[0]
    if "." in form.kernel:
        kernel = re.sub(r"<T: [^,]*, ", "<", kernel).replace("in T[", f"in {form.kernel.split('.')[1]}[")
    texts = []
    for number, schedule in enumerate(schedules):
        text = re.sub(rf"\b{base}\b", f"k{number}", kernel, count=1)
        for name, value in schedule.items():
            text = re.sub(rf"\b{name}: int = auto", f"{name}: int = {value}", text)
        texts.append(text)
    (folder / "all.kdl").write_text("\n".join(texts))
    run([options.kernelc, "build", folder / "all.kdl", "-o", folder, "--target", options.target])
    run(["gcc", "-O2", "-fPIC", "-ffp-contract=off", f"-I{ROOT / 'include'}", "-c", folder / "all.c", "-o", folder / "all.c.o"])
    run(["g++", "-shared", "-o", folder / "all.so", *folder.glob("*.o"), "-Wl,--whole-archive", options.runtime,
         "-Wl,--no-whole-archive", "-lpthread", "-ldl"])
    return ctypes.CDLL(str(folder / "all.so"))


class Kernels:
    def __init__(self, loaded, options):
        self.loaded = loaded
        self.handle = ctypes.c_void_p()
        loaded.all_open.restype = ctypes.c_void_p
        if loaded.all_open(None, options.device.encode(), ctypes.byref(self.handle)):
            sys.exit("the library does not open")

    def call(self, number, shape, arrays):
        function = getattr(self.loaded, f"all_k{number}")
        function.restype = ctypes.c_void_p
        m, n, k = shape
        arguments = [self.handle, *(ctypes.c_int64(size) for size in (m, k, n)), *arrays]

        def once():
            if function(*arguments):
                sys.exit("a kernel failed")
        return once


def timed(call, repeats):
    begin = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - begin) / repeats


def repeats_of(call, seconds):
    call()
    once = max(timed(call, 1), 1e-6)
    return max(1, int(seconds / once))


def judged(calls, options):
    """Returns the number of the best schedule, and the relative speed of the selector's choice. The speed
    comes from timings that were not used to find the best schedule."""
    repeats = repeats_of(calls[0], options.trial)
    rough = [min(timed(call, repeats) for _ in range(3)) for call in calls]
    finalists = sorted(range(1, len(calls)), key=lambda number: rough[number])[:options.finalists]

    def quotients(number, turns):
        pairs = [(timed(calls[0], repeats), timed(calls[number], repeats)) for _ in range(turns)]
        return statistics.median(other / own for own, other in pairs)

    best = min(finalists, key=lambda number: quotients(number, options.turns))
    return best, min(1.0, quotients(best, 2 * options.turns + 1))


def shapes_of(options, rng):
    """Generates shapes whose logarithms are uniformly distributed, like the sizes in real programs. A run
    takes at most a few milliseconds."""
    found = []
    while len(found) < options.shapes:
        shape = tuple(int(2 ** rng.uniform(0 if dim == 0 else 4, 12)) for dim in range(3))
        if 2e4 <= shape[0] * shape[1] * shape[2] <= options.most:
            found.append(shape)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernelc", default=str(ROOT / "build/bin/kernelc"))
    parser.add_argument("--runtime", default=str(ROOT / "build/lib/libkdl_runtime.a"))
    parser.add_argument("--target", default="host?isa=x86-64-v4-bf16")
    parser.add_argument("--device", default="host?threads=1")
    parser.add_argument("--type", choices=sorted(TYPES), default="f32")
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--shapes", type=int, default=30)
    parser.add_argument("--shape", action="append", default=[], help="MxNxK, instead of drawn ones")
    parser.add_argument("--most", type=float, default=3e8, help="multiplications of a shape")
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--finalists", type=int, default=8)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--trial", type=float, default=1e-3, help="seconds of a turn at least")
    options = parser.parse_args()
    form = TYPES[options.type]
    rng = random.Random(options.seed)
    shapes = [tuple(map(int, text.split("x"))) for text in options.shape] or shapes_of(options, rng)
    tiles = chosen(options.kernelc, HERE / "kernels" / form.source, form.kernel, options.target)
    schedules = drawn(tiles, options.schedules, rng)
    with tempfile.TemporaryDirectory(prefix="selector-") as name:
        kernels = Kernels(library(options, pathlib.Path(name), form, schedules), options)
        shares = []
        for shape in shapes:
            m, n, k = shape
            sizes = (m * k * form.bytes_in, k * n * form.bytes_in, m * n * form.bytes_out)
            arrays = [ctypes.create_string_buffer(form.one * (size // len(form.one)) if number < 2 else size, size)
                      for number, size in enumerate(sizes)]
            best, share = judged([kernels.call(number, shape, arrays) for number in range(len(schedules))], options)
            shares.append(share)
            text = " ".join(f"{name}={value}" for name, value in schedules[best].items())
            print(f"{m}x{n}x{k}: {share:.2f} of the best, {text}", flush=True)
    shares.sort()
    print(f"{options.type}, selector's {tiles}: least {shares[0]:.2f}, lower quartile {shares[len(shares) // 4]:.2f}, "
          f"median {statistics.median(shares):.2f}; {sum(share >= 0.9 for share in shares)} of {len(shares)} at least 0.9")


if __name__ == "__main__":
    main()
