"""Random kernels on pixels: elements with two to four channels next to each other, often narrower than the inputs,
and loads and stores of every second to fourth element. Some planes have half as many columns, as the colours of a video
have. Rows are a little shorter or longer than vectors."""

from names import Tensor
from stencils import HEIGHTS, TYPES, WIDTHS, Stencils
from tree import statements, text


class Pixels(Stencils):

    def pixels(self, name):
        """Generates a kernel with this name."""
        drawn = Pixel(self)
        self.sizes, self.scalars, self.generics, self.tensors = drawn.sizes, [], [], drawn.tensors
        self.shows[f"{drawn.way.__name__} of {drawn.type}"] += 1
        self.shows[f"pixels from {drawn.loaded} of {drawn.type}"] += drawn.loaded != drawn.type
        return text(f"kernel {name}", drawn.body)


class Pixel:
    """One kernel. `generator` makes the random choices."""

    def __init__(self, generator):
        self.random, self.pick, self.chance = generator.random, generator.pick, generator.chance
        self.type, self.channels = self.pick(TYPES), self.pick([2, 2, 3, 3, 4, 4])
        self.loaded = self.pick([self.type, self.type, "i32", "f32", self.pick(TYPES)])  # the type of `in` tensors, which results may have to narrow
        self.computed = self.type if self.type in ("i32", "i64", "f32", "f64") else "i32"
        self.sizes = {"N": self.pick(WIDTHS)}
        self.rows = self.chance(0.4)
        if self.rows:
            self.sizes["M"] = self.pick(HEIGHTS)
        self.block = self.pick(["64", "100", "256"])
        self.head = f"{'m in M by 4, ' if self.rows else ''}n in N by {self.block}"
        self.at = "m, n" if self.rows else "n"
        self.dims = ("M", "N") if self.rows else ("N",)
        self.tensors, self.relations = [], []
        self.way = self.pick([self.all_channels, self.each_channel, self.flat, self.window, self.reduced])
        self.body = self.way()

    def whole(self, parts, constants=()):
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors)
        where = f" where {', '.join(self.relations)}" if self.relations else ""
        return text(f"({params}){where} {{\n", f"spmd for {self.head} {{\n", statements(list(constants)), statements(parts), "}\n", "}\n")

    def given(self, name, dims, direction="in"):
        self.tensors.append(Tensor(name, self.loaded if direction == "in" else self.type, dims, direction))

    def converted(self, value):
        return f"({value} as {self.computed})"

    def coarse(self):
        """Returns loads of a tensor with half as many columns, or none."""
        if self.chance(0.6):
            return []
        self.sizes["Q"] = (self.sizes["N"] + 1) // 2
        self.relations.append("Q == (N + 1) / 2")
        self.given("h", (*self.dims[:-1], "Q"))
        load = f"h[{'m, ' if self.rows else ''}iota(n) / 2]"
        return [load, load]

    def joined(self, values):
        result = values[0]
        for value in values[1:]:
            result = self.pick([f"({result} + {value})", f"({result} - {value})", f"({result} * {value})", f"min({result}, {value})", f"max({result}, {value})"])
        return result

    def stored(self, place, values):
        return f"{place} = {self.joined(values)} as {self.type};\n"

    def some(self, ways):
        return [self.converted(self.pick(ways)) for _ in range(self.random.randint(1, 4))]

    def all_channels(self):
        """The last range is that of the channels."""
        count = str(self.channels)
        changed = self.pick(["out", "out", "inout"])
        self.given("x", (*self.dims, count))
        self.given("w", self.dims)
        self.given("g", (count,))
        self.given("y", (*self.dims, count), changed)
        ways = [f"x[{self.at}, c]", f"x[{self.at}, c]", f"x[{self.at}, {self.random.randrange(self.channels)}]", f"w[{self.at}]", "g[c]", "iota(c)", "iota(n)",
                f"x[{self.at}, {self.channels - 1} - c]"]
        if changed == "inout":
            ways.append(f"y[{self.at}, c]")
        return self.whole([self.stored(f"y[{self.at}, c]", self.some(ways))], [f"range c in {count};\n"])

    def each_channel(self):
        """Each channel has a statement."""
        count = str(self.channels)
        self.given("x", (*self.dims, count))
        self.given("w", self.dims)
        self.given("y", (*self.dims, count), "out")
        ways = [f"x[{self.at}, {c}]" for c in range(self.channels)] + [f"w[{self.at}]"] + self.coarse()
        order = self.random.sample(range(self.channels), self.channels)
        return self.whole([self.stored(f"y[{self.at}, {c}]", self.some(ways)) for c in order])

    def flat(self):
        """Channels of one long row are loaded and stored."""
        self.sizes["P"] = self.channels * self.sizes["N"]
        self.relations.append(f"P == {self.channels} * N")
        lead, dims = ("m, ", ("M", "P")) if self.rows else ("", ("P",))
        self.given("x", dims)
        self.given("w", self.dims)
        self.given("y", dims, "out")
        ways = [f"x[{lead}{self.channels} * n + {c}]" for c in range(self.channels)] + [f"w[{self.at}]"] + self.coarse()
        return self.whole([self.stored(f"y[{lead}{self.channels} * n + {c}]", self.some(ways)) for c in range(self.channels)])

    def window(self):
        """A window moves by more than one element."""
        step, width = self.pick([2, 2, 3, 4]), self.pick([1, 2, 2, 3, 5])
        rest = max(width - step, 0) if self.chance(0.5) else width
        self.sizes["P"] = step * self.sizes["N"] + rest
        self.relations.append(f"P == {step} * N + {rest}" if rest else self.pick([f"P == {step} * N", f"P >= {step} * N"]))
        op = self.pick(["sum", "max", "min"])
        constants = [f"range s in {width};\n"]
        row, over, dims = "", "s", ("P",)
        if self.rows:
            self.sizes["Q"] = 2 * self.sizes["M"] + 2
            self.relations.append("Q == 2 * M + 2")
            row, over, dims = "2 * m + r, ", "r, s", ("Q", "P")
            constants.append("range r in 2;\n")
        self.given("x", dims)
        self.given("y", self.dims, "out")
        index, otherwise = self.pick([("", ""), (" - 1", " else 0")])
        value = f"{op}({self.converted(f'x[{row}{step} * n + s{index}{otherwise}]')} over {over})"
        return self.whole([self.stored(f"y[{self.at}]", [value])], constants)

    def reduced(self):
        """Channels are reduced."""
        count = str(self.channels)
        self.given("x", (*self.dims, count))
        self.given("g", (count,))
        self.given("y", self.dims, "out")
        term = self.converted(f"x[{self.at}, c]")
        value = self.pick([f"sum({term} * {self.converted('g[c]')} over c)", f"max({term} over c)", f"dot({term}, {self.converted('g[c]')} over c)"])
        return self.whole([self.stored(f"y[{self.at}]", [value])], [f"range c in {count};\n"])
