"""The file of a seed: a kernel, or a program with the kernels and programs that it calls."""

import collections
import random

from hosts import Callee, Programs
from tree import statements, text

SIZES = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17]
LARGE = [31, 33, 63, 64, 65, 100]


class File(Programs):
    """The random file that belongs to a seed. `tree` is its text. `tensors` and `sizes` belong to the kernel
    or program that runs. `shows` counts constructs. With `kind`, such as "imitations", it has a kernel of this kind."""

    def __init__(self, seed, kind=""):
        self.random = random.Random(seed)
        self.shows = collections.Counter()
        self.names = collections.Counter()
        self.fns, self.tile_fns, self.callees = [], [], []
        self.indices = self.choices = 0
        self.odd_names = self.chance(0.1)
        self.shows["names used elsewhere"] += self.odd_names
        self.extents = {}
        self.device = ""
        self.sizes = {name: self.random.choice(SIZES) for name in "ABC"[:self.random.randint(1, 3)]}
        self.helpers = statements([])
        self.helpers.parts += self.functions()
        # If the file contains programs, tensors only have named sizes.
        self.alone = bool(kind) or not self.chance(0.2)
        if not self.alone:
            self.tree = text(self.devices(), self.helpers, *self.with_programs())
            return
        if kind:
            self.tree = text(self.helpers, "export ", getattr(self, kind)("k"))
            return
        if self.chance(0.06):
            self.tree = text(*self.fused())
            return
        if self.chance(0.4):
            self.sizes["A"] = self.random.choice(LARGE)
        drawn = self.pick([self.convolution, self.matrices, self.layers, self.stencil, self.pixels, self.attention, self.rows, self.transposes, self.packs, self.appends, self.imitations] + [self.kernel] * 8)
        self.tree = text(self.helpers, "export ", drawn("k"))

    def devices(self):
        self.device = self.pick(["", "", "d"])
        return f'device {self.device} = target("host");\n' if self.device else ""

    def with_programs(self):
        sizes = self.sizes
        parts = []
        for number in range(self.random.choice([1, 2, 2, 3])):
            self.sizes, self.extents = dict(sizes), {}
            parts.append(self.kernel(f"k{number}"))
            self.add(f"k{number}", True)
        for number in range(self.random.choice([0, 0, 1])):
            self.sizes = dict(sizes)
            parts.append(self.program(f"called{number}"))
            self.add(f"called{number}", False)
        self.sizes = dict(sizes)
        main = self.program("main")
        return statements(parts), "export ", main

    def add(self, name, launched):
        tensors = tuple(t for t in self.tensors if t.direction in ("in", "out", "inout"))
        self.callees.append(Callee(name, tensors, tuple(self.scalars), launched))
