#!/usr/bin/env python3
"""Predicts the times of first.py's rows without a GPU, by simulating one multiprocessor that executes their
machine code (model/README.md), and compares the times that were measured.

    figures.py [PATTERN]             rows whose names contain the pattern, with the kernelc on PATH
    figures.py --kit FOLDER ...      PTX that pack.sh or an earlier call has written to FOLDER
    figures.py --blocks 132,1056 ... these numbers of blocks, instead of those that were measured
    figures.py --best ...            only the number of blocks with which the row was fastest
    figures.py --fit ...             as many blocks as fit on the GPU at once, which is what the runtime launches
"""

import argparse
import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import time

import launches
import measured
import rows
from model.costs import Machine
from model.multiprocessor import Multiprocessor
from model.warps import traces_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT_BLOCKS = 1056
# Rows that take too long at full size: (sizes of two smaller launches, waves of blocks in each and in the full one).
SMALLER = {"attention bf16 D 128 2 x 16 x 8192": ([(1, 2, 8192), (1, 4, 8192)], 1, 2, 16),
           "attention bf16 D 128 32 x 32 x 1024": ([(1, 16, 1024), (1, 32, 1024)], 1, 2, 62)}
LEAST, MOST = 0.8, 1.25  # the interval of a prediction: most measured times are in it (NOTES.md)


@dataclasses.dataclass
class Prediction:
    """A row with a number of blocks; counts are those of one multiprocessor."""
    what: str
    blocks: int
    ms: float
    registers: int
    shared_bytes: int
    resident: int
    warps: int
    instructions: float       # of all lanes, for each element
    bytes_over_least: float
    in_flight: float          # bytes, on average
    barriers: float           # for each element
    seconds: float


def elements_of(row):
    """Returns the number of multiply-adds of a product, or of elements of the first tensor."""
    if row.operations:
        return row.operations / 2
    shape = next(iter(row.tensors.values()))[1]
    total = 1
    for extent in shape:
        total *= extent
    return total


def least_bytes(row):
    return sum(launches.BYTES[type_] * max(1, int(launches.numpy.prod(shape))) for type_, shape, _ in row.tensors.values())


def simulate(machine, program, row, blocks):
    begin = time.process_time()
    launch = launches.launch(program, row, blocks)
    resident = machine.occupancy(program.registers, launch.shared_bytes, launch.threads)
    traces, warps = traces_of(program.code, launch, list(range(0, blocks, machine.processors)))
    timed = Multiprocessor(program.code, launch, machine, traces, warps, resident)
    cycles = timed.run()
    memory, share = timed.memory, elements_of(row) / machine.processors
    moved = 32 * (memory.from_memory + memory.to_memory) * machine.processors
    return Prediction(row.what, blocks, 1e3 * (cycles / machine.clock + machine.launch_s), program.registers, launch.shared_bytes, resident,
                      warps, 32 * timed.issued / share, moved / least_bytes(row), memory.byte_cycles / max(1, cycles),
                      timed.barrier_count / share, time.process_time() - begin)


def predict(machine, folder, row, blocks):
    program = launches.load(folder, row)
    smaller = next((each for what, each in SMALLER.items() if row.what.startswith(what)), None)
    if not smaller:
        return simulate(machine, program, row, blocks)
    shapes, first, second, full = smaller
    key = "attention_sm_80" if row.level == "sm_80" else "attention"
    some = [simulate(machine, program, rows.attention(launches.Arrays(), row.level, *shape), blocks) for shape in shapes]
    slope = (some[1].ms - some[0].ms) / (second - first)
    return dataclasses.replace(some[1], what=row.what, ms=some[1].ms + slope * (full - second), seconds=some[0].seconds + some[1].seconds)


def build(folder):
    subprocess.run([ROOT / "tests/gpu/pack.sh", "--numbers", folder], check=True, stdout=subprocess.DEVNULL)


def fitting_blocks(machine, folder, row):
    program = launches.load(folder, row)
    launch = launches.launch(program, row, DEFAULT_BLOCKS)
    return machine.processors * machine.occupancy(program.registers, launch.shared_bytes, launch.threads)


def chosen_blocks(machine, folder, row, options):
    if options.fit:
        return [fitting_blocks(machine, folder, row)]
    if options.blocks:
        return [int(each) for each in options.blocks.split(",")]
    times = measured.times_of(row.what)
    if options.best and times:
        return [min(times, key=times.get)]
    return list(times) or [DEFAULT_BLOCKS]


def rank_correlation(pairs):
    """Returns Spearman's correlation of two lists."""
    def ranks(values):
        order = sorted(range(len(values)), key=values.__getitem__)
        return {at: rank for rank, at in enumerate(order)}
    first, second = ranks([a for a, _ in pairs]), ranks([b for _, b in pairs])
    count = len(pairs)
    return 1 - 6 * sum((first[at] - second[at]) ** 2 for at in range(count)) / (count * (count ** 2 - 1)) if count > 1 else 1.0


def line_of(found, ms):
    said = f"{ms:.3f} | {found.ms / ms:.2f}" if ms else "not measured |"
    return (f"| {found.what} | {found.blocks} | {found.registers} | {found.shared_bytes} | {found.resident} x {found.warps} | "
            f"{found.instructions:.3g} | {found.bytes_over_least:.2f} | {found.in_flight:.0f} | {found.barriers:.2g} | "
            f"{found.ms * LEAST:.3f} to {found.ms * MOST:.3f} | {found.ms:.3f} | {said} |")


def report(pairs):
    """Prints how well predictions agree with measurements: of all rows, and of those that were not fitted."""
    best = {}
    for found, ms in pairs:
        if ms and (found.what not in best or ms < best[found.what][1]):
            best[found.what] = found.ms, ms
    groups = {"all rows": list(best.values()), "rows that were not fitted": [each for what, each in best.items() if what not in measured.FITTED]}
    for name, each in groups.items():
        if len(each) > 2:
            near = sum(0.8 <= predicted / ms <= 1.2 for predicted, ms in each)
            print(f"{name}: rank correlation {rank_correlation(each):.3f}, {near} of {len(each)} within 20 %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--kit", type=pathlib.Path)
    parser.add_argument("--blocks")
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    machine, pairs = Machine(), []
    print("| row | blocks | registers | shared memory | blocks x warps | instructions per element | bytes over least | bytes in flight | "
          "barriers per element | not measured, ms | middle | measured, ms | ratio |")
    print("|" + "---|" * 13)
    with tempfile.TemporaryDirectory() as folder:
        kit = options.kit or pathlib.Path(folder)
        if not options.kit:
            build(kit)
        for make in rows.makers(launches.Arrays(), rows.FULL):
            row = make()
            if options.pattern not in row.what:
                continue
            for blocks in chosen_blocks(machine, kit, row, options):
                found = predict(machine, kit, row, blocks)
                pairs.append((found, measured.times_of(row.what).get(blocks)))
                print(line_of(*pairs[-1]), flush=True)
    report(pairs)


if __name__ == "__main__":
    sys.exit(main())
