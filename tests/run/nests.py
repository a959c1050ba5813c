#!/usr/bin/env python3
"""Tests random elementwise kernels.

The kernels differ in which loops distribute blocks, which run inside a block, and which split a block. The
order of dimensions in loads and the store also varies. Results are compared with the interpreter, bit for
bit, and with NumPy.

tests/run/nests.py --kernels 2000    # any number of kernels; --first SEED repeats one
"""

import pathlib
import random
import subprocess

import numpy as np

from shared import seeds

LIMIT_S = 60
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "u8": np.uint8}
SIZES = [1, 2, 3, 5, 8, 16, 17, 33, 64, 70]


class Kernel:
    """A random kernel. `dims` are names of dimensions; the index of each dimension is bound by its innermost
    loop."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.type = self.random.choice(list(TYPES))
        self.dims = "ABC"[:self.random.choice([2, 2, 3])]
        self.sizes = {dim: self.random.choice(SIZES) for dim in self.dims}
        dealt = self.random.sample(self.dims, self.random.randint(1, len(self.dims)))
        self.loops = [("spmd for", dealt)] + [("for", [dim]) for dim in self.shuffled(set(self.dims) - set(dealt))]
        self.split = [dim for dim in dealt if self.random.random() < 0.4]
        self.index = {dim: f"{dim.lower()}{1 if dim in self.split else ''}" for dim in self.dims}
        self.inputs = [self.order() for _ in range(self.random.randint(1, 3))]
        self.output = self.order()

    def shuffled(self, items):
        return self.random.sample(sorted(items), len(items))

    def order(self):
        return "".join(self.shuffled(self.dims))

    def access(self, tensor, order):
        return f"{tensor}[{', '.join(self.index[dim] for dim in order)}]"

    def text(self):
        """Returns the kernel and the steps that compute its value: (operator, operand), where an operand is
        the number of an input or 'last'."""
        block = lambda: self.random.choice([1, 4, 8, 16, 24, 64])
        tensors = [f"x{n}: in {self.type}[{', '.join(order)}]" for n, order in enumerate(self.inputs)]
        lines = [f"export kernel k({', '.join(tensors)}, y: out {self.type}[{', '.join(self.output)}]) {{"]
        for kind, dims in self.loops:
            binders = ", ".join(f"{dim.lower()} in {dim} by {block()}" for dim in dims)
            lines.append(f"{kind} {binders} {{")
        for dim in self.shuffled(self.split):
            lines.append(f"for {self.index[dim]} in {dim.lower()} by {block()} {{")
        opened = len(lines)
        steps = [("", 0)]
        value = self.access("x0", self.inputs[0])
        for n in [*range(1, len(self.inputs)), *(["last"] if self.random.random() < 0.4 else [])]:
            if self.random.random() < 0.4:
                lines.append(f"let t{n} = {value};")
                value = f"t{n}"
            operand = value if n == "last" else self.access(f"x{n}", self.inputs[n])
            operator = self.random.choice(["+", "*", "max"])
            value = f"max({value}, {operand})" if operator == "max" else f"({value} {operator} {operand})"
            steps.append((operator, n))
        lines.append(f"{self.access('y', self.output)} = {value};")
        return "\n".join(lines + ["}" * opened]) + "\n", steps

    def shape(self, order):
        return [self.sizes[dim] for dim in order]

    def expected(self, inputs, steps):
        aligned = [x.transpose([order.index(dim) for dim in self.dims]) for x, order in zip(inputs, self.inputs)]
        operate = {"": lambda _, b: b, "+": np.add, "*": np.multiply, "max": np.maximum}
        value = None
        for operator, n in steps:
            value = operate[operator](value, value if n == "last" else aligned[n])
        return np.ascontiguousarray(value.transpose([self.dims.index(dim) for dim in self.output]))


def check(folder, seed):
    """Returns what is wrong with the results of a seed's kernel, or None."""
    kernel = Kernel(seed)
    text, steps = kernel.text()
    folder = folder / str(seed)
    folder.mkdir()
    (folder / "k.kdl").write_text(text)
    values = np.random.default_rng(seed)
    inputs = [values.integers(0, 100, kernel.shape(order)).astype(TYPES[kernel.type]) for order in kernel.inputs]
    chance = random.Random(-seed)
    command = ["kernelc", "run", str(folder / "k.kdl"), "--verify", "--out", f"y=@{folder / 'y.npy'}",
               "--core-num", chance.choice(["1", "2", "7", "1000"]), "-O", chance.choice("0123"),
               "--target", chance.choice(["host", "host", "host", "debug"])]
    for n, x in enumerate(inputs):
        np.save(folder / f"x{n}.npy", x)
        command += ["--arg", f"x{n}=@{folder / f'x{n}.npy'}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"over {LIMIT_S} s\n{text}"
    if done.returncode != 0:
        return f"{done.stderr}{' '.join(command)}\n{text}"
    with np.errstate(over="ignore"):
        same = np.array_equal(np.load(folder / "y.npy"), kernel.expected(inputs, steps))
    for file in folder.iterdir():
        file.unlink()
    return None if same else f"not what NumPy has\n{' '.join(command)}\n{text}"


if __name__ == "__main__":
    seeds.run(__doc__.splitlines()[0], check, 60)
