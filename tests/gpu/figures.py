#!/usr/bin/env python3
"""Computes figures of the important kernels without a GPU: registers, memory, occupancy, machine code, and
the fraction of a machine's peak that these allow. The figures are copied into NOTES.md by hand, not by CI,
until measurements replace them.

The prediction ignores latency. It is the highest fraction of the peak that the counted instructions and bytes
allow if each execution pipe is busy whenever it has work (see `product` and `stream`).
"""

import collections
import dataclasses
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import ptxas  # noqa: E402


@dataclasses.dataclass
class Machine:
    """Rates of a multiprocessor, per cycle."""
    name: str
    level: str
    processors: int
    clock: float
    bytes_s: float
    matrix: int  # operations on bf16
    fma: int     # lanes of f32
    near: int    # bytes of shared memory for all blocks
    issues: int = 4
    registers: int = 65536
    warps: int = 64

    def occupancy(self, registers, near, workers):
        """Returns the number of concurrent blocks, computed as in cuda_occupancy.h."""
        warps = -(-workers // 32)
        of_warp = -(-32 * registers // 256) * 256
        limits = [4 * (16384 // of_warp) // warps, self.near // (-(-(near + 1024) // 128) * 128), 32, self.warps // warps]
        return min(limits)


MACHINES = [Machine("H200", "sm_90a", 132, 1.83e9, 4.8e12, 4096, 128, 228 << 10),
            Machine("A100 80 GB", "sm_80", 108, 1.41e9, 2.039e12, 2048, 64, 164 << 10)]


@dataclasses.dataclass
class Row:
    what: str
    file: str
    kernel: str
    defines: str
    model: str
    shape: tuple = (8192, 8192, 8192)  # M, K, N of a product


MEMORY = "tests/gpu/memory.kdl"
MATMUL = ("samples/matmul/matmul.kdl", "matmul_bf16", "", "product")
ROWS = [Row("matmul bf16, 8192 cubed", "samples/matmul/matmul.kdl", "matmul_bf16", "", "product"),
        Row("matmul f32, 8192 cubed", "samples/matmul/matmul.kdl", "matmul_f32", "", "product"),
        Row("matmul tf32, 8192 cubed", "tests/run/tf32_products.kdl", "rows", "", "product"),
        Row("matmul fp8, 8192 cubed", "tests/run/byte_products.kdl", "floats_f8e4m3_f8e5m2", "A=f8e4m3 B=f8e5m2", "product"),
        Row("attention bf16, D 128", "tests/run/turn_products.kdl", "attention_bf16", "D=128 T=bf16", "attention"),
        Row("softmax", "samples/softmax/softmax.kdl", "softmax", "", "stream"),
        Row("layer_norm", "tests/run/families/softmax_norm.kdl", "layer_norm", "S=4", "stream"),
        Row("copy", "tests/bench/kernels/elements.kdl", "copy", "", "stream"),
        *(Row(f"matmul bf16, {m} x {k} x {n}", *MATMUL, (m, k, n))
          for m, k, n in [(4096, 4096, 4096), (4095, 4088, 4104), (8192, 512, 8192), (16, 4096, 4096)]),
        Row("matmul f32, 4096 cubed", "samples/matmul/matmul.kdl", "matmul_f32", "", "product", (4096, 4096, 4096)),
        *(Row(f"matmul {what}, {m} x 4096 x 4096", "tests/run/byte_products.kdl", kernel, "A=f8e4m3 B=f8e5m2", "product", (m, 4096, 4096))
          for what, kernel in [("i8", "signed"), ("fp8", "floats_f8e4m3_f8e5m2")] for m in [200, 4096, 8192]),
        *(Row(kernel, MEMORY, kernel, "", "stream")
          for kernel in ["row_sum", "column_sum", "transpose", "matvec", "gather", "gelu", "jacobi", "copy_f32", "copy_bf16"])]
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_.]+)\s*(.*?);")
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


@dataclasses.dataclass
class Tile:
    """A product's tile: the extents of its blocks, the instruction of a step, the rate of this instruction
    relative to that for bf16 (0: f32 FMAs), and the bytes of an element."""
    rows: int
    columns: int
    terms: int
    step: str
    rate: float
    bytes: int


@dataclasses.dataclass
class Code:
    """A kernel's instructions as (name with its dots, operands), where its loops start and end, and its
    labels."""
    ops: list
    loops: list
    labels: dict

    def inner(self):
        return [(a, b) for a, b in self.loops if not any(a <= c and d <= b and (c, d) != (a, b) for c, d in self.loops)]

    def count(self, first, last, without=()):
        return collections.Counter(self.ops[i][0].split(".")[0] for i in range(first, last + 1)
                                   if not any(a <= i <= b for a, b in without))

    def guarded(self):
        """Returns the spans that handle single elements of incomplete blocks. These are the innermost spans
        in which the lanes of a warp diverge."""
        opens = [i for i, (name, _) in enumerate(self.ops) if name.split(".")[0] in ("BSSY", "BSYNC")]
        return [(a, b) for a, b in zip(opens, opens[1:])
                if self.ops[a][0].startswith("BSSY") and self.ops[b][0].startswith("BSYNC") and b - a < 100]

    def called(self):
        """Returns the spans that handle quotients of subnormal numbers, up to the branch before a call."""
        spans = []
        for at, (name, _) in enumerate(self.ops):
            if name.startswith("CALL"):
                branch = next(i for i in range(at, -1, -1) if self.ops[i][0] == "BRA")
                spans.append((branch + 1, self.labels[re.search(r"(\.L_\w+)", self.ops[branch][1])[1]] - 1))
        return spans

    def wide(self, loop):
        """Returns the kinds of 16-byte accesses in a loop."""
        return {name.split(".")[0] for name, _ in self.ops[loop[0]:loop[1] + 1]
                if name.split(".")[0] in ("LDG", "STG", "LDS", "STS") and "128" in name.split(".")}

    def streams(self):
        """Returns the loops over elements. If some loops move 16 bytes at once, only these loops and 16-byte
        accesses outside innermost loops count. The other loops replace them for unaligned rows, or reduce
        values across lanes. Of consecutive loops with the same accesses, only the loop that moves most
        counts, because the others handle its remainder."""
        inner = self.inner()
        loops = [loop for loop in inner if any(self.count(*loop)[op] for op in ("LDG", "STG", "LDS", "STS"))]
        alone = [run for run in runs_of(self) if not any(a <= run[1] and run[0] <= b for a, b in inner)]
        wide = [piece for piece in sorted(loops + alone) if self.wide(piece)]
        groups = [list(group) for _, group in itertools.groupby(wide, self.wide)]
        return [max(group, key=lambda piece: sum(self.moved(op, *piece) for op in self.wide(piece))) for group in groups] or loops

    def moved(self, name, first, last):
        """Returns how many bytes a thread moves with its instructions of one kind."""
        dots = [self.ops[i][0].split(".") for i in range(first, last + 1)]
        return sum(next((WIDTHS[d] for d in op[1:] if d in WIDTHS), 4) for op in dots if op[0] == name)


def read_code(text):
    ops, labels = [], {}
    for line in text.splitlines():
        if label := re.match(r"^(\.L_\w+):", line):
            labels[label[1]] = len(ops)
        elif found := INSTRUCTION.match(line):
            ops.append((found[1], found[2]))
    ends = {}
    for at, (name, operands) in enumerate(ops):
        target = re.search(r"(\.L_\w+)", operands) if name.startswith("BRA") else None
        if target and labels.get(target[1], at + 1) < at:
            ends[labels[target[1]]] = max(at, ends.get(labels[target[1]], 0))
    return Code(ops, sorted(ends.items()), labels)


def runs_of(code):
    """Returns the ranges of instructions between branches."""
    cuts = [-1, *(i for i, (op, _) in enumerate(code.ops) if op.split(".")[0] in ("BRA", "BSSY", "BSYNC", "EXIT", "CALL")), len(code.ops)]
    return [(a + 1, b - 1) for a, b in zip(cuts, cuts[1:]) if b - a > 1]


def straight_run(code, name):
    return max(runs_of(code), key=lambda run: (code.count(*run)[name], run[0] - run[1]))


def product(machine, code, workers, blocks, tile, shape):
    """Returns the fraction of time that the matrix engine is busy. It is limited by the engine itself, by
    instruction issue, by the code after a block's loop, and by incomplete waves of blocks. Memory also limits
    it; the estimate assumes that everything is read and written once."""
    m, k, n = shape
    unit = tile.rate * machine.matrix or 2 * machine.fma
    run = straight_run(code, tile.step)
    counts = code.count(*run)
    steps = tile.terms if tile.rate else counts[tile.step] // 64
    turn_unit = 2 * tile.rows * tile.columns * steps / unit
    moved = (tile.rows + tile.columns) * tile.terms
    brought = straight_run(code, "LDG")  # loads of factors that threads convert
    loads = (brought[1] - brought[0] + 1) * moved / workers / code.count(*brought)["LDG"] if tile.rate == 0.5 else 0
    sums = code.count(0, len(code.ops) - 1)["FADD"]  # additions of sums that are accumulated separately
    turn_issue = (sum(counts.values()) + loads + sums) * workers / 32 / machine.issues
    stored = straight_run(code, "STG")  # the stores of a whole block
    after = (stored[1] - stored[0] + 1) * workers / 32 / machine.issues
    turns = k / steps
    busy = turns * turn_unit / (turns * max(turn_unit, turn_issue) + after / max(1, blocks))
    tiles = m / tile.rows * n / tile.columns
    whole_tiles = -(-m // tile.rows) * -(-n // tile.columns)
    waves = tiles / machine.processors / blocks
    bytes_once = tile.bytes * (m * k + k * n) + (2 if tile.bytes == 2 else 4) * m * n
    at_once = unit * machine.clock * machine.processors * bytes_once / (2 * m * k * n)  # bytes per second
    share = 100 * min(busy * waves / -(-whole_tiles // (machine.processors * blocks)), machine.bytes_s / at_once)
    said = (f"{sum(counts.values()) + sums + loads:.0f} for {counts[tile.step]} {tile.step}, "
            f"{counts['LDS'] + counts['LDSM']} reads of shared memory; "
            f"after the loop {stored[1] - stored[0] + 1} for {code.count(*stored)['STG']} stores")
    return said, f"{moved * tile.bytes} per iteration", share


def attention(machine, code, workers, blocks, *_):
    """Returns the fraction of an iteration's time that the matrix engine or instruction issue takes,
    whichever is larger. Other blocks multiply while one block computes exponentials."""
    name = "HGMMA" if machine.level == "sm_90a" else "HMMA"
    loop = min((each for each in code.loops if code.count(*each)[name] == code.count(0, len(code.ops) - 1)[name]),
               key=lambda each: each[1] - each[0])
    inner = [each for each in code.loops if loop[0] <= each[0] and each[1] <= loop[1] and each != loop]
    fetched = [each for each in inner if code.count(*each)["LDG"] or code.count(*each)["UTMALDG"]]
    sums = [each for each in code.inner() if each in inner and each not in fetched and code.count(*each)["FADD"]]
    counts = code.count(*loop, without=[*fetched, *sums, *code.guarded()])
    issued = sum(counts.values()) + sum(64 / code.count(*each)["FADD"] * sum(code.count(*each).values()) for each in sums)
    unit = 2 * 2 * 128 * 64 * 128 / machine.matrix
    issue = issued * workers / 32 / machine.issues
    longest = max(unit, issue) if blocks > 1 else unit + issue
    said = f"{issued:.0f} per iteration, {counts[name]} {name}, {counts['FFMA'] + counts['FADD'] + counts['FMUL']} of f32"
    return said, f"{2 * 64 * 128 * 2} per iteration", 100 * unit / longest


def stream(machine, code, workers, blocks, *_):
    """Returns the fraction of the peak that the bytes in flight allow at a latency of 0.6 us, or that the
    issue slots for each f32 allow, over all loops together."""
    loops = code.streams()
    loads = [code.moved("LDG", *loop) for loop in loops if code.count(*loop)["LDG"]] or [code.moved("LDG", 0, len(code.ops) - 1)]
    under_way = max(loads) * workers * blocks
    wanted = machine.bytes_s / machine.processors * 0.6e-6
    def of_byte(loop):
        return sum(code.count(*loop, without=code.called()).values()) / max(code.moved(op, *loop) for op in ("LDG", "STG", "LDS", "STS"))
    slots = 4 * sum(of_byte(loop) for loop in loops)  # issue slots for each element
    rate = machine.issues * 32 * machine.clock * machine.processors / slots * 8  # bytes read and written
    share = 100 * min(1, under_way / wanted, rate / machine.bytes_s)
    return f"{slots:.0f} per element, over {len(loops)} loops", f"{max(loads)} per thread, {under_way} in flight", share


MODELS = {"product": product, "attention": attention, "stream": stream}
TILES = {("matmul_bf16", "sm_90a"): Tile(128, 256, 64, "HGMMA", 1, 2), ("matmul_bf16", "sm_80"): Tile(128, 128, 32, "HMMA", 1, 2),
         ("matmul_f32", "sm_90a"): Tile(128, 128, 16, "FFMA", 0, 4), ("matmul_f32", "sm_80"): Tile(128, 128, 16, "FFMA", 0, 4),
         ("rows", "sm_90a"): Tile(128, 128, 32, "HGMMA", 0.5, 4), ("rows", "sm_80"): Tile(128, 128, 32, "HMMA", 0.5, 4),
         ("floats_f8e4m3_f8e5m2", "sm_90a"): Tile(128, 128, 128, "QGMMA", 2, 1),
         ("signed", "sm_90a"): Tile(128, 256, 128, "IGMMA", 2, 1)}
USED = re.compile(r"Function properties for (\w+)\n\s+\d+ bytes stack frame, (\d+) bytes spill stores.*\n"
                  r"ptxas info\s+: Used (\d+) registers(?:.*?, (\d+) bytes smem)?")
BROUGHT = re.compile(r"\.b8 (\w+)_launch\[\d+\] = \{([\d, ]+)\};")


def figures(row, machine, folder):
    defines = [f"-D{define}" for define in row.defines.split()]
    subprocess.run(["kernelc", "build", row.file, "-o", folder, "--emit", "ptx", "--target", f"cuda?isa={machine.level}", *defines],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (text,) = folder.glob(f"*.{machine.level}.ptx")
    cubin = text.with_suffix(".cubin")
    said = subprocess.run([ptxas.path(), f"-arch={machine.level}", "-v", "-o", cubin, text], check=True, capture_output=True, text=True)
    used = {name: (int(registers), int(spilled), int(near or 0)) for name, spilled, registers, near in USED.findall(said.stdout + said.stderr)}
    (entry,) = [name for name in used if re.fullmatch(rf"kdl_{row.kernel}_\d+", name)]
    registers, spilled, near = used[entry]
    brought = {name: int.from_bytes(map(int, numbers.split(",")[:8]), "little") for name, numbers in BROUGHT.findall(text.read_text())}
    near += brought.get(entry, 0)
    body = re.search(rf"\.entry {entry}\(.*?^\}}", text.read_text(), re.DOTALL | re.MULTILINE)[0]
    workers = int(re.search(r"\.maxntid (\d+)", body)[1])
    machine_code = subprocess.run([ptxas.disassembler(), "-c", cubin], check=True, capture_output=True, text=True).stdout
    code = read_code(re.search(rf"^\.text\.{entry}:$(.*?)(?=^\.text\.|\Z)", machine_code, re.DOTALL | re.MULTILINE)[1])
    blocks = machine.occupancy(registers, near, workers)
    inner, moved, share = MODELS[row.model](machine, code, workers, blocks, TILES.get((row.kernel, machine.level)), row.shape)
    return [row.what, machine.name, f"{registers}, {spilled}", near, f"{blocks} x {workers // 32} of 64", moved, inner, f"{share:.0f} %"]


def main():
    print("| kernel | machine | registers, spilled | shared memory | blocks x warps | bytes | instructions | of the ceiling at most |")
    print("|---|---|---|---|---|---|---|---|")
    for row in ROWS:
        if sys.argv[1:] and not re.search(sys.argv[1], row.what):
            continue
        for machine in MACHINES:
            if row.model == "product" and (row.kernel, machine.level) not in TILES:
                continue
            with tempfile.TemporaryDirectory() as folder:
                print("| " + " | ".join(map(str, figures(row, machine, pathlib.Path(folder)))) + " |", flush=True)


if __name__ == "__main__":
    main()
