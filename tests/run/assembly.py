#!/usr/bin/env python3
"""Checks a matmul's innermost loop on each processor level: all accumulators must stay in registers.

The loop contains one full-width fused multiply-add, or dot-product instruction, for each vector of the
register block, and does not access the stack. Dot-product instructions find their factors in the right
layout: nothing is interleaved or moved in the loop. f16 operations that are rounded one by one use f16
instructions on levels that have them, without conversions. On processors without masks for narrow elements,
the elements at an edge are handled in a loop, not with a branch for each element. A convolution handles three
terms together. Their rows share elements, which are loaded again, and the accumulators must stay in registers
there, too. Integers of 8 and 16 bits use the instructions for them. The address of a row is computed once
for all loops over its elements, and where a block begins once for all of its rows. A reduction of rows has one loop for single rows, also where several rows may be processed together."""

import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

KERNEL = """
export kernel matmul<BM: int = auto, BN: int = auto, BK: int = auto>(a: in A[M, K], b: in B[K, N], c: out C[M, N]) {
    spmd for i in M by BM, j in N by BN {
        var acc: C[i, j] = 0;
        for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}
"""
MOVES = r"v(perm|punpck|shuf|insert|extract|pins|zip)|\bmov\tv"


@dataclasses.dataclass
class Level:
    isa: str
    arch: str
    fma: str  # pattern of a full-width instruction
    count: int
    stack: str
    types: tuple = ("f32", "f32", "f32")


LEVELS = [
    Level("x86-64-v4", "x86-64", r"vfmadd\d+ps\t.*%zmm\d+$", 28, r"\(%rsp"),
    Level("x86-64-v3", "x86-64", r"vfmadd\d+ps\t.*%ymm\d+$", 4 * 12, r"\(%rsp"),  # unrolled
    Level("armv8-a", "aarch64", r"fmla\tv\d+\.4s,", 28, r"\[sp"),
    Level("x86-64-v4-bf16", "x86-64", r"vdpbf16ps\t.*%zmm\d+$", 28, r"\(%rsp", ("bf16", "bf16", "f32")),
    Level("x86-64-v4-vnni", "x86-64", r"vpdpbusd\t.*%zmm\d+$", 28, r"\(%rsp", ("i8", "i8", "i32")),
    Level("x86-64-v4-vnni", "x86-64", r"vpdpwssd\t.*%zmm\d+$", 28, r"\(%rsp", ("i16", "i16", "i32")),
    Level("x86-64-v3-vnni", "x86-64", r"vpdpbusd\t.*%ymm\d+$", 12, r"\(%rsp", ("i8", "i8", "i32")),
    Level("armv8-a-dotprod", "aarch64", r"sdot\tv\d+\.4s,", 24, r"\[sp", ("i8", "i8", "i32")),
    Level("armv8-a-dotprod", "aarch64", r"udot\tv\d+\.4s,", 24, r"\[sp", ("u8", "u8", "u32")),
    Level("armv8-a-i8mm", "aarch64", r"smmla\tv\d+\.4s,", 24, r"\[sp", ("i8", "i8", "i32")),
    Level("armv8-a-i8mm", "aarch64", r"ummla\tv\d+\.4s,", 24, r"\[sp", ("u8", "u8", "u32")),
    Level("armv8-a-i8mm", "aarch64", r"usmmla\tv\d+\.4s,", 24, r"\[sp", ("u8", "i8", "i32")),
    Level("armv8-a-bf16", "aarch64", r"bfmmla\tv\d+\.4s,", 24, r"\[sp", ("bf16", "bf16", "f32")),
    Level("armv8-a-sve256", "aarch64", r"sdot\tz\d+\.s,", 24, r"\[sp", ("i8", "i8", "i32")),
    Level("armv8-a-sve256", "aarch64", r"bfdot\tz\d+\.s,", 24, r"\[sp", ("bf16", "bf16", "f32")),
]


HALVES = """
export kernel halves(x: in f16[N], y: in f16[N], s: out f16[N], d: out f16[N], p: out f16[N], q: out f16[N], r: out f16[N]) {
    spmd for i in N by 64 { s[i] = x[i] + y[i]; d[i] = x[i] - y[i]; p[i] = x[i] * y[i]; q[i] = x[i] / y[i]; r[i] = sqrt(x[i]); }
}
"""
OF_HALVES = [
    ("armv8-a-fp16", "aarch64", [rf"\tf{name}\tv\d+\.4h," for name in ("add", "sub", "mul", "div", "sqrt")], r"\tfcvt"),
    ("x86-64-v4-fp16", "x86-64", [rf"\tv{name}ph\t" for name in ("add", "sub", "mul", "div", "sqrt")], r"\tvcvt"),
]


def of_halves(folder):
    """Yields what is wrong with operations on f16 on each level."""
    (folder / "halves.kdl").write_text(HALVES)
    for isa, arch, wanted, unwanted in OF_HALVES:
        subprocess.run(["kernelc", "build", folder / "halves.kdl", "--emit", "asm", "--target", f"host?isa={isa}", "-o", folder],
                       check=True, timeout=300)
        text = (folder / f"halves.{arch}.s").read_text()
        missing = [name for name in wanted if not re.search(name, text)]
        if missing or re.search(unwanted, text):
            yield f"{isa}: {missing} missing, or there is {unwanted}"


def innermost_loops(lines):
    """Yields the lines of each innermost loop: from a label to the branch back to it."""
    labels, loops = {}, []
    for number, line in enumerate(lines):
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = number
        elif (branch := re.match(r"\t(?:j\w+|b\.\w+|b|cbn?z|tbn?z)\t.*?(\.L\w+)$", line)) and branch[1] in labels:
            loops.append((labels[branch[1]], number))
    return [lines[begin:end + 1] for begin, end in loops
            if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in loops)]


def check(level, folder):
    text = KERNEL
    for word, by in zip("ABC", level.types):
        text = re.sub(rf"\b{word}\b", by, text)
    (folder / "matmul.kdl").write_text(text)
    subprocess.run(["kernelc", "build", folder / "matmul.kdl", "--emit", "asm", "--target", f"host?isa={level.isa}",
                    "-o", folder], check=True, timeout=300)
    lines = (folder / f"matmul.{level.arch}.s").read_text().splitlines()
    loops = [[line for line in loop if not line.startswith((".", "\t."))] for loop in innermost_loops(lines)]
    busiest = max(loops, key=lambda loop: sum(bool(re.search(level.fma, line)) for line in loop))
    found = sum(bool(re.search(level.fma, line)) for line in busiest)
    spills = [line for line in busiest if re.search(level.stack, line)]
    moves = [line for line in busiest if re.search(MOVES, line)]
    if found == level.count and not spills and not moves:
        return []
    listing = "\n".join(busiest)
    return [f"{level.isa}: {found} of {level.fma}, expected {level.count}; on the stack: {spills}; moved: {moves}\n{listing}"]


def check_edges(folder):
    """Checks that 16-bit lanes at an edge are not moved one by one with a branch for each."""
    (folder / "edges.kdl").write_text(KERNEL.replace("A[", "f16[").replace("B[", "f16[").replace("C[i", "f32[i").replace("C[", "f16[")
                                      .replace("= acc", "= acc as f16"))
    subprocess.run(["kernelc", "build", folder / "edges.kdl", "--emit", "asm", "--target", "host?isa=x86-64-v3", "-o", folder],
                   check=True, timeout=300)
    found = re.findall(r"v?p(?:extr|insr)w\t", (folder / "edges.x86-64.s").read_text())
    return [f"x86-64-v3: {len(found)} lanes of edges are moved one by one"] if found else []


WINDOWS = """
export kernel windows(x: in f32[C, H, W], w: in f32[O, C, 3, 3], y: out f32[O, H - 2, W - 2]) {
    range r in 3;
    range s in 3;
    spmd for o in O by 96, i in 0..H - 2 by 12, j in 0..W - 2 by 64 {
        var acc: f32[o, i, j] = 0;
        for c in C by 16 { acc += dot(w[o, c, r, s], x[c, i + r, j + s] over c, r, s); }
        y[o, i, j] = acc;
    }
}
"""


def check_windows(folder):
    """Checks vectors of channels and vectors of columns: the busiest loop has 36 FMAs, each of two vectors,
    one of which is a splat factor."""
    (folder / "windows.kdl").write_text(WINDOWS)
    subprocess.run(["kernelc", "build", folder / "windows.kdl", "--emit", "asm", "--target", "host?isa=x86-64-v3", "-o", folder],
                   check=True, timeout=300)
    loops = innermost_loops((folder / "windows.x86-64.s").read_text().splitlines())
    counts = [[sum(bool(re.search(pattern, line)) for line in loop) for pattern in (r"vfmadd\d+ps\t.*%ymm", r"vbroadcastss", r"\(%rsp")]
              for loop in loops]
    busiest = [count for count in counts if count[0] == max(fmas for fmas, _, _ in counts)]
    return [] if busiest == [[36, 18, 0]] * 2 else [f"x86-64-v3: FMAs, spread factors and spills of windows' loops: {busiest}"]


BYTES = pathlib.Path(__file__).resolve().parents[1] / "bench/twins/bytes.kdl"
OF_BYTES = ["vpavgb", "vpaddusb", "vpaddsw", "vpackssdw", "vpmulhuw", "vpsadbw", "vpmaddwd"]


def check_bytes(folder):
    """Checks that integers are computed by the instructions that average, saturate, divide by a constant, and add
    several terms to one lane."""
    subprocess.run(["kernelc", "build", BYTES, "--emit", "asm", "--target", "host?isa=x86-64-v3", "-o", folder],
                   check=True, timeout=300)
    text = (folder / "bytes.x86-64.s").read_text()
    missing = [name for name in OF_BYTES if not re.search(rf"\t{name}\t.*%ymm", text)]
    return [f"x86-64-v3: {missing} missing"] if missing else []


ROWS = """
export kernel doubled<B: int = auto>(x: in strided f32[N..], y: out strided f32[N..]) {
    spmd for n in N.. by B { y[n] = x[n] * 2.0; }
}
"""
DIMS = 6  # of a tensor with any strides


def check_rows(folder):
    """A row of a tensor with any strides has an index in each dimension, which is multiplied by each tensor's stride once, however
    many loops the row has."""
    (folder / "rows.kdl").write_text(ROWS)
    subprocess.run(["kernelc", "build", folder / "rows.kdl", "--emit", "llvm", "--target", "host?isa=x86-64-v3", "-o", folder],
                   check=True, timeout=300)
    function = re.search(r"^define [^\n]*strided.*?^}", (folder / "rows.x86-64.ll").read_text(), re.DOTALL | re.MULTILINE)[0]
    products = re.findall(r"= mul (?:nsw |nuw )*i64 (%\S+), (%[xy]\.stride\d*)$", function, re.MULTILINE)
    problems = []
    if len(products) < 2 * (DIMS - 1) or len(products) != len(set(products)):
        problems.append(f"x86-64-v3: products of indices and strides: {sorted(products)}")
    return problems


NEIGHBORS = """
export kernel neighbors(x: in f32[M, N], y: out f32[M, N]) {
    spmd for i in M by 32, j in N by 256 {
        y[i, j] = 0.25 * (x[i - 1, j else 0.0] + x[i + 1, j else 0.0] + x[i, j - 1 else 0.0] + x[i, j + 1 else 0.0]);
    }
}
"""


def check_remainders(folder):
    """The number of a block is divided once. The remainder says where its columns begin, and is not computed again for each row."""
    (folder / "neighbors.kdl").write_text(NEIGHBORS)
    subprocess.run(["kernelc", "build", folder / "neighbors.kdl", "--emit", "llvm", "--target", "host?isa=x86-64-v4", "-o", folder],
                   check=True, timeout=300)
    found = re.findall(r"= urem i64 %\S+, %\S+$", (folder / "neighbors.x86-64.ll").read_text(), re.MULTILINE)
    return [] if len(found) == 1 else [f"x86-64-v4: remainders of block numbers: {found}"]


SUMS = """
export kernel reduced(x: in f32[R, C], y: out f32[R]) {{
    spmd for r in R by 8 {{
        range c in C max 4096;
        y[r] = {0}(x[r, c] over c);
    }}
}}
"""


def check_single_rows(folder):
    """Rows of x are reduced four at a time if x does not fit into the last cache, and otherwise one by one. A maximum is computed
    with 32 accumulators at first, and exactly, with 64, if there was a NaN or a zero. Each of these ways exists once."""
    problems = []
    for reduction, expected in (("sum", [64, 64]), ("max", [64, 32, 64])):
        (folder / "rows.kdl").write_text(SUMS.format(reduction))
        subprocess.run(["kernelc", "build", folder / "rows.kdl", "--emit", "ir", "--stop-after=expand-tiles",
                        "--target", "host?isa=x86-64-v3", "-o", folder], check=True, timeout=300)
        steps = [int(step) for step in re.findall(r" in 0 \.\. %and\.?\d* step (\d+) carry", (folder / "rows.kir").read_text())]
        if steps != expected:
            problems.append(f"x86-64-v3: loops of {reduction} over rows have steps {steps}, not {expected}")
    return problems


def main():
    with tempfile.TemporaryDirectory(prefix="assembly-") as name:
        folder = pathlib.Path(name)
        problems = [problem for level in LEVELS for problem in check(level, folder)]
        problems += [*of_halves(folder), *check_edges(folder), *check_windows(folder), *check_bytes(folder), *check_rows(folder),
                     *check_remainders(folder), *check_single_rows(folder)]
    print("\n".join(problems))
    print(f"{len(LEVELS) + len(OF_HALVES) + 7 - len(problems)} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
