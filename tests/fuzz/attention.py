"""Random kernels like attention: the scores of rows are products, which are reduced over columns and multiplied
by values. Often there are few rows, and columns do not fill the last block."""

from fused import Fused
from names import Tensor
from tree import statements, text

ROWS = [1, 1, 2, 3, 5, 7, 8, 9, 12, 33]
COLUMNS = [0, 1, 5, 16, 31, 37, 64, 100]
TERMS = [1, 3, 8, 20, 64]
TYPES = ["f32", "f32", "f32", "f64", "f16", "bf16", "i32"]


class Attention(Fused):

    def attention(self, name):
        """Generates a kernel with this name."""
        drawn = Scores(self)
        self.sizes, self.scalars, self.generics, self.tensors = drawn.sizes, [], [], drawn.tensors
        self.shows[f"attention of {drawn.type}"] += 1
        return drawn.kernel(name)


class Scores:
    """One kernel. `generator` makes the random choices."""

    def __init__(self, generator):
        self.pick, self.chance = generator.pick, generator.chance
        self.sizes = {"L": self.pick(ROWS), "S": self.pick(COLUMNS)}
        self.terms, self.wide = self.pick(TERMS), self.pick(TERMS)
        self.type = self.pick(TYPES)
        self.sum = "f32" if self.type in ("f16", "bf16") else self.type
        d, e = str(self.terms), str(self.wide)
        self.tensors = [Tensor("q", self.type, ("L", d), "in"), Tensor("x", self.type, ("S", d), "in"),
                        Tensor("v", self.type, ("S", e), "in"), Tensor("o", self.sum, ("L", e), "out")]

    def kernel(self, name):
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors)
        before = [f"var acc: {self.sum}[i, e] = 0;\n"]
        steps = [f"let s = dot(q[i, d], x[j, d] over d){self.pick(['', ' * 2', ' + 1'])};\n"]
        weight = self.pick(["s", "max(s, 0)", "s * s"])
        result = "acc"
        for number in range(self.pick([0, 1, 1, 2])):
            kept, op = f"r{number}", self.pick(["max", "min", "sum"])
            before.append(f"var {kept}: {self.sum}[i] = {self.pick(['0', '1'])};\n")
            joined = f"{kept} + sum({weight} over j)" if op == "sum" else f"{op}({kept}, {op}(s over j))"
            steps.append(f"{kept} = {joined};\n")
            if op != "sum" and self.sum[0] == "f" and self.chance(0.7):
                weight = f"exp(s - {kept})"
            result += f" {self.pick('+-*')} {kept}"
        steps += [f"let p = {weight};\n", f"acc += dot(p, v[j, e] as {self.sum} over j);\n"]
        loop = text(f"for j in S by {self.pick(['8', '16', '64'])} {{\n", statements(steps), "}\n")
        body = statements([*before, loop, f"o[i, e] = {result};\n"])
        ranges = [f"range d in {self.terms};\n", f"range e in {self.wide};\n"]
        head = f"spmd for i in L by {self.pick(['8', '12', '32', '64'])} {{\n"
        return text(f"kernel {name}({params}) {{\n", statements(ranges), head, body, "}\n", "}\n")
