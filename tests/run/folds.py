#!/usr/bin/env python3
"""Tests random reductions, scans, reductions with a fn, and tiles indexed by name.

Ranges, types, block sizes and orders of dimensions vary. Results are compared with the interpreter, bit for
bit, and with NumPy.

tests/run/folds.py --kernels 2000    # any number of kernels; --first SEED repeats one
"""

import pathlib
import random
import subprocess

import numpy as np

from shared import seeds

LIMIT_S = 60
TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "u8": np.uint8, "i32": np.int32,
         "i64": np.int64}
SIZES = [0, 1, 2, 3, 5, 7, 8, 16, 17, 33, 63, 64, 65, 70, 130]
RUNS = [["-O", "0", "--core-num", "1"], ["-O", "3", "--core-num", "3"]]

FUNCTIONS = """fn plus(a: {0}, b: {0}) -> {0} {{ return a + b; }}
fn larger(a: ({0}, i64), b: ({0}, i64)) -> ({0}, i64) {{
    return if b.1 >= 0 && (a.1 < 0 || b.0 > a.0 || (b.0 == a.0 && b.1 < a.1)) then b else a;
}}
"""


def is_float(kind):
    return kind.startswith("f")


def accumulator(kind):
    return {"f16": "f32", "i8": "i32", "u8": "u32"}.get(kind, kind)


def wide(x, kind):
    """Converts to the type in which NumPy computes: wider floats, and integers that wrap like the
    accumulator."""
    return x.astype(np.float64 if is_float(kind) else {"u32": np.uint32, "i32": np.int32}.get(kind, np.int64))


def extremum_at(x, axis, largest):
    if x.shape[axis] == 0:
        return np.full(np.delete(x.shape, axis), -1)
    return (np.argmax if largest else np.argmin)(x, axis=axis)


def mean_of(x, axes, kind):
    count = int(np.prod([x.shape[axis] for axis in axes]))
    total = wide(x, accumulator(kind)).sum(axis=axes, dtype=None if is_float(kind) else np.int64)
    if is_float(kind):
        return total / count if count else np.full(total.shape, np.nan)
    return total // count


def scanned(operate, reverse, exclusive, start):
    """Returns a model of a scan along one axis."""
    def model(x, axis, kind):
        x = np.moveaxis(wide(x, kind), axis, 0)
        x = x[::-1] if reverse else x
        y = np.empty_like(x)
        so_far = np.full(x.shape[1:], start, x.dtype)
        for n, element in enumerate(x):
            after = operate(so_far, element)
            y[n] = so_far if exclusive else after
            so_far = after
        return np.moveaxis(y[::-1] if reverse else y, 0, axis)
    return model


class Kernel:
    """A kernel that reduces over some dimensions. The dimensions in `folded` are whole ranges; the others are
    distributed in blocks."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.type = self.random.choice(list(TYPES))
        self.dims = "ABC"[:self.random.choice([1, 2, 2, 3])]
        self.sizes = {dim: self.random.choice(SIZES) for dim in self.dims}
        many = self.random.random() < 0.3 and len(self.dims) > 1
        self.folded = self.random.sample(self.dims, 2 if many else 1)
        self.kept = [dim for dim in self.dims if dim not in self.folded]
        self.inputs = [self.order(self.dims) for _ in range(self.random.choice([1, 1, 2]))]
        self.lets = self.random.random() < 0.5
        kinds = [self.reduction, self.reduction] if many else [self.reduction, self.argument, self.scan, self.part]
        self.text_of, self.model, self.result, self.axes = self.random.choice(kinds)()

    def order(self, dims):
        return "".join(self.random.sample(list(dims), len(dims)))

    @property
    def axis(self):
        return self.dims.index(self.folded[0])

    def reduction(self):
        """Returns the text of a random reduction, its model, and the type and dimensions of the
        result."""
        over = ", ".join(dim.lower() for dim in self.folded)
        axes = tuple(self.dims.index(dim) for dim in self.folded)
        names = ["sum", "prod", "max", "min", "reduce", "any", "all"]
        if is_float(self.type) or all(self.sizes[dim] for dim in self.folded):
            names.append("mean")
        name = self.random.choice(names)
        acc = accumulator(self.type)
        if name == "reduce":
            return (lambda t: f"reduce({t} over {over} with plus init 0)",
                    lambda x: wide(x, self.type).sum(axis=axes).astype(TYPES[self.type]), self.type, self.kept)
        if name in ("any", "all"):
            return (lambda t: f"{name}({t} > 1 over {over}) as i32",
                    lambda x: getattr(np, name)(x > 1, axis=axes).astype(np.int32), "i32", self.kept)
        if name == "mean":
            return (lambda t: f"mean({t} over {over})", lambda x: mean_of(x, axes, self.type), acc, self.kept)
        if name in ("sum", "prod"):
            return (lambda t: f"{name}({t} over {over})",
                    lambda x: getattr(wide(x, acc), name)(axis=axes, dtype=wide(x, acc).dtype), acc, self.kept)
        limits = np.finfo(TYPES[self.type]) if is_float(self.type) else np.iinfo(TYPES[self.type])
        start = {"max": limits.min, "min": limits.max}[name]
        if is_float(self.type):
            start = {"max": -np.inf, "min": np.inf}[name]
        return (lambda t: f"{name}({t} over {over})", lambda x: getattr(x, name)(axis=axes, initial=start),
                self.type, self.kept)

    def argument(self):
        k = self.folded[0].lower()
        name = self.random.choice(["argmax", "argmin", "larger"])
        model = lambda x: extremum_at(x, self.axis, name != "argmin")
        if name == "larger":
            return lambda t: f"reduce(({t}, iota({k})) over {k} with larger init (0, -1)).1", model, "i64", self.kept
        return lambda t: f"{name}({t} over {k})", model, "i64", self.kept

    def scan(self):
        k = self.folded[0].lower()
        name = self.random.choice(["cumsum", "cumprod", "cummax", "scan"])
        reverse, exclusive = self.random.random() < 0.4, self.random.random() < 0.4
        words = (" reversed" if reverse else "") + (" exclusive" if exclusive else "")
        lowest = -np.inf if is_float(self.type) else np.iinfo(TYPES[self.type]).min
        operate, start = {"cumsum": (np.add, 0), "scan": (np.add, 0), "cumprod": (np.multiply, 1),
                          "cummax": (np.maximum, lowest)}[name]
        kind = self.type if name in ("cummax", "scan") else accumulator(self.type)
        ending = " with plus init 0" if name == "scan" else ""
        model = scanned(operate, reverse, exclusive, start)
        return (lambda t: f"{name}({t} over {k}{words}{ending})",
                lambda x: model(x, self.axis, kind).astype(TYPES.get(kind, np.uint32)), kind, list(self.dims))

    def part(self):
        dim = self.folded[0]
        k = dim.lower()
        shift = self.random.choice([-70, -3, -1, 1, 2, 64])
        which = self.random.choice(["reversed", "shifted", "element"])

        def shifted(x):
            x = np.moveaxis(x, self.axis, 0)
            y = np.full_like(x, 9)
            for n in range(len(x)):
                if 0 <= n + shift < len(x):
                    y[n] = x[n + shift]
            return np.moveaxis(y, 0, self.axis)

        def element(x):
            inside = 0 <= shift < x.shape[self.axis]
            return np.take(x, shift, self.axis) if inside else np.full(np.delete(x.shape, self.axis), 9)
        if which == "reversed":
            return lambda t: f"({t})[{k} = {dim} - 1 - {k}]", lambda x: np.flip(x, self.axis), self.type, list(self.dims)
        if which == "shifted":
            sign = "+" if shift >= 0 else "-"
            return lambda t: f"({t})[{k} = {k} {sign} {abs(shift)} else 9]", shifted, self.type, list(self.dims)
        return lambda t: f"({t})[{k} = {shift} else 9]", element, self.type, self.kept

    def index(self, dim):
        """Returns the dimension's range, or a tile of its indices, which has the same elements."""
        return f"iota({dim.lower()})" if self.random.random() < 0.1 else dim.lower()

    def text(self):
        block = lambda: self.random.choice([1, 4, 8, 16, 24, 64])
        tensors = [f"x{n}: in {self.type}[{', '.join(order)}]" for n, order in enumerate(self.inputs)]
        self.output = self.order(self.axes)
        shape = ", ".join(self.output) or "1"
        lines = [FUNCTIONS.format(self.type) + f"export kernel folds({', '.join(tensors)}, y: out {self.result}[{shape}]) {{"]
        dealt = ", ".join(f"{dim.lower()} in {dim} by {block()}" for dim in self.order(self.kept)) or "q in 0..1"
        lines.append(f"spmd for {dealt} {{")
        for dim in self.folded:
            most = max(self.sizes[dim], 1) + self.random.choice([0, 3, 64])
            lines.append(f"range {dim.lower()} in {dim} max {most};")
        value = " + ".join(f"x{n}[{', '.join(self.index(dim) for dim in order)}]" for n, order in enumerate(self.inputs))
        if self.lets:
            lines.append(f"let t = {value};")
            value = "t"
        target = ", ".join(dim.lower() for dim in self.output) or "q"
        lines.append(f"y[{target}] = {self.text_of(value)};")
        return "\n".join(lines + ["}", "}"]) + "\n"

    def expected(self, inputs):
        aligned = [x.transpose([order.index(dim) for dim in self.dims]) for x, order in zip(inputs, self.inputs)]
        value = aligned[0] if len(aligned) == 1 else aligned[0] + aligned[1]
        result = np.asarray(self.model(value))
        kept = [dim for dim in self.dims if dim in self.axes]
        if not kept:
            return result.reshape(1)
        return result.transpose([kept.index(dim) for dim in self.output])

    def draw(self, order, values):
        """Picks elements from a few numbers, so that some elements are equal. Sums of all elements are
        exact in f16."""
        shape = [self.sizes[dim] for dim in order]
        if self.random.random() < 0.5 or not is_float(self.type):
            return values.integers(0, 4, shape).astype(TYPES[self.type])
        return values.uniform(-1, 1, shape).astype(TYPES[self.type])


def agrees(found, expected, kernel):
    if found.shape != expected.shape:
        return False
    if not is_float(kernel.result):
        return np.array_equal(found, expected.astype(found.dtype))
    count = np.prod([max(kernel.sizes[dim], 1) for dim in kernel.folded])
    eps = np.finfo(TYPES[kernel.type]).eps
    with np.errstate(over="ignore", invalid="ignore"):
        return np.allclose(found.astype(np.float64), expected.astype(found.dtype).astype(np.float64), rtol=16 * eps,
                           atol=8 * eps * count, equal_nan=True)


def check(folder, seed):
    """Returns what is wrong with the results of a seed's kernel, or None."""
    kernel = Kernel(seed)
    text = kernel.text()
    folder = folder / str(seed)
    folder.mkdir()
    (folder / "k.kdl").write_text(text)
    values = np.random.default_rng(seed)
    inputs = [kernel.draw(order, values) for order in kernel.inputs]
    words = ["kernelc", "run", str(folder / "k.kdl"), "--verify", "--out", f"y=@{folder / 'y.npy'}", "--target",
             random.Random(-seed).choice(["host", "host", "debug"])]
    for n, x in enumerate(inputs):
        np.save(folder / f"x{n}.npy", x)
        words += ["--arg", f"x{n}=@{folder / f'x{n}.npy'}"]
    with np.errstate(over="ignore", invalid="ignore"):
        expected = kernel.expected(inputs)
    for run in RUNS:
        command = words + run
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"over {LIMIT_S} s\n{' '.join(command)}\n{text}"
        if done.returncode != 0:
            return f"{done.stderr}{' '.join(command)}\n{text}"
        if not agrees(np.load(folder / "y.npy"), expected, kernel):
            return f"not what NumPy has\n{' '.join(command)}\n{text}"
    for file in folder.iterdir():
        file.unlink()
    return None


if __name__ == "__main__":
    seeds.run(__doc__.splitlines()[0], check, 50)
