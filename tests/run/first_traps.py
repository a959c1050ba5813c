#!/usr/bin/env python3
"""Compares which check fails first: random kernels, in which checks of several elements fail, must stop with the same message on
the host at each level of optimization, on the debug device, and in the interpreter.

tests/run/first_traps.py --kernels 500    # 10 without the option
"""

import random
import re
import struct
import subprocess

from shared import seeds

TARGETS = [["--target", "reference"], ["-O0"], ["-O2"], ["-O3"], ["--target", "debug"]]
TABLE = 63  # elements; indices go one further
ROWS = 3  # of which a row or two may be outside
SHAPES = [(19, 37), (40, 5), (3, 64), (33, 17)]


class Generator:
    """Writes statements whose checks fail for few elements. Values are names of variables in scope."""

    def __init__(self, draw, rank):
        self.draw = draw
        self.rank = rank
        self.names = 0

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def value(self, values):
        a, b = self.draw.choice(values), self.draw.choice(values)
        return self.draw.choice([a, f"({a} + {b})", f"({a} * 3 + {b})", f"({a} - {b})", f"max({a}, {b})"])

    def small(self, values):
        return f"({self.value(values)} & {TABLE})"

    def quotient(self, values):
        return f"{self.value(values)} / ({self.small(values)} - {self.draw.randrange(TABLE)})"

    def declared(self, values, text):
        values.append(self.name())
        return [f"let {values[-1]} = {text};"]

    def body(self, values, fns, depth):
        statements = []
        for _ in range(self.draw.randrange(1, 3)):
            statements += self.statement(values, fns if depth == 1 else [], depth)
        return ["    " + line for line in statements]

    def nested(self, values, fns, depth):
        """Returns an `if` or a loop, which only a fn of scalars contains."""
        kind = self.draw.choice(["if", "for", "while"])
        if kind == "if":
            lines = [f"if {self.small(values)} > {self.draw.randrange(TABLE)} {{", *self.body(list(values), fns, depth + 1)]
            if self.draw.random() < 0.4:
                lines += ["} else {", *self.body(list(values), fns, depth + 1)]
            return [*lines, "}"]
        value, count = self.name(), self.name()
        head, step = (f"for {count} in 0..3", "+= 1") if kind == "for" else (f"while {value} > 20", "-= 7")
        lines = [f"var {value} = {self.small(values)};", f"{head} {{", f"    {value} {step};"]
        lines += [*self.body([*values, value], fns, depth + 1), "}"]
        values.append(value)
        return lines

    def statement(self, values, fns, depth, in_kernel=False):
        kinds = ["quotient", "assert", "index", "choice"] + 2 * ["row"] * in_kernel + 4 * ["call"] * bool(fns) + 3 * ["nested"] * (depth < 2 and not in_kernel)
        kind = self.draw.choice(kinds)
        if kind == "assert":
            return [f'assert({self.small(values)} != {self.draw.randrange(TABLE)}, "{self.name()}");']
        if kind == "nested":
            return self.nested(values, fns, depth)
        if kind == "quotient":
            return self.declared(values, self.quotient(values))
        if kind == "index":
            return self.declared(values, f"TABLE[{self.small(values)} - {self.draw.randrange(2)}]")
        if kind == "row":  # the same row, or element, for all elements of a block
            row = f"at[{self.draw.randrange(ROWS)}] + {self.draw.randrange(2)}"
            return self.declared(values, f"{self.draw.choice('ab')}[{row}, c]" if self.rank == 2 else f"d[{row}]")
        if kind == "call":
            fn, count = self.draw.choice(fns)
            return self.declared(values, f"{fn}({', '.join(self.small(values) for _ in range(count))})")
        return self.declared(values, f"if {self.small(values)} > {self.draw.randrange(TABLE)} then {self.quotient(values)} else "
                                     f"{self.value(values)}")

    def program(self):
        lines = [f"const TABLE: i32[{TABLE}] = [{', '.join(str((i * 37 + 11) % TABLE) for i in range(TABLE))}];"]
        fns = []
        for number in range(self.draw.randrange(1, 4)):
            values = ["p", "q"][:self.draw.randrange(1, 3)]
            signature = f"fn f{number}({', '.join(name + ': i32' for name in values)}) -> i32 {{"
            count, body = len(values), []
            for _ in range(self.draw.randrange(1, 4)):
                body += self.statement(values, fns, 0)
            lines += [signature, *("    " + line for line in body), f"    return {self.value(values)};", "}"]
            fns.append((f"f{number}", count))
        size, index = ("[R, C]", "[r, c]") if self.rank == 2 else ("[R]", "[r]")
        values = ["a0", "b0", "d0"]
        body = [f"let a0 = a{index};", f"let b0 = b{index};", "let d0 = d[r];"]
        for _ in range(self.draw.randrange(1, 4)):
            body += self.statement(values, fns, 0, in_kernel=True)
        body.append(f"y{index} = {values[-1]} + {self.value(values)} + a0;")
        return "\n".join([*lines, f"export kernel k(a: in i32{size}, b: in i32{size}, d: in i32[R], at: in i32[{ROWS}], y: out i32{size}) {{",
                          *["    range c in C max 64;"] * (self.rank == 2), "    spmd for r in R by 16 {", *("        " + line for line in body),
                          "    }", "}", ""])


def write_array(path, shape, values):
    head = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}i", *values))


def check(folder, seed):
    draw = random.Random(seed)
    rank = draw.randrange(1, 3)
    folder = folder / str(seed)
    folder.mkdir()
    (folder / "k.kdl").write_text(Generator(draw, rank).program())
    rows, columns = draw.choice(SHAPES)
    most = draw.choice([64, 1000])
    for name in "abd":
        shape = (rows, columns) if rank == 2 and name != "d" else (rows,)
        count = rows * columns if len(shape) == 2 else rows
        write_array(folder / f"{name}.npy", shape, [draw.randrange(most) for _ in range(count)])
    write_array(folder / "at.npy", (ROWS,), [rows - 1 - draw.randrange(3) for _ in range(ROWS)])
    words = ["kernelc", "run", "k.kdl", "--core-num", "1", "-W", "no-unused", *(f"--arg={name}=@{name}.npy" for name in ["a", "b", "d", "at"])]
    shown = []
    for target in TARGETS:
        ran = subprocess.run([*words, *target], cwd=folder, capture_output=True, text=True, timeout=300)
        message = re.match(r"k\.kdl:\d+:\d+: error: .*\[E0959\]", ran.stderr)
        if ran.returncode != 0 and not message:
            return f"{' '.join(target)}: {ran.stderr}"
        shown.append(ran.stderr)
    different = [f"{' '.join(target)}: {text}" for target, text in zip(TARGETS, shown, strict=True) if text != shown[0]]
    return "\n".join([f"the interpreter: {shown[0]}", *different, (folder / "k.kdl").read_text()]) if different else None


if __name__ == "__main__":
    seeds.run(__doc__, check, 10)
