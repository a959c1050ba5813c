"""Random kernels that read some tensors along rows and others along columns, next to each other: transpositions, sums with
the transpose, and tiles that are read along their columns. Blocks are shorter and longer than rows."""

from names import Tensor
from rows import Rows
from tree import statements, text

SIZES = [1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 40, 65]
TYPES = ["f32", "f32", "f32", "f64", "f16", "u8", "i16", "i32", "i64"]


class Transposes(Rows):

    def transposes(self, name):
        """Generates a kernel with this name."""
        drawn = Transpose(self)
        self.sizes, self.scalars, self.generics, self.tensors = drawn.sizes, [], [], drawn.tensors
        self.shows["rows and columns"] += 1
        return text(f"kernel {name}", drawn.text)


class Transpose:
    """One kernel. `generator` makes the random choices."""

    def __init__(self, generator):
        self.random, self.pick, self.chance = generator.random, generator.pick, generator.chance
        self.type = self.pick(TYPES)
        self.is_square = self.chance(0.6)
        self.columns = "M" if self.is_square else "N"
        self.sizes = {"M": self.pick(SIZES)}
        if not self.is_square:
            self.sizes["N"] = self.pick(SIZES)
        self.batch = self.pick([None, None, "b", "b"])
        if self.batch:
            self.sizes["B"] = self.pick([1, 2, 3])
        self.tensors = []
        self.text = self.kernel()

    def given(self, name, direction="in"):
        """Adds a tensor, and returns how it is read: along rows, or along columns."""
        ways = [("i, j", ("M", self.columns)), ("j, i", (self.columns, "M"))]
        self.random.shuffle(ways)
        lead, dims = ("b, ", ("B",)) if self.batch else ("", ())
        self.tensors.append(Tensor(name, self.type, (*dims, *ways[0][1]), direction))
        both = self.is_square and direction == "in"
        return [f"{name}[{lead}{at}]" for at, _ in (ways if both else ways[:1])]

    def joined(self, values):
        result = values[0]
        for value in values[1:]:
            result = self.pick([f"({result} + {value})", f"({result} - {value})", f"({result} * {value})", f"min({result}, {value})", f"max({result}, {value})"])
        return result

    def kernel(self):
        places = [place for name in self.pick(["x", "xw", "xwv"]) for place in self.given(name)]
        statement = []
        if self.chance(0.3):
            statement.append(f"let e = {self.joined(self.random.sample(places, min(2, len(places))))};\n")
            places.append("e")
            if self.is_square and self.batch and self.chance(0.5):
                places.append("e[i = iota(j), j = iota(i)]")
        store = self.given("y", self.pick(["out", "out", "inout"]))[0]
        if self.tensors[-1].direction == "inout":
            places.append(store)
        chosen = [self.pick(places) for _ in range(self.random.randint(1, 4))]
        statement.append(f"{store} = {self.joined(chosen)};\n")
        return self.around(statement)

    def around(self, body):
        """Puts the statements into an spmd with blocks, or into one whose blocks are whole, as tiles that are read by columns need."""
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors)
        is_tile = any("iota" in part for part in body)
        heads = [f"i in M by {self.pick(['4', '8', '32', '64'])}", f"j in {self.columns} by {self.pick(['8', '32', '64', '256'])}"]
        batch = ["b in 0..B"] if self.batch else []
        ranges = ["range i in M max 65;\n", f"range j in {self.columns} max 65;\n"]
        self.random.shuffle(heads)
        self.random.shuffle(ranges)
        if batch and (is_tile or self.chance(0.5)):
            return text(f"({params}) {{\n", statements(ranges), f"spmd for {batch[0]} {{\n", statements(body), "}\n", "}\n")
        return text(f"({params}) {{\n", f"spmd for {', '.join(batch + heads)} {{\n", statements(body), "}\n", "}\n")
