"""Tests products of narrow types on the aarch64 levels that have instructions for them. They run in an
emulator on random shapes, plain and with transposed operands. Results are compared with NumPy's. Results for
bf16 on levels with BFDOT or BFMMLA are compared with those of bf16_dot.py."""

import itertools
import re
import subprocess

import numpy as np

import units
from shared import bf16_dot, seeds

SCALABLE = "armv8-a-sve256"
TERMS_OF = {"armv8-a-bf16": 4, SCALABLE: 2}  # number of terms in one bf16 instruction
LEVELS = ["armv8-a", "armv8-a-dotprod", "armv8-a-i8mm", *TERMS_OF]
BF16 = "bf16 bf16 f32"
BYTES = seeds.one_in(2, ["i8 i8 i32", "u8 u8 u32", "u8 i8 i32", "i8 u8 i32"])
LEVELS_OF = dict.fromkeys(BYTES, LEVELS) | {BF16: [*TERMS_OF]}
LACKING = "cortex-a57"  # a processor of the emulator that has none of these instructions
CPUS = {SCALABLE: "max,sve256=on"}  # the emulator's default vectors are longer
PROGRAM = """
export program PAIR(a: in A[M, K], b: in B[K, N], at: in A[K, M], bt: in B[N, K], c: out C[M, N], d: out C[M, N], e: out C[M, N],
                    cores: i64) {
    spmd(core_num = cores) products_PAIR(a, b, at, bt, c, d, e);
}
"""


def write_kernels(folder):
    """Writes units.kdl and returns a row for each of its programs."""
    text, rows = "", ""
    for pair in LEVELS_OF:
        types = pair.split()
        kernel = (units.KERNEL + PROGRAM).replace("products", "products_PAIR", 1).replace("export kernel", "kernel")
        for word, by in zip("ABC", types):
            kernel = re.sub(rf"\b{word}\b", by, kernel)
        text += kernel.replace("PAIR", "_".join(types[:2]))
        rows += f"PROGRAM({', '.join(types)})\n"
    (folder / "units.kdl").write_text(text)
    (folder / "programs.inc").write_text(rows)


def drawn(types, level, random, m, n, k):
    """Generates the factors. Returns them with a function that checks the bytes of their
    product."""
    if types == BF16.split():
        a, b = bf16_dot.drawn(random, (m, k)), bf16_dot.drawn(random, (k, n))
        wanted = bf16_dot.product(a, b, TERMS_OF[level])
        return a, b, lambda found: bf16_dot.same(found, wanted)
    a, b = units.drawn(random, units.TYPES[types[0]], (m, k)), units.drawn(random, units.TYPES[types[1]], (k, n))
    product = (a.astype(np.int64) @ b.astype(np.int64)).astype(units.TYPES[types[2]]).tobytes()
    return a, b, lambda found: found == product


def fault(folder, emulator, types, level, random):
    """Returns what is wrong with the products of one random shape, or nothing."""
    m, n, k = (int(random.choice(units.SIZES)) for _ in range(3))
    a, b, is_product = drawn(types, level, random, m, n, k)
    for name, value in {"a": a, "b": b, "at": a.T, "bt": b.T}.items():
        np.ascontiguousarray(value).tofile(folder / f"{name}.in")
    words = [*emulator, "./units", "_".join(types[:2]), f"host?isa={level}", random.integers(1, 4), m, n, k]
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    what = f"{' '.join(types)} on {level}: {m}x{n}x{k}"
    if done.returncode != 0:
        return f"{what}: {done.returncode}\n{done.stdout}{done.stderr}"
    wrong = [name for name in "cde" if not is_product((folder / f"{name}.out").read_bytes())]
    return f"{what}: {wrong} differ" if wrong else ""


def faults(folder, emulator, shapes, random):
    """Yields for each check what is wrong, or nothing."""
    def on(cpu):
        return [emulator[0], "-cpu", cpu, *emulator[1:]]

    found = [fault(folder, on(CPUS.get(level, "max")), pair.split(), level, random)
             for pair, levels in LEVELS_OF.items() for level, _ in itertools.product(levels, range(shapes))]
    for level, cpu in [*((level, LACKING) for level in LEVELS[1:]), (SCALABLE, "max,sve128=on"), (SCALABLE, "max,sve512=on")]:
        refused = fault(folder, on(cpu), next(iter(LEVELS_OF)).split(), level, random)
        found.append("" if f"this processor does not support {level}" in refused else f"{cpu} takes {level}: {refused}")
    return found
