"""Random kernels with counted outputs, to which they append elements or rows that a condition selects. Their contracts say which.
There are more and fewer elements than lanes in a vector, and conditions that select all elements, some of them or none."""

import dataclasses

from names import Tensor
from packs import Packs
from tree import statements, text

TYPES = ["bool", "u8", "i16", "i32", "i32", "i64", "f16", "f32", "f32", "f32", "f64"]
LENGTHS = [0, 1, 2, 7, 8, 15, 16, 17, 33, 64, 100, 300, 1000]
ROWS = [0, 1, 2, 5, 16, 19]


@dataclasses.dataclass(frozen=True)
class CountedTensor(Tensor):
    limit: str = ""  # the size as it is declared, such as `n <= N`

    def shown(self):
        return f"{self.name}: {self.direction} {self.type}[{', '.join([self.limit or self.dims[0], *self.dims[1:]])}]"


class Appends(Packs):

    def appends(self, name):
        """Generates a kernel with this name."""
        self.sizes = {"M": self.pick([0, 1, 2, 3, 7]), "N": self.pick(LENGTHS), "D": self.pick(ROWS)}
        self.scalars, self.generics = [], []
        self.tensors = [Tensor("x", self.pick(TYPES), ("N",), "in"), Tensor("w", self.pick(TYPES), ("N",), "in"),
                        Tensor("r", self.pick(TYPES), ("N", "D"), "in"), Tensor("m", self.pick(TYPES), ("M", "N"), "in")]
        loops, equations = [], []
        for number in range(self.pick([1, 1, 2])):
            loop, stated = self.appending(number)
            loops.append(loop)
            equations += stated
        self.shows["append"] += len(loops)
        params = ", ".join(t.shown() if isinstance(t, CountedTensor) else f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]"
                           for t in self.tensors)
        generics = f"<{', '.join(self.generics)}>" if self.generics else ""
        body = [text("range d in D max 64;\n"), *loops]
        return text(f"kernel {name}{generics}({params}) {{\n", statements(body), "}\n", "ensures {\n", statements(equations), "}\n")

    def appending(self, number):
        """Generates a loop that appends, and the equations for its outputs."""
        form = self.pick(["elements", "elements", "elements", "rows", "matrix", "single"])
        over = "i, j" if form == "matrix" else "j"
        condition = self.selecting(form)
        outputs, targets, values, equations = [], [], [], []
        for k in range(self.pick([1, 1, 2, 3])):
            is_row = form == "rows" and self.chance(0.7)
            type_, value = self.appended(form, is_row)
            limit = "M * N" if form == "matrix" else "N"
            target = CountedTensor(f"y{number}_{k}", type_, (limit, "D") if is_row else (limit,), "out", limit=f"n{number} <= {limit}")
            outputs.append(target)
            targets.append(f"{target.name}[d]" if is_row else target.name)
            values.append(value)
            selected = f" where {condition}" if condition else ""
            listed = value.replace("iota(j)", "j")
            equations.append(text(f"{targets[-1]} == [{listed}{selected} over {over}];\n"))
        self.tensors += outputs
        where = f" where {condition}" if condition else ""
        statement = f"append {', '.join(targets)} += {', '.join(values)}{where};\n"
        if form == "single":
            statement = statement.replace("iota(j)", "j")
        lines = [statement]
        if condition and self.chance(0.15):  # a name like those that the compiler makes for the output
            name = f"_n{number}_{self.pick(['keep', 'next', 'count', 'place', 'blocks'])}"
            lines = [f"let {name} = {condition};\n", statement.replace(where, f" where {name}")]
        head = {"single": "spmd for j in 0..N", "matrix": f"spmd for i in 0..M, j in N by {self.block_size()}"}.get(form)
        return text(f"{head or f'spmd for j in N by {self.block_size()}'} {{\n", statements(lines), "}\n"), equations

    def selecting(self, form):
        """Generates a condition on the element j, or nothing if all elements are appended."""
        if self.chance(0.15):
            return ""
        tensor = self.tensors[3] if form == "matrix" else self.pick(self.tensors[:2])
        element = f"{tensor.name}[i, j]" if form == "matrix" else f"{tensor.name}[j]"
        if tensor.type == "bool":
            condition = element
        elif tensor.type in ("f16", "f32", "f64"):
            condition = f"{element} {self.pick(['<', '>', '<='])} {self.pick(['0.0', '0.5', '-0.9', '2.0'])}"
        else:
            condition = f"{element} % {self.pick([2, 3, 7])} {self.pick(['==', '!='])} 0"
        return self.pick([condition, condition, f"!({condition})"])

    def appended(self, form, is_row):
        """Returns the type of an appended element, and its value."""
        if is_row:
            return self.tensors[2].type, "r[j, d]"
        if self.chance(0.3):
            return "i64", "iota(j)"
        if form == "matrix":
            return self.tensors[3].type, "m[i, j]"
        tensor = self.pick(self.tensors[:2])
        return tensor.type, f"{tensor.name}[j]"
