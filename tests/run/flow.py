#!/usr/bin/env python3
"""Tests random fns and kernels with control flow.

The fns and kernels contain nested loops and branches, jumps, and divisions that only some elements reach.
Results are compared with the interpreter, bit for bit, and with the same code in Python.

tests/run/flow.py --kernels 2000    # any number of kernels; --first SEED repeats one
"""

import pathlib
import random
import subprocess

import numpy as np

from shared import seeds

LIMIT_S = 60
TYPES = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]


class Body:
    """Generates statements on integers of one type, written both in KDL and in Python."""

    def __init__(self, rng, type_name, indent, functions):
        self.rng = rng
        self.type = type_name
        self.functions = functions  # (name, number of arguments) of callable functions
        self.kdl = []
        self.python = []
        self.indent = indent
        self.names = 0
        self.vars = []  # variables that may be assigned
        self.lets = []  # parameters and other constants
        self.left = rng.randint(4, 14)  # number of statements left

    def line(self, kdl, python):
        self.kdl.append("    " * self.indent + kdl)
        if python:
            self.python.append("    " * self.indent + python)

    def fresh(self):
        self.names += 1
        return f"v{self.names}"

    def atom(self):
        if (self.vars or self.lets) and self.rng.random() < 0.75:
            name = self.rng.choice(self.vars + self.lets)
            return name, name
        value = self.rng.choice([0, 1, 2, 3, 5, 7, 100, 127])
        return f"({value} as {self.type})", str(value)

    def value(self, depth=2):
        if depth == 0 or self.rng.random() < 0.25:
            return self.atom()
        (a, pa), (b, pb) = self.value(depth - 1), self.value(depth - 1)
        kind = self.rng.choice(["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "min", "if", "call"])
        if kind in ("/", "%"):
            python = "//" if kind == "/" else "%"
            return f"({a} {kind} ({b} | 1))", f"W({pa} {python} W({pb} | 1))"
        if kind in ("<<", ">>"):
            return f"({a} {kind} {b})", f"W({pa} {kind} ({pb} % BITS))"
        if kind == "min":
            return f"min({a}, {b})", f"min({pa}, {pb})"
        if kind == "if":
            c, pc = self.condition()
            return f"(if {c} then {a} else {b})", f"({pa} if {pc} else {pb})"
        if kind == "call":
            if not self.functions:
                return a, pa
            name, count = self.rng.choice(self.functions)
            parts = [(a, pa), (b, pb), self.atom()][:count]
            return (f"{name}({', '.join(k for k, _ in parts)})", f"{name}({', '.join(p for _, p in parts)})")
        return f"({a} {kind} {b})", f"W({pa} {kind} {pb})"

    def condition(self):
        (a, pa), (b, pb) = self.value(1), self.atom()
        sign = self.rng.choice(COMPARISONS)
        if self.rng.random() < 0.25:  # the right side must not run if the left side decides
            word, python, test = self.rng.choice([("&&", "and", "!="), ("||", "or", "==")])
            return (f"({b} {test} 0 {word} {a} / {b} {sign} {b})", f"({pb} {test} 0 {python} W({pa} // {pb}) {sign} {pb})")
        return f"({a} {sign} {b})", f"({pa} {sign} {pb})"

    def assign(self):
        if not self.vars:
            return self.declare()
        name = self.rng.choice(self.vars)
        kdl, python = self.value()
        sign = self.rng.choice(["", "+", "-", "^", "*"])
        self.line(f"{name} {sign}= {kdl};", f"{name} = W({name} {sign} {python})" if sign else f"{name} = {python}")

    def declare(self):
        kdl, python = self.value()
        name = self.fresh()
        self.line(f"var {name} = {kdl};", f"{name} = {python}")
        self.vars.append(name)

    def block(self, in_loop, depth):
        known = len(self.vars), len(self.lets)
        self.indent += 1
        before = len(self.python)
        for _ in range(self.rng.randint(1, 3)):
            self.statement(in_loop, depth)
        if len(self.python) == before:
            self.line("", "pass")
        self.indent -= 1
        del self.vars[known[0]:], self.lets[known[1]:]

    def branch(self, in_loop, depth):
        kdl, python = self.condition()
        self.line(f"if {kdl} {{", f"if {python}:")
        self.block(in_loop, depth)
        if self.rng.random() < 0.4:
            self.line("} else {", "else:")
            self.block(in_loop, depth)
        self.line("}", "")

    def counted(self, depth):
        name = self.fresh()
        lo, hi = self.rng.randint(-2, 2), self.rng.randint(0, 6)
        bound, python = self.value(1)
        end = self.rng.random() < 0.5
        step = self.rng.choice([1, 1, 2, 3])
        kdl_hi = f"(({bound}) as i64 & 7)" if end else f"{hi}"
        python_hi = f"(({python}) & 7)" if end else f"{hi}"
        self.line(f"for {name}i in ({lo})..{kdl_hi} step {step} {{", f"for {name}i in range({lo}, {python_hi}, {step}):")
        self.indent += 1
        self.line(f"let {name} = {name}i as {self.type};", f"{name} = W({name}i)")
        self.indent -= 1
        self.lets.append(name)
        self.block(True, depth)
        if name in self.lets:
            self.lets.remove(name)
        self.line("}", "")

    def repeated(self, depth):
        kdl, python = self.condition()
        fuel = self.fresh()
        turns = self.rng.randint(1, 6)
        self.line(f"var {fuel} = {turns};", f"{fuel} = {turns}")
        self.line(f"while {fuel} > 0 && {kdl} {{", f"while {fuel} > 0 and {python}:")
        self.indent += 1
        self.line(f"{fuel} -= 1;", f"{fuel} -= 1")
        self.indent -= 1
        self.block(True, depth)
        self.line("}", "")

    def statement(self, in_loop, depth):
        self.left -= 1
        chance = self.rng.random()
        if in_loop and chance < 0.18:
            kdl, python = self.condition()
            word = self.rng.choice(["break", "continue"])
            self.line(f"if {kdl} {{ {word}; }}", f"if {python}: {word}")
        elif depth == 0 or self.left <= 0 or chance < 0.45:
            self.assign()
        elif chance < 0.55:
            self.declare()
        elif chance < 0.72:
            self.branch(in_loop, depth - 1)
        elif chance < 0.86:
            self.counted(depth - 1)
        else:
            self.repeated(depth - 1)

    def run(self):
        self.declare()
        while self.left > 0:
            self.statement(False, 3)
        return " ^ ".join(self.vars), " ^ ".join(self.vars)


class Program:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.type = self.rng.choice(list(TYPES))
        self.size = self.rng.choice([1, 2, 7, 16, 17, 33, 64, 70])
        self.block = self.rng.choice([1, 5, 16, 64])
        self.kdl, self.python, self.functions = "", "", []
        for n in range(self.rng.randint(1, 2)):
            self.function(f"f{n}")
        self.kernel()

    def function(self, name):
        count = self.rng.randint(1, 3)
        body = Body(self.rng, self.type, 1, list(self.functions))
        body.lets = [f"p{n}" for n in range(count)]
        result, python = body.run()
        params = ", ".join(f"p{n}: {self.type}" for n in range(count))
        self.kdl += f"fn {name}({params}) -> {self.type} {{\n" + "\n".join(body.kdl) + f"\n    return {result};\n}}\n"
        self.python += (f"def {name}({', '.join(body.lets[:count])}):\n" + "\n".join(body.python)
                        + f"\n    return {python}\n")
        self.functions.append((name, count))

    def kernel(self):
        """Writes a kernel that calls a fn on tiles, element by element, and contains similar code on scalars."""
        name, count = self.functions[-1]
        given = [("x[i]", "x"), ("a[i]", "a"), (f"iota(i) as {self.type}", "W(i)")]
        given = self.rng.sample(given, count)
        call = f"{name}({', '.join(k for k, _ in given)})"
        python_call = f"{name}({', '.join(p for _, p in given)})"
        if self.rng.random() < 0.4:  # the fn is only called for some elements
            call, python_call = f"if x[i] > a[i] then {call} else a[i]", f"({python_call} if x > a else a)"
        body = Body(self.rng, self.type, 2, self.functions)
        body.lets = ["x1", "a1"]
        result, python = body.run()
        self.kdl += (f"export kernel k(x: in {self.type}[N], a: in {self.type}[N], y: out {self.type}[N], "
                     f"z: out {self.type}[N]) {{\n"
                     f"    spmd for i in N by {self.block} {{ y[i] = {call}; }}\n"
                     f"    spmd for r in 0..N {{\n        let x1 = x[r];\n        let a1 = a[r];\n"
                     + "\n".join(body.kdl) + f"\n        z[r] = {result};\n    }}\n}}\n")
        self.python += (f"def y_of(x, a, i):\n    return {python_call}\ndef z_of(x1, a1):\n  if True:\n"
                        + "\n".join(body.python) + f"\n        return {python}\n")

    def inputs(self, seed):
        info = np.iinfo(self.type_of_numpy())
        values = np.random.default_rng(seed)
        drawn = [values.integers(max(info.min, -20), 40, self.size) for _ in range(2)]
        edges = [info.min, info.max, 0, 1, -1 if info.min else 2]
        for x in drawn:
            x[values.integers(0, self.size, max(1, self.size // 8))] = values.choice([e for e in edges if e < 2**63])
        return [x.astype(self.type_of_numpy()) for x in drawn]

    def type_of_numpy(self):
        return np.dtype({"i": "int", "u": "uint"}[self.type[0]] + self.type[1:])

    def expected(self, x, a):
        bits, signed = TYPES[self.type], self.type[0] == "i"

        def wrap(value):
            value &= (1 << bits) - 1
            return value - (1 << bits) if signed and value >> (bits - 1) else value

        scope = {"W": wrap, "BITS": bits}
        exec(self.python, scope)
        rows = list(enumerate(zip(x.tolist(), a.tolist())))
        return ([scope["y_of"](p, q, i) for i, (p, q) in rows], [scope["z_of"](p, q) for _, (p, q) in rows])


def check(folder, seed):
    """Returns what is wrong with the results of a seed's program, or None."""
    program = Program(seed)
    folder = folder / str(seed)
    folder.mkdir()
    (folder / "k.kdl").write_text(program.kdl)
    inputs = program.inputs(seed)
    chance = random.Random(-seed)
    command = ["kernelc", "run", str(folder / "k.kdl"), "--verify", "--core-num", chance.choice(["1", "2", "7", "1000"]),
               "-O", chance.choice("0033"), "--target", chance.choice(["host", "host", "host", "debug"])]
    for name, x in zip("xa", inputs):
        np.save(folder / f"{name}.npy", x)
        command += ["--arg", f"{name}=@{folder / name}.npy"]
    for name in "yz":
        command += ["--out", f"{name}=@{folder / name}.npy"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"over {LIMIT_S} s\n{program.kdl}"
    if done.returncode != 0:
        return f"{done.stderr}{' '.join(command)}\n{program.kdl}"
    for name, expected in zip("yz", program.expected(*inputs)):
        if np.load(folder / f"{name}.npy").tolist() != expected:
            return f"{name} is not what Python has\n{' '.join(command)}\n{program.kdl}"
    for file in folder.iterdir():
        file.unlink()
    return None


if __name__ == "__main__":
    seeds.run(__doc__.splitlines()[0], check, 75)
