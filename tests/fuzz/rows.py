"""Random kernels over rows: prefix sums and other scans, positions of extrema, gathers, and lookups in tiles by indices
of another width. There are more and fewer rows than lanes in a vector, and rows are a little shorter or longer than
vectors."""

from names import Tensor
from attention import Attention
from tree import statements, text

ROWS = [1, 2, 3, 7, 8, 9, 16, 37]
LENGTHS = [1, 2, 7, 8, 9, 16, 31, 64, 65, 100, 200]
TYPES = ["u8", "i8", "i16", "i32", "i32", "i64", "f32", "f32", "f32", "f64", "f16"]
INDICES = ["u8", "i8", "u16", "i32", "i32", "i64", "u64"]


class Rows(Attention):

    def rows(self, name):
        """Generates a kernel with this name."""
        drawn = RowKernel(self)
        self.sizes, self.scalars, self.generics, self.tensors = drawn.sizes, [], [], drawn.tensors
        return drawn.kernel(name)


class RowKernel:
    """One kernel. `generator` makes the random choices."""

    def __init__(self, generator):
        self.generator, self.random, self.pick, self.chance = generator, generator.random, generator.pick, generator.chance
        self.in_blocks = self.chance(0.3)
        self.looks_up = not self.in_blocks and self.chance(0.3)
        self.sizes = {"R": self.pick(ROWS), "C": self.pick(LENGTHS)}
        if self.looks_up:  # so many rows and columns that squares of them are transposed
            self.sizes = {"R": self.pick([16, 37]), "C": self.pick([16, 31, 65])}
        self.type = self.pick(["i64", "f64"] if self.looks_up else TYPES)
        self.accumulator = {"u8": "u32", "i8": "i32", "i16": "i32", "f16": "f32"}.get(self.type, self.type)
        self.is_transposed = self.chance(0.3)
        dims = ("C", "R") if self.is_transposed else ("R", "C")
        self.at = "c, r" if self.is_transposed else "r, c"
        self.output = Tensor("y", self.accumulator, dims, self.pick(["out", "inout"]))
        self.tensors = [Tensor("x", self.type, dims, "in"), Tensor("w", self.type, ("R",), "in"), Tensor("at", self.pick(INDICES), ("R",), "in"),
                        Tensor("to", self.pick(INDICES), ("C",), "in"), self.output, Tensor("n", "i64", ("R",), "out")]
        if self.looks_up:
            self.tensors.insert(0, Tensor("places", self.pick(["u8", "i8", "u16", "i32"]), dims, "in"))

    def kernel(self, name):
        block = self.pick(["16", "64"] if self.looks_up else ["1", "4", "8", "16", "64"])
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors)
        body = self.blocks() if self.in_blocks else self.whole()
        return text(f"kernel {name}({params}) {{\n", f"spmd for r in R by {block} {{\n", statements(body), "}\n", "}\n")

    def element(self):
        """Generates an element of a row, possibly a gathered one."""
        value = f"x[{self.at}]"
        way = self.random.random()
        if way < 0.2:
            self.generator.shows["gather of rows"] += 1
            row = self.index("at[r]", "R")
            value = f"x[c, {row}]" if self.is_transposed else f"x[{row}, c]"
        elif way < 0.4 and not self.in_blocks:
            self.generator.shows["gather of elements"] += 1
            column = self.index("to[c]", "C")
            value = f"x[{column}, r]" if self.is_transposed else f"x[r, {column}]"
        value = f"({value} as {self.accumulator})"
        return self.pick([value, value, f"({value} * (w[r] as {self.accumulator}))", f"max({value}, (w[r] as {self.accumulator}))"])

    def index(self, value, size):
        """Generates an index below the size, whose bounds are known to the compiler in some of the ways."""
        short = f"abs(({value} % 100) as {self.pick(['i64', 'i32', 'i16'])})"
        ways = [f"{short} as i64 % {size}", f"min({short} as i64, {size} - 1)", f"min({short} as i32, ({size} - 1) as i32)"]
        return self.pick(ways)

    def scan(self, value):
        words = self.pick(["", "", " reversed", " exclusive", " reversed exclusive"])
        op = self.pick(["cumsum", "cumsum", "cumprod", "cummax"])
        self.generator.shows[f"{op} of rows"] += 1
        return f"{op}({value} over c{words})"

    def lookup(self):
        """Generates a tile whose elements another tile's indices choose. Both are loaded together, and often transposed."""
        if not self.looks_up:
            return []
        self.generator.shows["lookup in rows"] += 1
        other = self.pick(["0", "1"])
        return [f"let q = e[c = places[{self.at}] else {other} as {self.accumulator}];\n"]

    def whole(self):
        parts = ["range c in C max 300;\n", f"let e = {self.element()};\n", *self.lookup(), f"let s = {self.scan('e')};\n"]
        value = self.pick(["s", "(s + e)", "(s - e)", "max(s, e)", f"{self.scan('s')}", f"(s + sum(e over c) as {self.accumulator})"])
        if self.looks_up:
            value = self.pick(["q", f"({value} + q)"])
        if self.output.direction == "inout":
            value = f"({value} + y[{self.at}])"
        parts.append(f"y[{self.at}] = {value};\n")
        if self.looks_up and self.chance(0.7):  # without reductions, rows are in the lanes of vectors
            return [*parts, "n[r] = iota(r);\n"]
        value = self.pick(["e", "s", f"x[{self.at}]", f"max(e, 0 as {self.accumulator})"])
        self.generator.shows["position of an extremum"] += 1
        parts.append(f"n[r] = {self.pick(['argmax', 'argmin'])}({value} over c);\n")
        return parts

    def blocks(self):
        size = self.pick(["4", "8", "24", "64"])
        inner = [f"let s = before + cumsum({self.element()} over c);\n", f"y[{self.at}] = s;\n", "before = s[c = c.start + c.size - 1];\n"]
        return [f"var before: {self.accumulator}[r] = 0;\n", "var count: i64[r] = 0;\n", f"for c in C by {size} {{\n", statements(inner), "}\n",
                "n[r] = count;\n"]
