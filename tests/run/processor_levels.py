#!/usr/bin/env python3
"""Checks that code for `host` contains every processor level, and that the runtime uses the best level that
the processor has, or the level that `isa` names.

The bits computed by processor_levels.kdl differ between levels if the compiler chooses its tile, and are the
same if the tile is given. This shows which code was run."""

import itertools
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).with_suffix(".kdl")
LEVELS = ["x86-64-v3", "x86-64-v4"]
V4_FLAGS = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}
UNIT_LEVEL = "x86-64-v4-bf16"
UNIT_FLAGS = V4_FLAGS | {"avx512_bf16", "avx512_vnni"}
PRODUCTS = """
export kernel products_TYPE<BM: int = auto, BN: int = auto, BK: int = auto>(
    a: in TYPE[M, K], b: in TYPE[K, N], c: out SUM[M, N])
{
    spmd for i in M by BM, j in N by BN {
        var acc: SUM[i, j] = 0;
        for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}
"""
PRODUCTS = "".join(PRODUCTS.replace("TYPE", a).replace("SUM", c)
                   for a, c in [("bf16", "f32"), ("f32", "f32"), ("i8", "i32"), ("i16", "i32")])
# A level for processors without FMA and f16 conversions, and such a processor.
OLD_LEVEL = "x86-64-v2"
OLD_PROCESSOR = "Nehalem"  # qemu's name
OLD_KERNEL = """
export kernel waves(x: in f16[N], y: in f32[N], z: in f64[N], w: out f16[N], s: out f64[N]) {
    spmd for i in N by 64 {
        w[i] = (exp(x[i] as f32) * sin(y[i]) + y[i]) as f16;
        s[i] = exp(z[i]) * z[i] + sigmoid(z[i]);
    }
}
"""
SIZES = "--set M=33 --set N=70 --set K=1000 --arg a=random:1 --arg b=random:2".split()
problems = []


def expect(holds, text):
    if not holds:
        problems.append(text)


def call(*words, folder, code=0):
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=300)
    expect(done.returncode == code, f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def result(command, target, folder):
    """Returns the bytes of c on a target, which must equal the reference's."""
    call(*command, *SIZES, "--target", target, "--verify", "--out", "c=@c.npy", folder=folder)
    return (folder / "c.npy").read_bytes() if (folder / "c.npy").exists() else b""


def check_objects(folder):
    call("kernelc", "build", SOURCE, "--emit", "obj,asm,shared,exe", "-o", ".", folder=folder)
    name = SOURCE.stem
    for file, symbol in itertools.product([f"{name}.x86-64.o", f"{name}.so", name], LEVELS):
        # Between the file's name and the kernel's name, there is a hash of the file's contents.
        found = re.search(rf"\b{name}\.[0-9a-f]+\.blocks\.{symbol}\b", call("nm", file, folder=folder))
        expect(found, f"{file} lacks {symbol}")
    text = (folder / f"{name}.x86-64.s").read_text()
    expect("%zmm" in text and "%ymm" in text, "the assembly is not of both levels")
    call("kernelc", "build", SOURCE, "--target", "host?isa=x86-64-v3", "-o", "one", folder=folder)
    expect("x86-64-v4" not in call("nm", f"one/{name}.x86-64.o", folder=folder), "a level that nobody asked for")


def check_choice(folder, has_v4):
    """Checks that `run`, which compiles only for the target, agrees with the program, which chooses among
    several levels."""
    program = [f"./{SOURCE.stem}"]
    run = ["kernelc", "run", SOURCE]
    best = LEVELS[-1] if has_v4 else LEVELS[0]
    bits = {level: result(run, f"host?isa={level}", folder) for level in LEVELS if has_v4 or level == LEVELS[0]}
    expect(len(set(bits.values())) == len(bits), "the levels' bits do not tell them apart")
    for command, kind in itertools.product([program, run], ["host", "debug"]):
        expect(result(command, kind, folder) == bits[best], f"{command[0]} on {kind} does not run {best}")
        for level, expected in bits.items():
            spec = f"{kind}?isa={level}"
            expect(result(command, spec, folder) == expected, f"{command[0]} on {spec} does not run {level}")
    expect(result(run, "reference", folder) == bits[best], "the reference has other tiles than the host")
    if not has_v4:
        refused = call(*program, *SIZES, "--target", "host?isa=x86-64-v4", folder=folder, code=3)
        expect("this processor does not support x86-64-v4" in refused, refused)
    given = {level: result([*run, "-D", "BK=64"], f"host?isa={level}", folder) for level in bits}
    expect(len(set(given.values())) == 1, "with tiles given, the levels differ")


def check_unit(folder, flags):
    """Checks a level that adds an instruction for products. Kernels with such products must have code for the
    level, with the same bits as on the levels without the instruction. Integer results are checked by
    units.py."""
    (folder / "products.kdl").write_text(PRODUCTS)
    call("kernelc", "build", "products.kdl", "--emit", "obj,asm", "-o", ".", folder=folder)
    symbols = call("nm", "products.x86-64.o", folder=folder)
    for level, kind in itertools.product(["x86-64-v3-vnni", "x86-64-v4-vnni", UNIT_LEVEL], ["bf16", "f32", "i8", "i16"]):
        wanted = kind == "bf16" if level == UNIT_LEVEL else kind in ("i8", "i16")
        expect((f"products_{kind}.{level}" in symbols) == wanted, f"code of {kind} for {level}: {not wanted}")
    text = (folder / "products.x86-64.s").read_text()
    for instruction in ["vdpbf16ps", "vpdpbusd", "vpdpwssd", "vpmaddwd"]:
        expect(instruction in text, f"{instruction} is not there")
    levels = ["x86-64-v3"] + ["x86-64-v4"] * (V4_FLAGS <= flags) + [UNIT_LEVEL] * (UNIT_FLAGS <= flags)
    run = ["kernelc", "run", "products.kdl", "--kernel", "products_bf16"]
    bits = {result(run, f"host?isa={level}", folder) for level in levels}
    expect(len(bits) == 1, "products of bf16 differ from level to level")


def check_old(folder):
    """Checks that the level that `host` omits gives the same bits, here and on a processor that has no other
    level."""
    (folder / "waves.kdl").write_text(OLD_KERNEL)
    sizes = "--set N=1003 --arg x=random:1 --arg y=random:2 --arg z=random:3".split()
    outputs = ["--out", "w=@w.npy", "--out", "s=@s.npy"]

    def bits(*command):
        call(*command, *sizes, *outputs, folder=folder)
        return [(folder / name).read_bytes() for name in ("w.npy", "s.npy") if (folder / name).exists()]

    for options, has in [(["--target", "host"], False), (["--target", "host", "--target", f"host?isa={OLD_LEVEL}"], True)]:
        call("kernelc", "build", "waves.kdl", *options, "--emit", "obj,exe", "-o", ".", folder=folder)
        expect((OLD_LEVEL in call("nm", "waves.x86-64.o", folder=folder)) == has, f"{options}: code for {OLD_LEVEL}: {not has}")
        if shutil.which("qemu-x86_64") is None:
            print("there is no qemu-x86_64: no processor of the lowest level ran")
        elif has:
            expect(bits("qemu-x86_64", "-cpu", OLD_PROCESSOR, "./waves") == bits("kernelc", "run", "waves.kdl"), "qemu has other bits")
        else:
            refused = call("qemu-x86_64", "-cpu", OLD_PROCESSOR, "./waves", *sizes, folder=folder, code=3)
            expect("this processor lacks avx2" in refused and "avx512" not in refused, refused)
    wanted = bits("kernelc", "run", "waves.kdl", "--target", "host?isa=x86-64-v3")
    for level in "03":
        old = bits("kernelc", "run", "waves.kdl", "-O", level, "--target", f"host?isa={OLD_LEVEL}", "--verify")
        expect(old == wanted, f"-O{level} for {OLD_LEVEL} has other bits")
    run = ["kernelc", "run", "products.kdl", "-D", "BM=8", "-D", "BN=32", "-D", "BK=64"]
    for kernel in ["products_bf16", "products_f32", "products_i16"]:
        both = {result([*run, "--kernel", kernel], f"host?isa={level}", folder) for level in ("x86-64-v3", OLD_LEVEL)}
        expect(len(both) == 1, f"{kernel} differs on {OLD_LEVEL}")


def main():
    if platform.machine() != "x86_64":
        print("levels of x86-64 only")
        sys.exit(77)
    flags = next(line for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("flags")).split()
    with tempfile.TemporaryDirectory(prefix="levels-") as name:
        check_objects(pathlib.Path(name))
        check_choice(pathlib.Path(name), V4_FLAGS <= set(flags))
        check_unit(pathlib.Path(name), set(flags))
        check_old(pathlib.Path(name))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
