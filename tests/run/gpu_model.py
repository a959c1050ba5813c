#!/usr/bin/env python3
"""Tests the simulator of a GPU's multiprocessor (tests/gpu/model) with small kernels: it must execute loops of
diverging lanes exactly, count bank conflicts and sectors from addresses, and refuse unknown instructions."""

import collections
import pathlib
import subprocess
import sys
import tempfile

import numpy
from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/gpu")]
import launches  # noqa: E402
import ptxas  # noqa: E402
import rows  # noqa: E402
from model import binary  # noqa: E402
from model.costs import Machine  # noqa: E402
from model.machine_code import read_code  # noqa: E402
from model.memory import PLACE_BITS, Tensor  # noqa: E402
from model.multiprocessor import Multiprocessor  # noqa: E402
from model.operands import UnknownInstruction  # noqa: E402
from model.warps import Warps  # noqa: E402

THREADS = 64
HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry small(.param .u64 out, .param .u32 n) .maxntid 64 {
  .reg .pred %p<4>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<10>;
  .reg .f64 %fd<4>;
  .shared .align 16 .b8 near[16384];
  mov.u32 %r1, %tid.x;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r2, [n];
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
"""
# Lane l of each warp adds a number l + n times; the loop ends at a different time for each lane.
DIVERGING = HEAD + """
  and.b32 %r3, %r1, 31;
  add.u32 %r4, %r3, %r2;
  mov.u32 %r5, 0;
  mov.u32 %r6, 0;
again:
  ld.volatile.global.u32 %r7, [%rd3];
  mad.lo.u32 %r6, %r7, %r6, %r5;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, %r4;
  @%p1 bra again;
  mov.u32 %r8, near;
  mad.lo.u32 %r9, %r1, 4, %r8;
  st.shared.u32 [%r9], %r6;
  bar.sync 0;
  ld.shared.u32 %r10, [%r9];
  st.global.u32 [%rd3], %r10;
  ret;
}
"""
UNKNOWN = HEAD + """
  cvt.rn.f64.u32 %fd1, %r1;
  add.rn.f64 %fd2, %fd1, %fd1;
  st.global.f64 [%rd1], %fd2;
  ret;
}
"""
# The greatest of three unsigned numbers, and the least of them as signed numbers.
EXTREMES = HEAD + """
  mul.lo.u32 %r4, %r1, 0x9e3779b1;
  mul.lo.u32 %r5, %r1, 0x85ebca77;
  mul.lo.u32 %r6, %r1, 0xc2b2ae3d;
  max.u32 %r7, %r4, %r5;
  max.u32 %r7, %r7, %r6;
  min.s32 %r8, %r4, %r5;
  min.s32 %r8, %r8, %r6;
  mov.u32 %r9, near;
  mad.lo.u32 %r9, %r1, 8, %r9;
  st.shared.v2.u32 [%r9], {%r7, %r8};
  bar.sync 0;
  ld.shared.u32 %r10, [%r9];
  st.global.u32 [%rd3], %r10;
  ret;
}
"""
CONFLICTS = [(4, "", 1), (8, "", 2), (128, "", 32), (132, "", 1), (0, "", 1), (16, ".v4", 4), (32, ".v4", 8)]  # (bytes apart, width, cycles)


def conflicting():
    """Returns a kernel whose lanes read shared memory in all ways of CONFLICTS."""
    text = HEAD + "  mov.u32 %r8, near;\n  mov.u32 %r30, 0;\n  and.b32 %r3, %r1, 31;\n"
    for stride, width, _ in CONFLICTS:
        registers = "{%r20, %r21, %r22, %r23}" if width else "%r20"
        text += f"  mad.lo.u32 %r9, %r3, {stride}, %r8;\n  ld.volatile.shared{width}.u32 {registers}, [%r9];\n  add.u32 %r30, %r30, %r20;\n"
    return text + "  st.global.u32 [%rd3], %r30;\n  ret;\n}\n"


def execute(text, folder, n=3):
    (folder / "small.ptx").write_text(text)
    cubin = folder / "small.cubin"
    subprocess.run([ptxas.path(), "-arch=sm_90a", "-o", cubin, folder / "small.ptx"], check=True)
    listing = subprocess.run([ptxas.disassembler(), "-hex", "-c", cubin], check=True, capture_output=True, text=True).stdout
    code = read_code(listing, "small")
    start, places = binary.parameter_places(cubin, "small")
    words = numpy.zeros(launches.BANK_WORDS, numpy.uint32)
    words[(start + places[0][0]) // 4 + 1] = 1 << PLACE_BITS - 32
    words[(start + places[1][0]) // 4] = n
    launch = launches.Launch(words, [Tensor("out", 4 * THREADS, numpy.full(THREADS, 2, numpy.uint32))], {}, 16384, THREADS, 1)
    warps = Warps(code, launch, [0])
    return code, launch, warps, warps.run()


def accesses(code, trace, kind):
    """Returns what the instructions of a kind did, in their order."""
    found = []
    for number, log in trace:
        first, end = code.runs[number]
        logged = [ins.name for ins in code.instructions[first:end] if ins.name in {"LDG", "STG", "LDS", "STS"}]
        found += [each for name, each in zip(logged, log) if name == kind]
    return found


def sum_of_lane(count):
    total = 0
    for number in range(count):
        total = (2 * total + number) % 2 ** 32
    return total


def loops(folder):
    code, launch, warps, traces = execute(DIVERGING, folder)
    loads = [accesses(code, trace, "LDG") for trace in traces]
    times = [sum(access.bytes[warp] > 0 for access in each) for warp, each in enumerate(loads)]
    # ptxas unrolls the loop by 4: the last lane's 34 are 8 x 4 and 2, and other lanes end with a single one.
    checks.expect("a warp loads as often as its lanes need together", times == [8 * 4 + 2 + 1] * 2, str(times))
    lanes = sum(access.bytes[0] // 4 for access in loads[0])
    checks.expect("each lane loads as often as its loop runs", lanes == sum(lane + 3 for lane in range(32)), str(lanes))
    sums = warps.machine.shared.words[0x400 // 4:][:THREADS].tolist()
    wanted = [sum_of_lane(lane % 32 + 3) for lane in range(THREADS)]
    checks.expect("the lanes' sums are exact", sums == wanted, f"{sums}\n{wanted}")
    executed = sum(code.runs[number][1] - code.runs[number][0] for trace in traces for number, _ in trace)
    timed = Multiprocessor(code, launch, Machine(), list(enumerate(traces)), 2, 1)
    cycles = timed.run()
    checks.expect("each executed instruction is issued once", timed.issued == executed, f"{timed.issued} of {executed}")
    least = executed / 2 + Machine().second_level_latency
    checks.expect("the time is at least that of a warp's instructions and of the first load", least <= cycles, str(cycles))
    checks.expect("the block has one barrier", timed.barrier_count == 1, str(timed.barrier_count))


def extremes(folder):
    code, _, warps, _ = execute(EXTREMES, folder)
    numbers = numpy.outer(numpy.arange(THREADS, dtype=numpy.uint32), numpy.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], numpy.uint32))
    wanted = numpy.stack([numbers.max(1), numbers.view(numpy.int32).min(1).view(numpy.uint32)], 1).ravel()
    found = warps.machine.shared.words[0x400 // 4:][:2 * THREADS]
    checks.expect("the extremes of three numbers are exact", numpy.array_equal(found, wanted), f"{found}\n{wanted}")
    used = {ins.name for ins in code.instructions}
    checks.expect("one instruction compares three numbers", "VIMNMX3" in used, str(used))


def conflicts(folder):
    code, _, _, traces = execute(conflicting(), folder)
    found = [each[0] for each in accesses(code, traces[0], "LDS")]
    checks.expect("reads of shared memory take these cycles", found == [cycles for _, _, cycles in CONFLICTS], str(found))


def unknown(folder):
    try:
        execute(UNKNOWN, folder)
    except UnknownInstruction as refused:
        checks.expect("an unknown instruction is named", "F64" in str(refused) or "DADD" in str(refused), str(refused))
    else:
        checks.expect("an unknown instruction is refused", False)


def copies(folder):
    """A compiled copy must read and write each sector once."""
    source = folder / "memory.kdl"
    source.write_text("export kernel copy_f32<B: int = auto>(x: in f32[N], y: out f32[N]) { spmd for i in N by B { y[i] = x[i]; } }\n")
    subprocess.run(["kernelc", "build", source, "--emit", "ptx,header", "-o", folder / "sm_90a", "--target", "cuda?isa=sm_90a"],
                   check=True, stdout=subprocess.DEVNULL)
    count = 100_003
    row = rows.copy(launches.Arrays(), "f32", count)
    program = launches.load(folder, row)
    launch = launches.launch(program, row, 8)
    traces = Warps(program.code, launch, list(range(8))).run()
    for kind in ("LDG", "STG"):
        sectors = collections.Counter()
        for access in {id(each): each for trace in traces for each in accesses(program.code, trace, kind)}.values():
            for line, bits in zip(access.lines, access.sectors):
                sectors.update(4 * line + sector for sector in range(4) if bits >> sector & 1)
        checks.expect(f"{kind} touches each sector", len(sectors) == -(-count * 4 // 32), str(len(sectors)))
        checks.expect(f"{kind} touches hardly any sector twice", sum(sectors.values()) <= len(sectors) + 16, str(sum(sectors.values())))


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        loops(folder)
        extremes(folder)
        conflicts(folder)
        unknown(folder)
        copies(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
