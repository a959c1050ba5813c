"""What instructions cost: the pipes that they use, and the machine's constants. Times are cycles."""

import dataclasses

PIPES = ["fma", "alu", "special", "half", "uniform"]
# Cycles for which an instruction of a warp occupies a pipe of its scheduler.
FMA, ALU, SPECIAL, HALF, UNIFORM = range(5)
USES = {"FFMA": (FMA, 1), "FADD": (FMA, 1), "FMUL": (FMA, 1), "IMAD": (FMA, 2), "HFMA2": (FMA, 1), "HADD2": (FMA, 1), "HMUL2": (FMA, 1),
        "MUFU": (SPECIAL, 8), "I2F": (SPECIAL, 8), "F2I": (SPECIAL, 8), "FLO": (SPECIAL, 8), "POPC": (SPECIAL, 8), "FRND": (SPECIAL, 8),
        "F2F": (SPECIAL, 8), "BREV": (SPECIAL, 8), "F2FP": (ALU, 2)}
FREE = {"NOP", "BRA", "EXIT", "BSSY", "BSYNC", "WARPSYNC", "CALL", "RET", "BREAK", "YIELD", "LDC", "ULDC", "S2R", "S2UR", "CS2R", "BAR",
        "SYNCS", "LDG", "STG", "LDS", "STS", "LDSM", "LDGSTS", "SHFL", "UTMALDG", "HGMMA", "IGMMA", "QGMMA", "HMMA", "IMMA", "DEPBAR",
        "LDGDEPBAR", "WARPGROUP", "FENCE", "MEMBAR", "ELECT", "VOTE", "VOTEU", "MOV", "LDL", "STL", "ATOMG", "RED", "B2R"}
# Cycles until the result of an instruction that holds a counter, but accesses no memory.
RESULT = {"MUFU": 22, "I2F": 22, "F2I": 22, "S2R": 25, "S2UR": 25, "LDC": 30, "ULDC": 12, "R2UR": 12, "SHFL": 24, "VOTE": 12, "VOTEU": 12,
          "HMMA": 33, "IMMA": 33, "UPOPC": 14, "FLO": 22, "POPC": 22}
OTHER_RESULT = 15


def use_of(ins):
    """Returns (pipe, cycles), or None for an instruction that only takes an issue slot."""
    if ins.name in FREE:
        return None
    if ins.name.startswith("U") or ins.name == "R2UR":
        return UNIFORM, 2
    return USES.get(ins.name, (ALU, 2))


def matrix_cycles(ins, machine):
    """Returns for how long a matrix instruction occupies its scheduler's matrix unit."""
    if ins.name in ("HMMA", "IMMA"):
        return machine.warp_matrix_cycles
    _, columns, terms = (int(n) for n in ins.dots[0].split("x"))
    wide = {"HGMMA": 16, "IGMMA": 32, "QGMMA": 32}[ins.name]
    return columns / 2 * terms / wide / machine.matrix_share


@dataclasses.dataclass
class Machine:
    """A GPU. Rates are for one multiprocessor and cycle. Those that were fitted are listed in NOTES.md."""
    name: str = "H200"
    processors: int = 132
    clock: float = 1.83e9
    bytes_s: float = 4.2e12          # torch's copy
    registers: int = 65536
    warps: int = 64
    shared_bytes: int = 228 << 10
    first_level_bytes: int = 256 << 10
    second_level_bytes: int = 38 << 20  # of 50: each half has copies of lines of the other
    memory_latency: float = 620
    disorder: float = 0.5            # of requests to memory; see MemorySystem.latency
    second_level_latency: float = 300
    first_level_latency: float = 33
    shared_latency: float = 30
    second_level_rate: float = 64    # bytes
    partial_store: float = 2.5       # cycles for a sector of which some bytes are written
    store_queue: float = 1500        # cycles by which stores may lag behind
    barrier: float = 20
    tile_latency: float = 250        # of a copy of a tile, besides memory's
    matrix_share: float = 0.7        # of the matrix unit's rate
    warp_matrix_cycles: float = 6.5
    block_start: float = 700
    launch_s: float = 2.5e-6

    @property
    def memory_rate(self):
        return self.bytes_s / self.processors / self.clock

    def occupancy(self, registers, near, threads):
        """Returns the number of concurrent blocks, computed as in cuda_occupancy.h."""
        warps = -(-threads // 32)
        of_warp = -(-32 * registers // 256) * 256
        limits = [4 * (16384 // of_warp) // warps, self.shared_bytes // (-(-(near + 1024) // 128) * 128), 32, self.warps // warps]
        return min(limits)
