"""Random programs that fuse stencils. `kernelc run --verify` compares them with the launches one after another."""

from names import Tensor
from pixels import Pixels
from stencils import Stencil
from tree import statements, text


class Fused(Pixels):

    def fused(self):
        """Generates kernels and a program `main`, whose launches are in a `fuse`. Returns the kernels and the program."""
        first = Stencil(self, fused=True)
        drawn = [first] + [Stencil(self, fused=True, like=first) for _ in range(self.pick([1, 1, 2, 3]))]
        self.sizes, self.scalars, self.generics = first.sizes, [], []
        self.shows[f"fuse of {len(drawn)} kernels"] += 1
        kernels = [d.kernel(f"k{number}") for number, d in enumerate(drawn)]
        dims = f"{first.type}[{', '.join(first.result.dims)}]"
        self.tensors = [Tensor("x", first.type, first.result.dims, "in")]
        locals_, launches, last = [], [], "x"
        for number, stencil in enumerate(drawn):
            weights = stencil.tensors[1]
            self.tensors.append(Tensor(f"w{number}", weights.type, weights.dims, "in"))
            # Often a kernel reads the result of the one before it, sometimes that of an earlier one.
            source = self.pick([last, last, last] + [f"h{n}" for n in range(number)] + ["x"])
            last = f"h{number}"
            launches.append(f"spmd k{number}({source}, w{number}, {last});\n")
            if number + 1 == len(drawn) or self.chance(0.2):
                self.tensors.append(Tensor(last, first.type, first.result.dims, "out"))
            else:
                locals_.append(f"let {last}: {dims};\n")
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors)
        word = "fuse " if self.chance(0.9) else ""
        main = text(f"program main({params}) {{\n", statements(locals_), word, "{\n", statements(launches), "}\n}\n")
        self.callees = ["main"]
        return statements(kernels), "export ", main
