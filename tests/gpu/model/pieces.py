"""Divides straight runs into pieces: some instructions that only compute, and at most one at the end that uses
something that warps share. The simulated multiprocessor issues a piece at once, which is fast and changes
little, since the schedulers issue the instructions of other warps in between."""

import dataclasses

from .costs import OTHER_RESULT, PIPES, RESULT, matrix_cycles, use_of
from .machine_code import NO_COUNTER

LONGEST = 16
(COMPUTE, LOAD, STORE, SHARED, COPY, CLOSE, AWAIT_COPIES, MATRIX, AWAIT_MATRIX, BARRIER, SYNCS, TILE, WARP_MATRIX) = range(13)
KINDS = {"LDG": LOAD, "STG": STORE, "LDS": SHARED, "STS": SHARED, "LDSM": SHARED, "LDL": SHARED, "STL": SHARED, "LDGSTS": COPY,
         "LDGDEPBAR": CLOSE, "DEPBAR": AWAIT_COPIES, "HGMMA": MATRIX, "IGMMA": MATRIX, "QGMMA": MATRIX, "WARPGROUP": AWAIT_MATRIX,
         "BAR": BARRIER, "SYNCS": SYNCS, "UTMALDG": TILE, "HMMA": WARP_MATRIX, "IMMA": WARP_MATRIX, "SHFL": SHARED}
LOGGED = {"LDG", "STG", "LDS", "STS", "LDSM", "LDGSTS", "LDL", "STL", "SYNCS", "UTMALDG", "ATOMG", "RED"}


@dataclasses.dataclass
class Piece:
    waits: tuple = ()     # counters that must be free
    slots: int = 0        # instructions
    before: int = 0       # cycles from the first to the last instruction, from their stalls
    after: int = 1        # the last instruction's stall
    uses: tuple = ()      # (pipe, cycles)
    kind: int = COMPUTE
    write: int = NO_COUNTER
    read: int = NO_COUNTER
    log: int = -1         # the number of the access in the run's log
    cycles: float = 0     # of a matrix instruction; until the result of a computation
    closes: bool = False  # the end of a group of matrix instructions
    count: int = 0        # of groups that may be under way


def pieces_of(code, number, machine):
    first, end = code.runs[number]
    found, piece, logged = [], Piece(), 0
    used = [0] * len(PIPES)

    def finish():
        nonlocal piece, used
        if piece.slots:
            piece.uses = tuple((pipe, cycles) for pipe, cycles in enumerate(used) if cycles)
            found.append(piece)
        piece, used = Piece(), [0] * len(PIPES)

    for ins in code.instructions[first:end]:
        if ins.waits or piece.slots >= LONGEST:
            finish()
        if not piece.slots:
            piece.waits = tuple(ins.counters_waited_for())
        else:
            piece.before += piece.after
        piece.slots += 1
        piece.after = max(1, ins.stall)
        if use := use_of(ins):
            used[use[0]] += use[1]
        kind = KINDS.get(ins.name, COMPUTE)
        if ins.name == "WARPGROUP" and "DEPBAR" not in ins.dots:
            kind = COMPUTE
        if ins.name in LOGGED:
            piece.log, logged = logged, logged + 1
        if kind != COMPUTE or ins.write != NO_COUNTER or ins.read != NO_COUNTER:
            fill(piece, ins, kind, machine)
            finish()
    finish()
    return found


def fill(piece, ins, kind, machine):
    piece.kind, piece.write, piece.read = kind, ins.write, ins.read
    if kind in (MATRIX, WARP_MATRIX):
        piece.cycles = matrix_cycles(ins, machine)
        piece.closes = any(each.startswith("gsb") for each in ins.operands)
    elif kind in (AWAIT_COPIES, AWAIT_MATRIX):
        piece.count = int(ins.operands[1], 0)
    elif kind == COMPUTE:
        piece.cycles = RESULT.get(ins.name, OTHER_RESULT)
