"""Random kernels in which each block has its own layers of a tensor. A block loads, stores and updates its
layers in any order and at any place. A loaded value must not change with later stores."""

from names import FLOATS, NUMBERS, Range, Scope, Tensor, Value
from transposes import Transposes
from tree import statements, text

EDGES = ["4", "8", "16", "17", "24", "32", "40"]
MOST_PARTS = 6


class Layers(Transposes):

    def layers(self, name):
        """Generates a kernel with this name."""
        self.edge = self.pick(EDGES)
        self.sizes, self.scalars, self.generics = {"G": self.pick([1, 2, 3])}, [], []
        self.layer_range = Range("g", "G", self.chance(0.3), extent=self.pick("123"))
        types = ["i32", "i32", "f32", "f32", self.pick(NUMBERS)]
        self.layered = [Tensor(name_, self.pick(types), ("G", self.edge, self.edge), "inout") for name_ in "yu"]
        given = [Tensor("x", self.pick(types), (self.edge, self.edge), "in"), Tensor("w", self.pick(types), (self.edge,), "in")]
        self.tensors = [*self.layered, *given]
        scope = Scope()
        scope.ranges = [Range(range_, self.edge, True) for range_ in "ij"]
        scope.tensors = given
        self.result = Tensor("z", self.pick(["i32", "f32"]), ("G", self.edge, self.edge), "out")
        self.tensors.append(self.result)
        ranges = frozenset("ij") | self.of_layer()
        inner = Scope(scope)
        if not self.layer_range.blocked:
            inner.ranges.append(self.layer_range)
        inner.vars = [Value("v", self.result.type, ranges)]
        parts = [f"var v: {self.result.type}[{', '.join(sorted(ranges))}] = 0;\n", *self.layer_turns(inner, 0)]
        parts.append(text("z[g, i, j] = ", self.expression(self.result.type, ranges, inner, 2), ";\n"))
        head = f"g in G by {self.layer_range.extent}" if self.layer_range.blocked else "g in 0..G"
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors)
        generics = f"<{', '.join(self.generics)}>" if self.generics else ""
        return text(f"kernel {name}{generics}({params}) {{\n", f"range i in {self.edge};\nrange j in {self.edge};\n",
                    f"spmd for {head} {{\n", statements(parts), "}\n}\n")

    def of_layer(self):
        return frozenset("g") if self.layer_range.blocked else frozenset()

    def layer_turns(self, scope, depth):
        ways = [self.layer_loaded, self.layer_loaded, self.layer_stored, self.layer_stored, self.layer_summed, self.layer_updated, self.layer_product]
        if depth < 2:
            ways += [self.layer_loop] * 2
        parts = []
        for _ in range(self.random.randint(2, MOST_PARTS)):
            way = self.pick(ways)
            parts.append(way(scope, depth) if way == self.layer_loop else way(scope))
        return parts

    def layer_loop(self, scope, depth):
        inner = Scope(scope)
        inner.in_loop = True
        blocked = self.chance(0.7)
        range_ = Range(self.fresh("k" if blocked else "r"), self.edge, blocked, extent=self.block_size())
        inner.ranges.append(range_)
        step = f" by {range_.extent}" if blocked else f" step {self.pick([1, 3, 8])}"
        return text(f"for {range_.name} in 0..{self.edge}{step} {{\n", statements(self.layer_turns(inner, depth + 1)), "}\n")

    def layer_place(self, scope, most=2):
        """Returns (an index that differs between any two points of its ranges, those ranges)."""
        ranges = self.random.sample([r.name for r in scope.blocked()], min(most, len(scope.blocked())))
        numbers = [r.name for r in scope.scalars() if r.size == self.edge] + ["0", "1"]
        if self.chance(0.2):
            ranges[0] = self.pick(numbers)
        self.random.shuffle(ranges)
        index = [f"{self.edge} - 1 - {r}" if self.chance(0.2) else r for r in ranges]
        return f"g, {', '.join(index)}", (frozenset(ranges) - set(numbers)) | self.of_layer()

    def layer_loaded(self, scope):
        """Generates a load whose value is used later."""
        tensor = self.pick(self.layered)
        if self.chance(0.6):
            index, ranges = self.layer_place(scope)
            else_ = ""
        else:
            allowed = frozenset(self.random.sample([r.name for r in scope.blocked()], 2))
            indices = [self.index(self.edge, allowed, scope) for _ in range(2)]
            index = text("g, ", indices[0][0], ", ", indices[1][0])
            ranges = index.has() | ((indices[0][1] | indices[1][1]) & allowed) | self.of_layer()
            else_ = "" if all(sure for _, _, sure in indices) else " else 0"
        name = self.fresh("t")
        scope.lets.append(Value(name, tensor.type, ranges))
        self.shows["layer loaded"] += 1
        return text(f"let {name} = {tensor.name}[", index, f"{else_}];\n")

    def layer_stored(self, scope):
        tensor = self.pick(self.layered)
        index, ranges = self.layer_place(scope)
        self.shows["layer stored"] += 1
        op = self.pick(["=", "=", "+="])
        return self.store(f"{tensor.name}[{index}]", tensor, op, ranges, scope, where=self.chance(0.2))

    def layer_updated(self, scope):
        tensor = self.pick(self.layered)
        index, ranges = self.layer_place(scope)
        op = self.pick(["max=", "min="] if tensor.type in FLOATS else ["+=", "max=", "^="])
        self.shows["layer updated"] += 1
        return text(f"atomic {tensor.name}[{index}] {op} ", self.expression(tensor.type, ranges, scope, 2), ";\n")

    def layer_summed(self, scope):
        var = self.pick(scope.vars)
        return text(f"{var.name} {self.pick(['=', '+='])} ", self.expression(var.type, var.ranges, scope, 1), ";\n")

    def layer_product(self, scope):
        """Generates products that are added to the sums. Their factors were loaded earlier, or are loaded
        here."""
        over = [r.name for r in scope.blocked() if r.name not in "ijg"]
        var = scope.vars[0]
        if not over:
            return self.layer_summed(scope)
        k = over[-1]
        factors = []
        for kept in self.random.sample(["i", "j"], 2):
            there = [v.name for v in scope.lets if v.type == var.type and v.ranges - self.of_layer() == {kept, k}]
            own = [t for t in self.layered if t.type == var.type]
            at = ", ".join(self.random.sample([kept, k], 2))
            if there and self.chance(0.8):
                factors.append(self.pick(there))
            elif own:
                factors.append(f"{self.pick(own).name}[g, {at}]")
            else:
                factors.append(f"(x[{at}] as {var.type})")
        self.shows["product of layers"] += 1
        return f"{var.name} += dot({factors[0]}, {factors[1]} over {k});\n"
