#!/usr/bin/env python3
"""Compiles kernels in one build for x86-64 and for aarch64, and runs them here and in an emulator with the
runtime for aarch64, with and without SVE vectors. Results must be the interpreter's, bit for bit.

The samples' kernels and the programs below, one of which has stages and pipes, are in one file. The file's
objects, its generated C++ and aarch64_caller.cpp are linked into one program. shared/aarch64_units.py tests
products with instructions that only some processor levels have. A few random kernels come from
tests/fuzz/emulated.py.

aarch64.py [shapes of each pair of types and level, 1] [seed, 1] [--all: each pair, not just half of them,
selected anew each day]"""

import pathlib
import random as py_random
import re
import shutil
import sys
import tempfile

import numpy as np

import entries
from shared import aarch64_units, seeds
from shared.aarch64_runtime import EMULATOR, ROOT, TOOLS, build_runtime, call

sys.path.append(str(ROOT / "tests/fuzz"))
import emulated  # noqa: E402

DRAWN = 8  # random kernels; they change every day
SAMPLES = ["saxpy", "matmul", "softmax"]
PROGRAMS = """
kernel piped(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N]) {
    domain blocks = (M by 16, N by 24);
    pipe products: f32[16, 24] @depth(2);
    pipe sums: f32[16];
    stage multiply {
        spmd for i, j in blocks {
            var acc: f32[i, j] = 0;
            for k in K by 40 { acc += dot(a[i, k], b[k, j] over k); }
            products.push(acc, i, j);
            sums.push(sum(acc over j), i);
        }
    }
    stage add {
        spmd for i, j in blocks {
            let row = sums.pop(i);
            c[i, j] = products.pop(i, j) + row;
        }
    }
}
kernel claimed(a: f32, x: in f32[N], y: inout f32[N]) {
    for t in 0..3 {
        spmd for i in N by 8 @dynamic {
            var acc: f32[i] = 0;
            for k in 0..i.start + t { acc = acc * a + x[i]; }
            if t == 2 { y[i] += acc; }
        }
    }
}
kernel zeros(x: in f32[N], y: inout f32[N]) {
    spmd for i in N by 64 { y[i] = -(2.0 * x[i] - (x[i] + x[i])); }
}
kernel halves(x: in f16[N], y: in f16[N], s: out f16[N], d: out f16[N], p: out f16[N], q: out f16[N], r: out f16[N]) {
    spmd for i in N by 64 {
        s[i] = x[i] + y[i];
        d[i] = x[i] - y[i];
        p[i] = x[i] * y[i];
        q[i] = x[i] / y[i];
        let size = max(x[i], -x[i]);
        r[i] = sqrt(size);
    }
}
export program half(x: in f16[N], y: in f16[N], s: out f16[N], d: out f16[N], p: out f16[N], q: out f16[N], r: out f16[N], cores: i64) {
    spmd(core_num = cores) halves(x, y, s, d, p, q, r);
}
export program piped_product(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N], cores: i64) {
    spmd(core_num = cores) piped(a, b, c);
}
export program claims(a: f32, x: in f32[N], y: inout f32[N], cores: i64) { spmd(core_num = cores) claimed(a, x, y); }
export program negated(a: f32, x: in f32[N], y: inout f32[N], cores: i64) { spmd(core_num = cores) zeros(x, y); }
export program line(a: f32, x: in f32[N], y: inout f32[N], cores: i64) { spmd(core_num = cores) saxpy(a, x, y); }
export program soft(x: in f32[R, C], y: out f32[R, C], cores: i64) { spmd(core_num = cores) softmax(x, y); }
export program product_f32(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N], cores: i64) {
    spmd(core_num = cores) matmul(a, b, c);
}
export program product_bf16(a: in bf16[M, K], b: in bf16[K, N], c: out bf16[M, N], cores: i64) {
    spmd(core_num = cores) matmul(a, b, c);
}
"""
# The same tiles for both architectures, because the interpreter runs on this one.
TILES = ["-DBM=32", "-DBN=48", "-DBK=24", "-DBR=8", "-DBC=40"]
BUILD = pathlib.Path(shutil.which("kernelc") or "bin/kernelc").resolve().parents[1]
HALF = "host?isa=armv8-a-fp16"
SCALABLE = "host?isa=armv8-a-sve256&dot=portable"
# With "max" alone, the emulator has longer vectors, and armv8-a code runs.
OTHERS = {"": [], " without f16": ["-cpu", "cortex-a57"], " by SVE": ["-cpu", "max,sve256=on"]}
INCLUDES = ["-I", ROOT / "include", "-I", ROOT / "tests/run", "-I", "."]
PIPES = "--pipes=buffered"  # stages as coroutines, pipes in memory
SHAPES = {"line": [(0,), (1,), (67,), (300,)], "claims": [(1,), (67,), (300,)], "negated": [(1,), (67,)], "soft": [(1, 1), (3, 41), (19, 97)],
          "half": [(3,), (70001,)], "product_f32": [(1, 1, 1), (33, 50, 25), (70, 131, 49), (5, 7, 0)],
          "product_bf16": [(1, 3, 2), (33, 50, 25), (70, 131, 49)],
          "piped_product": [(1, 1, 1), (33, 50, 25), (70, 131, 49), (5, 7, 0), (0, 3, 2)]}
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.dtype("V2")}


def build(folder):
    text = "".join((ROOT / f"samples/{name}/{name}.kdl").read_text() for name in SAMPLES)
    (folder / "kernels.kdl").write_text(text + PROGRAMS)
    call("kernelc", "build", "kernels.kdl", "--target", "host", "--target", "host?isa=armv8-a", "--target", HALF, "--target", SCALABLE, PIPES, *TILES,
         folder=folder)
    build_runtime(folder)
    call(TOOLS[0], "-std=c++20", "-O1", *INCLUDES, "kernels.orch.cpp", ROOT / "tests/run/aarch64_caller.cpp",
         *(path for path in folder.glob("*.o") if not path.name.endswith(".x86-64.o")), "runtime/lib/libkdl_runtime.a",
         "-pthread", "-ldl", "-o", "program", folder=folder)
    build_units(folder)
    call("g++", "-std=c++20", "-O1", *INCLUDES, "kernels.orch.cpp", ROOT / "tests/run/aarch64_caller.cpp",
         *folder.glob("kernels.*x86-64.o"), BUILD / "lib/libkdl_runtime.a", "-pthread", "-ldl", "-o", "own", folder=folder)


def build_units(folder):
    aarch64_units.write_kernels(folder)
    call("kernelc", "build", "units.kdl", *(f"--target=host?isa={level}" for level in aarch64_units.LEVELS), folder=folder)
    call(TOOLS[0], "-std=c++20", "-O1", *INCLUDES, "units.orch.cpp", ROOT / "tests/run/aarch64_units_caller.cpp",
         "units.aarch64.o", "units.host.o", "runtime/lib/libkdl_runtime.a", "-pthread", "-ldl", "-o", "units", folder=folder)


def entry_faults(folder):
    """Runs the caller of entries.py in the emulator, which checks overlapping memory and the caller's
    floating-point state."""
    call("kernelc", "build", ROOT / "tests/run/entries.kdl", "--target", "host?isa=armv8-a", "--emit", "header,c,orch-c,obj", "-o", "entries",
         "--path-prefix-map", f"{entries.HERE}=.", folder=folder)
    for source in (ROOT / "tests/run/entries_caller.c", "entries/entries.c", "entries/entries.orch.c"):
        call(TOOLS[0][:-3] + "gcc", "-std=c11", "-O1", "-ffp-contract=off", "-I", ROOT / "include", "-I", "entries", "-c", source, "-o",
             f"entries/{pathlib.Path(source).name}.obj", folder=folder)
    call(TOOLS[0], *folder.glob("entries/*.obj"), "entries/entries.aarch64.o", "entries/entries.host.o", "runtime/lib/libkdl_runtime.a",
         "-pthread", "-ldl", "-o", "entries/caller", folder=folder)
    return entries.difference("entries", entries.call(*EMULATOR, "entries/caller", folder=folder),
                              entries.OVERLAPS + entries.states("called", "queued", "program"))


def parameters(program):
    """Returns (name, direction or None, element type, sizes) for each parameter except the cores."""
    text = re.search(rf"program {program}\((.*)\) {{", PROGRAMS)[1]
    found = re.findall(r"(\w+): (?:(in|out|inout) )?(\w+)(?:\[(.*?)\])?", text)
    return [(name, direction, element, sizes.split(", ")) for name, direction, element, sizes in found if name != "cores"]


def drawn(random, element, shape):
    if element == "f16":  # any finite number except zero
        return (random.integers(0, 2, shape) << 15 | random.integers(1, 31 << 10, shape)).astype(np.uint16).view(np.float16)
    values = random.standard_normal(shape).astype(np.float32)
    if element == "f32":
        return values
    return (values.view(np.uint32) >> 16).astype(np.uint16).view(DTYPES[element])


def differences(program, shape, cores, random, folder):
    sizes = dict(zip({"line": "N", "claims": "N", "negated": "N", "half": "N", "soft": "RC"}.get(program, "MNK"), shape))
    words = ["kernelc", "run", "kernels.kdl", "--program", program, "--target", "reference", PIPES, *TILES,
             "--arg", f"cores={cores}"]
    for name, size in sizes.items():
        words += ["--set", f"{name}={size}"]
    outputs = []
    for name, direction, element, extents in parameters(program):
        if not direction:
            words += ["--arg", f"{name}=2.5"]
            continue
        values = drawn(random, element, [sizes[extent] for extent in extents])
        if direction != "out":
            np.save(folder / f"{name}.npy", values)
            values.tofile(folder / f"{name}.in")
            words += ["--arg", f"{name}=@{name}.npy"]
        if direction != "in":
            outputs.append(name)
            words += ["--out", f"{name}=@{name}.out.npy"]
    call(*words, folder=folder)
    runs = {where: [EMULATOR[0], *words, *EMULATOR[1:], "./program"] for where, words in OTHERS.items()} | {" here": ["./own"]}
    different = []
    for where, run in runs.items():
        call(*run, program, cores, *shape, *[1] * (3 - len(shape)), folder=folder)
        if any(np.load(folder / f"{name}.out.npy").tobytes() != (folder / f"{name}.out").read_bytes()
               for name in outputs):
            different.append(f"{program} {shape} on {cores} cores{where} differs from the interpreter")
    return different


def main():
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        print(f"not installed: {', '.join(missing)}")
        sys.exit(77)
    shapes_of_units, seed = map(int, ([word for word in sys.argv[1:] if word != "--all"] + ["1", "1"])[:2])
    random = np.random.default_rng(seed)
    random_of_today = py_random.Random(seeds.of_today())
    problems, checks = [], 0
    with tempfile.TemporaryDirectory(prefix="aarch64-") as name:
        folder = pathlib.Path(name)
        build(folder)
        for program, shapes in SHAPES.items():
            for shape in shapes:
                checks += 1 + len(OTHERS)
                problems += differences(program, shape, int(random.choice([1, 3])), random, folder)
        checks += 1
        problems += entry_faults(folder)
        faults = aarch64_units.faults(folder, EMULATOR, shapes_of_units, random)
        checks += len(faults)
        problems += filter(None, faults)
        first = random_of_today.randrange(1 << 32)
        checks += DRAWN
        problems += filter(None, (emulated.check_in(folder / "runtime", folder, first + n) for n in range(DRAWN)))
    print("\n".join(problems))
    print(f"{checks - len(problems)} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
