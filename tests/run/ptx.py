#!/usr/bin/env python3
"""Tests kernels as PTX with NVIDIA's assembler, ptxas, which must accept the text for each GPU level.

The text must have what the lowered KIR has: the same barriers, no calls, and floats rounded one by one as in
the source. Products must be blocked in registers.

Files of the samples, the library and tests/run/families are tested in a random order until the time limit is
reached. `--all` tests all of them, and `--report` prints registers, spills and shared memory of each kernel.
"""

import argparse
import collections
import dataclasses
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/gpu")]
import ptxas  # noqa: E402
from ptx_kernel import read_needs  # noqa: E402
from shared import checks, seeds  # noqa: E402

LEVELS = ["sm_80", "sm_90a"]
# Bytes of shared memory that a block may have: on all GPUs from this level on, or only on this level.
MOST_SHARED = {"sm_80": 99 << 10, "sm_90a": 227 << 10}
FAMILIES = "tests/run/families"
# Values of the kernels' generics that have no default.
DEFINES = {
    f"{FAMILIES}/attention.kdl": "D=64 G=2",
    f"{FAMILIES}/convolution.kdl": "S=2 P=1 KW=3 DL=1 KH=3 K=3 CG=4 OG=4",
    f"{FAMILIES}/convolution_more.kdl": "D=2 KH=3 KW=3 S=2 P=1 K=3",
    f"{FAMILIES}/positions.kdl": "K=4",
    f"{FAMILIES}/softmax_norm.kdl": "S=4",
    f"{FAMILIES}/solve.kdl": "N=16",
    "tests/run/byte_products.kdl": "A=f8e4m3 B=f8e5m2",
    "tests/run/turn_products.kdl": "T=bf16 D=64",
}
# Further values of generics. The kernels must keep their variables in registers with these values,
# too.
MORE_DEFINES = {"tests/run/turn_products.kdl": ["T=bf16 D=128"]}
# Products as in the samples: the minimum number of multiply-adds in the loop over terms, in total and for
# each read of shared memory.
PRODUCTS = {"samples/matmul/matmul.kdl": ("kdl_matmul_f32_", 64, 16), "samples/digits/digits.kdl": ("kdl_hidden_layer_", 64, 16)}
# Products with matrix instructions: the minimum number of these instructions in the loop over terms, in total
# and for each read of shared memory.
MATRIX_PRODUCTS = {"samples/matmul/matmul.kdl": [("kdl_matmul_bf16_", 64, 3), ("kdl_matmul_f16_", 64, 3)]}
# Like MATRIX_PRODUCTS, for factors that threads convert while copying them to shared memory. Warps multiply
# separately.
ROUNDED_PRODUCTS = {"tests/run/tf32_products.kdl": [("kdl_rows_", 128, 3), ("kdl_columns_", 128, 3)]}
# Products with warpgroup instructions: the number of tile copies for both factors before the blocks, in the
# loop, and after it for the next block. If the columns of b are contiguous, b has four panels.
GROUP_PRODUCTS = {
    "samples/matmul/matmul.kdl": [("kdl_matmul_bf16_", 15), ("kdl_matmul_f16_", 15)],
    "tests/run/byte_products.kdl": [("kdl_signed_", 6), ("kdl_unsigned_", 6), ("kdl_mixed_", 6)],
}
# Like GROUP_PRODUCTS, but 128 terms at a time are summed separately, and threads add these sums to the
# result.
APART_PRODUCTS = {"tests/run/byte_products.kdl": [("kdl_floats_", 6)]}
GROUP_LEVEL = "sm_90a"
# Like GROUP_PRODUCTS, in loops that do more than multiply: the number of instructions of each product, and
# the number of tile copies, which is 0 for factors that threads convert.
TURN_PRODUCTS = {
    "tests/run/tf32_products.kdl": [("kdl_rows_", [4], 0), ("kdl_columns_", [4], 0)],
    "tests/run/turn_products.kdl": [("kdl_attention_bf16_", [4, 4], 4), ("kdl_causal_", [4, 4], 4), ("kdl_weighed_", [4], 4)],
}
# Kernels that keep all of their values in registers.
UNSPILLED = {
    "samples/matmul/matmul.kdl": ["matmul_"],
    "samples/matmul_residual/matmul_residual.kdl": ["matmul_residual_"],
    "samples/softmax/softmax.kdl": ["softmax_"],
    f"{FAMILIES}/softmax_norm.kdl": ["layer_norm_", "log_softmax_", "softmax_columns_"],
    f"{FAMILIES}/attention.kdl": ["attention_", "causal_grouped_"],
    "tests/run/turn_products.kdl": ["attention_bf16_", "causal_", "weighed_"],
}
# Bytes that ptxas spills, by file, kernel and level. All other kernels must not spill, apart from those of the library, which are
# made for all types. If you improve one, lower its number or remove its row; --all names rows that are no longer needed.
SPILLED = {
    ("samples/moe/moe.kdl", "down", "sm_80"): 72,
    ("samples/ranks/heat.kdl", "rows", "sm_90a"): 64,
    ("tests/run/tf32_products.kdl", "columns", "sm_90a"): 8,
    ("tests/run/turn_products.kdl T=bf16 D=128", "attention_bf16", "sm_80"): 16,
    (f"{FAMILIES}/convolution_more.kdl", "volume", "sm_80"): 16,
    (f"{FAMILIES}/image.kdl", "blur_columns", "sm_80"): 32,
    (f"{FAMILIES}/image.kdl", "blur_columns", "sm_90a"): 24,
    (f"{FAMILIES}/matmul.kdl", "int8_scaled", "sm_80"): 24,
    (f"{FAMILIES}/reductions.kdl", "over_blocks", "sm_80"): 96,
    (f"{FAMILIES}/reductions.kdl", "over_two", "sm_80"): 80,
}
JUMP = re.compile(r"^(?:\$\w+:|\s*(?:@!?%p\d+\s+)?bra.*)$", re.MULTILINE)
ENTRY = re.compile(r"^\.visible \.entry (\w+)\(\n(.*?)^\}", re.MULTILINE | re.DOTALL)
KERNEL = re.compile(r"^kernel @\"?([^\s\"]+)\"? .*?\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
USED = re.compile(r"Function properties for (\w+)\n\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\n"
                  r"ptxas info\s+: Used (\d+) registers(?:.*?, (\d+) bytes smem)?")
# The numbers that a kernel provides for launches, among them the bytes of dynamic shared memory.
BROUGHT = re.compile(r"^\.visible \.global \.align 8 \.b8 (\w+)_launch\[\d+\] = ", re.MULTILINE)
# Instructions that would round differently from the source: a product and a sum that the assembler may fuse,
# flushing, approximations. The only exceptions are the reciprocals at the start of divisions that are written out
# (codegen/ptx/divide.cpp and quotients.cpp).
LOOSE = re.compile(r"^\s*(?:@\S+ )?((?:add|sub|mul|mad|div|sqrt|fma)\.(?!rn)(?:\w+\.)*f(?:32|64)\b|(?!rcp\.approx\.ftz\.f32)\w+\.(?:\w+\.)*(?:ftz|approx)\b\S*)",
                   re.MULTILINE)
# Instructions for which the assembler would call a function.
LONG_DIVISION = re.compile(r"^\s*(?:@\S+ )?((?:div|rem)\.[us]64\b.*)", re.MULTILINE)


@dataclasses.dataclass
class Used:
    """A kernel's resources, as reported by ptxas."""
    file: str
    level: str
    kernel: str
    registers: int
    spilled: int
    stack: int
    shared: int


def files():
    found = [*ROOT.glob("samples/*/*.kdl"), *ROOT.glob("stdlib/*.kdl"), *(ROOT / FAMILIES).glob("*.kdl"),
             ROOT / "tests/run/elementary.kdl", ROOT / "tests/run/byte_products.kdl",
             ROOT / "tests/run/turn_products.kdl", ROOT / "tests/run/tf32_products.kdl", *ROOT.glob("tests/golden/run/*.kdl")]
    return sorted(f.relative_to(ROOT).as_posix() for f in found)


def kernelc(*arguments):
    return subprocess.run(["kernelc", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=300)


def built(file, level, folder, values):
    """Returns the PTX, the PTX without LLVM's passes, and the KIR that both are made from. Returns None if
    the file is not a valid source of kernels, like some golden files."""
    defines = [f"-D{define}" for define in values.split()]
    target = ["--target", f"cuda?isa={level}"]
    done = kernelc("build", file, "-o", folder, "--emit", "ptx", *target, *defines)
    if done.returncode == 1 and file.startswith("tests/golden"):
        return None
    bare = kernelc("build", file, "-o", folder / "bare", "--emit", "ptx", "-O0", *target, *defines)
    text = next(folder.glob("*.ptx"), None)
    literal = next(folder.glob("bare/*.ptx"), None)
    lowered = kernelc("build", file, "--emit", "ir", "--stop-after=canonicalize-loops", *target, *defines)
    good = text is not None and literal is not None and lowered.returncode == 0
    checks.expect(f"{file} is made for {level}", good, done.stderr + bare.stderr + lowered.stderr)
    return (text, literal, lowered.stdout) if good else None


def plain(name):
    """Returns a kernel's name with `_` in place of characters that a function name cannot contain."""
    return re.sub(r"\W", "_", name)


def ops(body):
    return collections.Counter(word for line in body.splitlines() for word in re.findall(r"^\s*(?:\S+ = )?(\w+)", line))


def count_barriers(body):
    return len(re.findall(r"^\s*bar\.", body, re.MULTILINE))


def check_text(file, level, text, literal, lowered):
    """Compares each kernel of the text with the KIR of its name. LLVM may remove loops that are never
    entered, with their contents."""
    literal = {entry: count_barriers(body) for entry, body in ENTRY.findall(literal)}
    checks.expect(f"{file} calls nothing ({level})", not re.search(r"\bcall|\.extern (?!\.shared)|\.func", text), text[:200])
    sources = {plain(name): ops(body) for name, body in KERNEL.findall(lowered)}
    for entry, body in ENTRY.findall(text):
        what = f"{entry} of {file} ({level})"
        source = sources[re.fullmatch(r"kdl_(.*)_\d+", entry)[1]]
        barriers = [source["barrier"], literal[entry], count_barriers(body)]
        checks.expect(f"{what} has its barriers: {barriers}", barriers[0] == barriers[1] >= barriers[2])
        # An fma_flush consists of two fma, like a reciprocal that quotients share, and each of these quotients.
        shared = len(re.findall(r"\b(?:rcp\.approx\.ftz|div\.rn)\.f32", body))
        most = source["fma"] + 2 * source["fma_flush"] + 2 * shared
        fused = len(re.findall(r"\bfma\.rn\.f(?:32|64)", body))
        checks.expect(f"{what} fuses no more than the source: {fused}, not {most}", fused <= most)
        loose = LOOSE.findall(body)
        checks.expect(f"{what} rounds each operation", not loose, "\n".join(loose[:5]))
        long = LONG_DIVISION.findall(body)
        checks.expect(f"{what} has its divisions written out", not long, "\n".join(long[:5]))


def assembled(file, level, text):
    done = subprocess.run([ptxas.path(), f"-arch={level}", "-v", "-o", "/dev/null", text], capture_output=True, text=True, timeout=600)
    said = done.stdout + done.stderr
    checks.expect(f"ptxas takes {file} for {level}", done.returncode == 0 and "C75" not in said, said)
    brought = {name: max(need.bytes for need in read_needs(text.read_text(), name)[0]) for name in BROUGHT.findall(text.read_text())}
    for name, shared in brought.items():
        checks.expect(f"{name} of {file} takes what a block may have: {shared} ({level})", 0 <= shared <= MOST_SHARED[level])
    used = [Used(file, level, name, int(registers), int(stores) + int(loads), int(stack), int(shared or 0) + brought.get(name, 0))
            for name, stack, stores, loads, registers, shared in USED.findall(said)]
    checks.expect(f"ptxas says what {file} takes ({level})", len(used) == len(ENTRY.findall(text.read_text())), said)
    return used


def check_product(file, level, text, used):
    """Checks the loop over a product's terms. It is the branch-free run of instructions with the most
    multiply-adds per read."""
    name, least, a_read = PRODUCTS[file]
    (body,) = [body for entry, body in ENTRY.findall(text) if entry.startswith(name)]
    runs = [(len(re.findall(r"\bfma\.rn\.f32", run)), len(re.findall(r"\bld\.shared", run))) for run in JUMP.split(body)]
    steps, reads = max((run for run in runs if run[1]), key=lambda run: run[0] / run[1])
    checks.expect(f"{name} of {file} does {steps} steps for {reads} reads ({level})", steps >= least and steps >= a_read * reads)
    (row,) = [row for row in used if row.kernel.startswith(name)]
    checks.expect(f"{name} of {file} has its block in registers ({level})", row.spilled == row.stack == 0, str(row))


def check_mma(file, level, text, used, product):
    """Checks the loop over matrix instructions. It is the branch-free run that contains most of them. No
    access in it may test which memory an address belongs to."""
    name, least, a_read = product
    (body,) = [body for entry, body in ENTRY.findall(text) if entry.startswith(name)]
    run = max(JUMP.split(body), key=lambda run: len(re.findall(r"\bmma\.sync", run)))
    steps, reads = len(re.findall(r"\bmma\.sync", run)), len(re.findall(r"\bldmatrix\.sync", run))
    others = re.findall(r"\b(?:ld|st)\.(?!param)\S*", run)
    checks.expect(f"{name} of {file} does {steps} steps for {reads} reads ({level})", steps >= least and steps >= a_read * reads > 0)
    checks.expect(f"{name} of {file} touches nothing else there ({level})", not others, "\n".join(others[:5]))
    (row,) = [row for row in used if row.kernel.startswith(name)]
    checks.expect(f"{name} of {file} has its block in registers ({level})", row.spilled == row.stack == 0, str(row))
    return body


def check_matrix_product(file, level, text, used, product):
    """Checks that the factors of a product are loaded with copies that bypass the registers."""
    name = product[0]
    body = check_mma(file, level, text, used, product)
    copies = len(re.findall(r"\bcp\.async\.cg\.shared\.global", body))
    checks.expect(f"{name} of {file} copies past its registers ({level})", copies > 0, body[:500])
    # Each iteration waits for its own group of copies, and has one barrier after this wait.
    waits = re.findall(r"\bcp\.async\.(wait_\w+\s+\d+;\s+bar\.sync|wait_all)", body)
    checks.expect(f"{name} of {file} awaits a turn's copies alone ({level})", len(waits) == 1 and "wait_group" in waits[0], str(waits))


def check_group_product(file, level, text, used, product):
    """Checks that the loop over terms has four instructions in one group and does not access memory itself.
    Tile copies use tensor maps, and mbarriers signal their completion."""
    name, panels = product
    (body,) = [body for entry, body in ENTRY.findall(text) if entry.startswith(name)]
    run = max(JUMP.split(body), key=lambda run: len(re.findall(r"\bwgmma\.mma_async", run)))
    count = {what: len(re.findall(pattern, run)) for what, pattern in [
        ("steps", r"\bwgmma\.mma_async\.sync\.aligned\.m64n256k(?:16\.f32|32\.[fs]32)"), ("fences", r"\bwgmma\.fence"),
        ("groups", r"\bwgmma\.commit_group"), ("waits", r"\bwgmma\.wait_group\.sync\.aligned 1;"),
        ("gates", r"\bmbarrier\.try_wait\.parity")]}
    expected = {"steps": 4, "fences": 1, "groups": 1, "waits": 1, "gates": 1}
    checks.expect(f"{name} of {file} has a turn's steps: {count} ({level})", count == expected)
    others = re.findall(r"\b(?:ld|st)\.(?!param)\S*|\bcp\.async\.(?!bulk)\S*|\bldmatrix\S*", run)
    checks.expect(f"{name} of {file} touches nothing else there ({level})", not others, "\n".join(others[:5]))
    boxes = len(re.findall(r"\bcp\.async\.bulk\.tensor\.2d\.shared::cluster\.global\.mbarrier::complete_tx::bytes", body))
    checks.expect(f"{name} of {file} copies boxes: {boxes} ({level})", boxes == panels)
    checks.expect(f"{name} of {file} has gates' bytes announced ({level})", body.count("mbarrier.arrive.expect_tx") == 6)
    # The next block's tile copies are started before this block's result is stored.
    (after,) = re.findall(r"\bwgmma\.wait_group\.sync\.aligned 0;.*", body, re.DOTALL)
    checks.expect(f"{name} of {file} begins the next block's boxes first ({level})",
                  0 < after.find("cp.async.bulk.tensor") < after.find("st.global"))
    checks.expect(f"{name} of {file} waits for all steps after ({level})", body.count("wgmma.wait_group.sync.aligned 0;") == 1)
    (row,) = [row for row in used if row.kernel.startswith(name)]
    checks.expect(f"{name} of {file} has its block in registers ({level})", row.spilled == row.stack == 0, str(row))


def check_apart_product(file, level, text, used, product):
    """Checks that the matrix instructions of an iteration form one group. Each thread must wait for this
    group before it adds its 64 sums to its registers."""
    name, panels = product
    (body,) = [body for entry, body in ENTRY.findall(text) if entry.startswith(name)]
    run = max(JUMP.split(body), key=lambda run: len(re.findall(r"\bwgmma\.mma_async", run)))
    count = {what: len(re.findall(pattern, run)) for what, pattern in [
        ("steps", r"\bwgmma\.mma_async\.sync\.aligned\.m64n128k32\.f32"), ("groups", r"\bwgmma\.commit_group"),
        ("waits", r"\bwgmma\.wait_group\.sync\.aligned 0;"), ("memory", r"\b(?:ld|st)\.(?!param)\S*")]}
    expected = {"steps": 4, "groups": 1, "waits": 1, "memory": 0}
    checks.expect(f"{name} of {file} has a turn's steps: {count} ({level})", count == expected)
    sums = len(re.findall(r"\badd\.rn\.f32", body))
    checks.expect(f"{name} of {file} adds a turn's sums: {sums} ({level})", sums == 64)
    boxes = len(re.findall(r"\bcp\.async\.bulk\.tensor\.2d\.shared::cluster\.global\.mbarrier::complete_tx::bytes", body))
    checks.expect(f"{name} of {file} copies boxes: {boxes} ({level})", boxes == panels)
    (row,) = [row for row in used if row.kernel.startswith(name)]
    checks.expect(f"{name} of {file} has its block in registers ({level})", row.spilled == row.stack == 0, str(row))


def check_turn_products(file, level, text, product):
    """Checks that each product in the loop is one group of instructions, from one fence to one wait, that
    does not access memory itself."""
    name, steps, panels = product
    (body,) = [body for entry, body in ENTRY.findall(text) if entry.startswith(name)]
    runs = [run for run in JUMP.split(body) if "wgmma.mma_async" in run]
    groups = [group for run in runs for group in re.findall(r"wgmma\.fence.*?wgmma\.wait_group\.sync\.aligned 0;", run, re.DOTALL)]
    found = [len(re.findall(r"\bwgmma\.mma_async", group)) for group in groups]
    checks.expect(f"{name} of {file} has a turn's steps: {found} ({level})", found == steps == [run.count("wgmma.mma_async") for run in runs])
    others = [other for group in groups for other in re.findall(r"\b(?:ld|st)\.(?!param)\S*|\bcp\.async\S*|\bldmatrix\S*|\bbar\.\S*", group)]
    checks.expect(f"{name} of {file} touches nothing among its steps ({level})", not others, "\n".join(others[:5]))
    checks.expect(f"{name} of {file} shows stores to shared memory alone ({level})", not re.search(r"fence\.proxy\.async(?!\.shared::cta)", body))
    checks.expect(f"{name} of {file} has no other unit ({level})", not re.search(r"\bmma\.sync|\bldmatrix", body))
    boxes = len(re.findall(r"\bcp\.async\.bulk\.tensor\.\dd\.shared::cluster\.global\.mbarrier::complete_tx::bytes", body))
    checks.expect(f"{name} of {file} copies boxes: {boxes} ({level})", boxes == panels)


needed = set()  # rows of SPILLED


def check_spills(file, level, used, values=""):
    """Checks the list of spills. In the list, the file's name is followed by the values of generics if these
    are not those of DEFINES."""
    if file.startswith(("tests/golden", "stdlib")):
        return
    for row in used:
        kernel = re.fullmatch(r"kdl_(.*)_\d+", row.kernel)[1]
        key = (f"{file} {values}".rstrip(), kernel, level)
        most = SPILLED.get(key, 0)
        checks.expect(f"{row.kernel} of {file} spills {row.spilled} bytes, {most} are known ({level})", row.spilled <= most, str(row))
        if row.spilled:
            needed.add(key)


def check_registers(file, level, used):
    for name in UNSPILLED.get(file, []):
        rows = [row for row in used if row.kernel.startswith(f"kdl_{name}")]
        checks.expect(f"{file} has {name}*", rows)
        for row in rows:
            kernel = re.fullmatch(r"kdl_(.*)_\d+", row.kernel)[1]
            kept = (file, kernel, level) in SPILLED or row.spilled == row.stack == 0
            checks.expect(f"{row.kernel} of {file} keeps all in registers ({level})", kept, str(row))


def check_more(file, level, values):
    with tempfile.TemporaryDirectory() as folder:
        text, _, _ = built(file, level, pathlib.Path(folder), values)
        used = assembled(file, level, text)
        check_spills(file, level, used, values)
    return [dataclasses.replace(row, file=f"{file} {values}") for row in used]


def check(file, level):
    with tempfile.TemporaryDirectory() as folder:
        made = built(file, level, pathlib.Path(folder), DEFINES.get(file, ""))
        if made is None:
            return []
        text, literal, lowered = made
        check_text(file, level, text.read_text(), literal.read_text(), lowered)
        used = assembled(file, level, text)
        check_registers(file, level, used)
        check_spills(file, level, used)
        if file in PRODUCTS:
            check_product(file, level, text.read_text(), used)
        if level == GROUP_LEVEL and file in GROUP_PRODUCTS:
            for product in GROUP_PRODUCTS[file]:
                check_group_product(file, level, text.read_text(), used, product)
            for product in APART_PRODUCTS.get(file, []):
                check_apart_product(file, level, text.read_text(), used, product)
            return used
        for product in TURN_PRODUCTS.get(file, []) if level == GROUP_LEVEL else []:
            check_turn_products(file, level, text.read_text(), product)
        for product in ROUNDED_PRODUCTS.get(file, []) if level != GROUP_LEVEL else []:
            check_mma(file, level, text.read_text(), used, product)
        for product in MATRIX_PRODUCTS.get(file, []):
            check_matrix_product(file, level, text.read_text(), used, product)
        return used


def report(used):
    print(f"{'kernel':<34} {'level':<7} {'registers':>9} {'spilled':>8} {'stack':>6} {'shared':>7}  file")
    for row in sorted(used, key=lambda r: (r.file, r.kernel, r.level)):
        print(f"{row.kernel:<34} {row.level:<7} {row.registers:>9} {row.spilled:>8} {row.stack:>6} {row.shared:>7}  {row.file}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="a large number tries all")
    parser.add_argument("--seed", default=seeds.of_today(), help="of the order of files (default: the day's)")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("only", nargs="*", help="files, all of them by default")
    options = parser.parse_args()
    drawn = [(file, level) for file in options.only or files() for level in LEVELS]
    if not options.only:
        random.Random(options.seed).shuffle(drawn)
        drawn.sort(key=lambda row: row[0] not in PRODUCTS and row[0] not in UNSPILLED)
    begin = time.monotonic()
    used = []
    for number, (file, level) in enumerate(drawn):
        if not (options.all or options.only or number < 4) and time.monotonic() - begin > options.seconds:
            break
        used += check(file, level)
        for values in MORE_DEFINES.get(file, []):
            used += check_more(file, level, values)
    if options.all:
        checks.expect("all rows of SPILLED are needed", needed >= SPILLED.keys(), str(SPILLED.keys() - needed))
    if options.report:
        report(used)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
