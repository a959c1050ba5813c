#!/usr/bin/env python3
"""Random calls from Python, with arrays that have gaps, are permuted, repeat or reverse elements, are misaligned, empty, read-only or
of another size, or overlap one another. Each call runs in the reference interpreter and on several devices, each time in fresh memory.
A device must refuse what the interpreter refuses, and leave the memory as it was. Otherwise, it must leave all bytes of the memory as
the interpreter does, also those between elements. The only exception: a device that works in the memory of the process also refuses
gaps in the last axis, and in axes that the kernel merges.

tests/fuzz/calls.py --calls 1000              # any number of calls
tests/fuzz/calls.py --calls 1 --first SEED    # repeats one
"""

import argparse
import collections
import math
import pathlib
import random
import shutil
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python"))
import kernelc  # noqa: E402

KERNELS = """
export kernel turn<T: u8 | i16 | f32 | f64>(x: in T[M, N], y: out T[N, M]) {
    spmd for i in M by 8, j in N by 8 { y[j, i] = x[i, j]; }
}
export kernel add(a: i32, x: in i32[N], y: inout i32[N]) {
    spmd for i in N by 16 { y[i] += a * x[i]; }
}
export kernel sums(x: in i64[A, B, C], w: in i64[C], y: out i64[B, A], n: inout i64[C]) {
    spmd for b in B by 2, a in A by 2 {
        var s: i64[b, a] = 0;
        for c in C by 4 { s += sum(x[a, b, c] * w[c] over c); }
        y[b, a] = s;
    }
    spmd for c in C by 4 { n[c] += w[c]; }
}
export kernel single(x: in f32[], y: inout f32[], z: out f32[K]) {
    spmd for k in K by 8 { z[k] = x[] + 1.0; }
    if core_id == 0 { y[] += 2.0 * x[]; }
}
export kernel split(x: in u16[M, 4 * N], y: out u16[M, N, 4]) {
    view v: u16[M, N, 4] = x;
    range k in 4;
    spmd for m in M by 2, n in N by 4 { y[m, n, k] = v[m, n, k] + 1; }
}
export kernel merged(x: in i8[A, B, C], y: out i8[A, B, C]) {
    view v: i8[A * B, C] = x;
    view u: i8[A * B, C] = y;
    spmd for r in A * B by 4, c in C by 8 { u[r, c] = v[r, c] + 1; }
}
export kernel flat(x: in i32[M, N], y: out i32[N, M]) {
    view v: i32[M * N] = x;
    view u: i32[N * M] = y;
    spmd for r in M * N by 8 { u[r] = v[r] * 3; }
}
export kernel lookup(x: in f64[R, C], at: in i32[N], y: inout f64[N, C]) {
    spmd for n in N by 4 {
        for c in C by 4 { y[n, c] += x[at[n], c else 1.0]; }
    }
}
export kernel choose(c: in bool[M, N], s: f32, x: in f32[N], y: inout f32[M, N]) {
    spmd for i in M by 4, j in N by 16 { y[i, j] = if c[i, j] then x[j] else s; }
}
export kernel deep(x: in i32[A, B, C, D], y: out i32[D, A, B]) {
    spmd for d in D by 2, a in 0..A, b in B by 2 {
        var s: i32[d, b] = 0;
        for c in C by 2 { s += sum(x[a, b, c, d] over c); }
        y[d, a, b] = s;
    }
}
export kernel count<B: int = auto>(bin: in u8[N], n: inout i32[K]) {
    spmd for i in N by B { atomic n[bin[i]] += 1 where (bin[i] as i64) < K; }
}
"""
ELEMENTS = {"bool": "?", "u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}
SIZES = [0, 1, 1, 2, 3, 4, 5, 8, 9, 17]
DEVICES = ["host", "host?threads=1", "debug"]
MERGED = {"merged", "flat"}  # kernels with views that merge the first two axes of each array
MEMORY = 1 << 13  # bytes of each block of memory in which arrays are
REFUSED = (kernelc.ArgumentError, kernelc.Trap, ValueError, TypeError)  # a `where` clause and a view cause traps


class Array:
    """Where an argument is in the memory of a call. Strides are in bytes."""

    def __init__(self, kind, shape, strides):
        self.type, self.shape, self.strides = np.dtype(kind), shape, strides
        self.block = self.offset = 0
        self.is_read_only = False

    def ends(self):
        """Returns the offsets of the first and the last byte, relative to the element at index 0."""
        reach = [(size - 1) * stride for size, stride in zip(self.shape, self.strides)] if math.prod(self.shape) else []
        return sum(min(one, 0) for one in reach), sum(max(one, 0) for one in reach) + self.type.itemsize

    def made(self, memory):
        return np.ndarray(self.shape, self.type, memory[self.block], self.offset, self.strides)

    def longer(self, axes):
        """Returns the sizes and strides of those of the axes that have several elements."""
        return [(self.shape[axis], self.strides[axis]) for axis in axes if self.shape[axis] > 1]

    def has_gaps_in_last_axis(self):
        last = self.longer([len(self.shape) - 1] if self.shape else [])
        return math.prod(self.shape) > 0 and any(stride != self.type.itemsize for _, stride in last)

    def has_gaps_in_merged_axes(self):
        axes = self.longer([0, 1])
        gaps = any(outer[1] != inner[0] * inner[1] for outer, inner in zip(axes, axes[1:]))
        # The last of them may have one element. Then the elements of the one before must be adjacent.
        is_apart = len(self.shape) == 2 and any(stride != self.type.itemsize for _, stride in axes[-1:])
        return math.prod(self.shape) > 0 and (gaps or is_apart)

    def __str__(self):
        locked = ", read-only" if self.is_read_only else ""
        return f"{self.type}{list(self.shape)} with strides {list(self.strides)} at byte {self.offset} of block {self.block}{locked}"


class Call:
    """The call of a seed. `shows` says what is special about its arguments."""

    def __init__(self, seed, kernels):
        self.random = random.Random(seed)
        self.seed = seed
        self.shows = set()
        self.name = self.random.choice(sorted(kernels))
        self.parameters = self.random.choice(kernels[self.name])
        self.sizes = collections.defaultdict(lambda: self.random.choice(SIZES))
        self.cores = self.random.choice([None, None, 1, 2, 3, 100])
        self.blocks = self.random.choice([1, 2, 8])  # in one block, arrays often overlap
        self.most_faults = self.random.choice([0, 0, 0, 1, 2])
        self.arguments = [self.array(p) if p.direction else self.number(p) for p in self.parameters]
        self.contents = np.random.default_rng(seed).integers(0, 256, (self.blocks, MEMORY), np.uint8)

    def number(self, parameter):
        return self.random.choice([0, 1, 3, -2]) if parameter.element == "i32" else self.random.choice([0.0, -1.5, 7.0])

    def array(self, parameter):
        kind = np.dtype(ELEMENTS[parameter.element])
        while True:
            shape = [self.size(one, parameter) for one in parameter.sizes]
            array = Array(kind, shape, self.strides(shape, kind.itemsize, parameter.direction))
            begin, end = array.ends()
            places = range(-(begin // kind.itemsize), (MEMORY - end) // kind.itemsize + 1)
            if places:
                break
            self.sizes[self.random.choice("ABCDKMNR")] = 1
        array.block = self.random.randrange(self.blocks)
        array.offset = self.random.choice(places) * kind.itemsize
        if kind.itemsize > 1 and array.offset + end + kind.itemsize <= MEMORY and self.fault("misaligned"):
            array.offset += self.random.randrange(1, kind.itemsize)
        array.is_read_only = self.random.random() < 0.2 if parameter.direction == "in" else self.fault("read-only")
        return array

    def size(self, name, parameter):
        if name is None:
            return 4 * self.sizes["N"]
        if isinstance(name, int):
            return name
        return self.sizes[name] + (1 if self.fault("another size") else 0)

    def fault(self, what):
        """Whether an argument gets a property for which most calls are refused. Only a few do in each call."""
        if self.most_faults == 0 or self.random.random() > 0.1:
            return False
        self.most_faults -= 1
        self.shows.add(what)
        return True

    def strides(self, shape, item, direction):
        """Draws strides, mostly for elements of the last axis that are adjacent."""
        order = list(range(len(shape)))
        if len(shape) > 2 and self.random.random() < 0.25:
            self.shows.add("permuted")
            order[:-1] = self.random.sample(order[:-1], len(order) - 1)
        if len(shape) > 1 and self.fault("last axis permuted"):
            self.random.shuffle(order)
        strides, step = [0] * len(shape), item
        for axis in reversed(order):
            if (axis != order[-1] and self.random.random() < 0.3) or self.fault("gaps in the last axis"):
                self.shows.add("gaps")
                step += item * self.random.choice([1, 1, 3, 8])
            strides[axis] = step
            step *= max(shape[axis], 1)
        for axis, size in enumerate(shape):
            if size == 1 and self.random.random() < 0.5:
                self.shows.add("any stride of a single element")
                strides[axis] = self.random.choice([0, -item, 5 * item, -7 * item, 1000 * item, 1])
            elif size > 1 and direction == "in" and axis + 1 < len(shape) and self.random.random() < 0.1:
                self.shows.add("repeated")
                strides[axis] = 0
            elif self.fault("repeated elements"):
                strides[axis] = 0
            elif self.fault("reversed"):
                strides[axis] *= -1
            elif self.fault("equal strides"):
                strides[axis] = self.random.choice(strides)
            elif item > 1 and self.fault("strides of parts of elements"):
                strides[axis] += self.random.randrange(1, item)
        return strides

    def memory(self):
        """Returns fresh memory. The elements of arguments are small numbers."""
        memory = [bytearray(block.tobytes()) for block in self.contents]
        values = np.random.default_rng(self.seed)
        for one in self.arguments:
            if isinstance(one, Array):
                one.made(memory)[...] = values.integers(0, 5, one.shape).astype(one.type)
        return memory

    def given(self, memory):
        arguments = []
        for one in self.arguments:
            arguments.append(one.made(memory) if isinstance(one, Array) else one)
            if isinstance(one, Array) and one.is_read_only:
                arguments[-1].flags.writeable = False
        return arguments

    def is_refused_in_place(self):
        arrays = [one for one in self.arguments if isinstance(one, Array)]
        return any(one.has_gaps_in_last_axis() or (self.name in MERGED and one.has_gaps_in_merged_axes()) for one in arrays)

    def __str__(self):
        first = f"seed {self.seed}: {self.name}[{self.cores}]; {', '.join(sorted(self.shows))}"
        return "\n".join([first] + [f"  {p.name}: {one}" for p, one in zip(self.parameters, self.arguments)])


def outcome(call, run):
    """Runs the call in fresh memory, and returns how it ended, a message, and the memory."""
    before = call.memory()
    memory = [bytearray(block) for block in before]
    try:
        run(call.given(memory))
    except REFUSED as error:
        return "refused" if memory == before else "refused, after memory was changed", str(error), memory
    except kernelc.Error as error:
        return type(error).__name__, str(error), memory
    return "done", "", memory


def interpreted(kernel):
    def run(given):
        with kernelc.interpret():
            kernel(*given)
    return run


def ways(kernel, cores):
    """Returns functions that call a kernel. The second call in a row has the same sizes, so the runtime may keep what it knows."""
    if cores is not None:
        return {f"on {cores} cores": lambda given: kernel[cores](*given)}
    return {"call": lambda given: kernel(*given), "second call": lambda given: kernel(*given),
            "submit": lambda given: kernel.submit(*given).result()}


def fault(call, modules):
    """Returns what is wrong with the call, or None."""
    wanted = outcome(call, interpreted(getattr(modules[DEVICES[0]], call.name)))
    if wanted[0] not in ("done", "refused"):
        return f"interpreter: {wanted[0]}: {wanted[1]}"
    for device, module in modules.items():
        is_refused = wanted[0] == "refused" or (device.startswith("host") and call.is_refused_in_place())
        for way, run in ways(getattr(module, call.name), call.cores).items():
            found = outcome(call, run)
            if found[0] != ("refused" if is_refused else "done"):
                return f"{way} on {device}: {found[0]} {found[1]}\ninterpreter: {wanted[0]} {wanted[1]}"
            if not is_refused and found[2] != wanted[2]:
                return f"{way} on {device}: the memory differs from that of the interpreter"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=200, help="how many calls (default: 200)")
    parser.add_argument("--first", type=int, default=1, help="the first one's seed (default: 1)")
    parser.add_argument("--device", action="append", default=[], help="another device, such as opencl")
    options = parser.parse_args()
    modules = {device: kernelc.compile(KERNELS, device=device) for device in DEVICES + options.device}
    kernels = {kernel.name: [[kernelc.Parameter(*one) for one in signature] for signature in kernel.signatures]
               for kernel in modules[DEVICES[0]]}
    failed, shows = 0, collections.Counter()
    for seed in range(options.first, options.first + options.calls):
        call = Call(seed, kernels)
        wrong = fault(call, modules)
        shows.update(call.shows)
        if wrong:
            failed += 1
            print(f"{call}\n{wrong}\n", flush=True)
    print(", ".join(f"{what} {count}" for what, count in sorted(shows.items())))
    print(f"{options.calls - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
