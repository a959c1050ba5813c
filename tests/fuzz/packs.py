"""Random kernels whose tensors have packs of dimensions, `x: in f32[P.., C, Q..]`. Some tensors are `strided` or `broadcast`; such
kernels compute each element of a pack by itself. On the command line, a pack is one dimension; `shapes.py` passes tensors of any
rank."""

import dataclasses

from kernels import Kernels
from names import Range, Scope, Tensor, Value
from tree import expr, statements, text

TYPES = ["i8", "i16", "i32", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f32", "f32", "f64"]
SUMS = {"i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32", "f16": "f32"}
SIZES = [0, 1, 2, 3, 5, 8, 16, 17, 24, 33]
PACKS = ("P", "Q")
FORMS = [("P",), ("Q",), ("C",), ("P", "C"), ("C", "P"), ("P", "Q"), ("Q", "P"), ("P", "C", "Q"), ("P", "C", "Q")]
RANGES = {"P": "p", "Q": "q", "C": "c"}
OPERATORS = ["+", "-", "*"]


@dataclasses.dataclass(frozen=True)
class PackTensor(Tensor):
    strides: str = ""  # "strided " or "broadcast "

    def shown(self):
        dims = ", ".join(f"{dim}.." if dim in PACKS else dim for dim in self.dims)
        return f"{self.name}: {self.direction} {self.strides}{self.type}[{dims}]"

    def at(self):
        return f"{self.name}[{', '.join(RANGES[dim] for dim in self.dims)}]"


class Packs(Kernels):

    def packs(self, name):
        """Generates a kernel with this name."""
        self.sizes = {dim: self.pick(SIZES) for dim in ("P", "Q", "C")}
        self.scalars, self.generics, self.has_strides = [], [], self.chance(0.5)
        inputs = [self.pack_tensor(f"x{number}", self.pick(FORMS), "in") for number in range(self.random.randint(1, 3))]
        given = {dim for tensor in inputs for dim in tensor.dims}
        kept = [dims for dims in (("P",), ("Q",), ("P", "Q"), ("Q", "P"), ("P", "C"), ("P", "C", "Q")) if set(dims) <= given]
        outputs = [self.pack_tensor(f"y{number}", self.pick(kept or [("P",)]), self.pick(["out", "out", "inout"]))
                   for number in range(self.pick([1, 1, 2]))]
        written = {dim for tensor in outputs for dim in tensor.dims}
        self.tensors = [self.pack_repeated(tensor, written) for tensor in inputs] + outputs
        self.sizes = {dim: size for dim, size in self.sizes.items() if dim in given | written}
        self.shows["packs with strides" if self.has_strides else "packs"] += 1
        loops = [text(self.pack_loop([tensor])) for tensor in outputs]
        params = ", ".join(tensor.shown() for tensor in self.tensors)
        generics = f"<{', '.join(self.generics)}>" if self.generics else ""
        return text(f"kernel {name}{generics}({params}) {{\n", statements(loops), "}\n")

    def pack_tensor(self, name, dims, direction):
        strides = "strided " if self.has_strides and self.chance(0.6) else ""
        return PackTensor(name, self.pick(TYPES), dims, direction, strides=strides)

    def pack_repeated(self, tensor, written):
        """Makes some inputs `broadcast`. Their pack must be one of an output, which determines its dimensions."""
        packs = [dim for dim in tensor.dims if dim in PACKS]
        may_repeat = tensor.strides and len(packs) == 1 and packs[0] in written
        if not may_repeat or self.chance(0.5):
            return tensor
        self.shows["broadcast"] += 1
        return dataclasses.replace(tensor, strides="broadcast ")

    def pack_loop(self, outputs):
        """Generates a loop over the dimensions of an output, which is written from elements of inputs and from their sums."""
        output = outputs[0]
        dealt = [dim for dim in output.dims if dim in PACKS or self.chance(0.5)]
        heads = ", ".join(self.pack_head(dim) for dim in dealt)
        scope = Scope()
        scope.ranges = [Range(RANGES[dim], dim, True) for dim in dealt]
        parts = [self.pack_loaded(tensor, scope) for tensor in self.pack_inputs(set(dealt))]
        summed = self.pack_inputs({*dealt, "C"}, "C") if "C" not in dealt else []
        if summed and "C" not in output.dims:
            parts += self.pack_sums(output, summed, scope)
        store = self.pack_store(output, scope)
        if "C" in output.dims and "C" not in dealt:
            inner = Scope(scope)
            inner.ranges = [*scope.ranges, Range("c", "C", True)]
            loads = [self.pack_loaded(tensor, inner) for tensor in summed]
            store = text(f"for {self.pack_head('C')} {{\n", statements([*loads, self.pack_store(output, inner)]), "}\n")
        return text(f"spmd for {heads} {{\n", statements([*parts, store]), "}\n")

    def pack_head(self, dim):
        return f"{RANGES[dim]} in {dim}{'..' if dim in PACKS else ''} by {self.block_size()}"

    def pack_inputs(self, dims, needed=None):
        return [t for t in self.tensors if t.direction == "in" and set(t.dims) <= dims and (needed is None or needed in t.dims)]

    def pack_loaded(self, tensor, scope):
        name = self.fresh("t")
        scope.lets.append(Value(name, tensor.type, frozenset(RANGES[dim] for dim in tensor.dims)))
        return f"let {name} = {tensor.at()};\n"

    def pack_sums(self, output, summed, scope):
        """Generates a variable to which a loop over C adds sums."""
        type_ = self.pick(["i32", "i64", "u32", "f32", "f64"])
        ranges = frozenset(RANGES[dim] for dim in output.dims)
        name = self.fresh("v")
        inner = Scope(scope)
        inner.ranges = [*scope.ranges, Range("c", "C", True)]
        loads = [self.pack_loaded(tensor, inner) for tensor in summed]
        of = self.pick([one for one in TYPES if SUMS.get(one, one) == type_])
        value = self.over(["c"], of, self.pack_value(of, ranges | {"c"}, inner))
        scope.lets.append(Value(name, type_, ranges))
        loop = text(f"for {self.pack_head('C')} {{\n", statements([*loads, text(f"{name} += sum(", value, " over c);\n")]), "}\n")
        return [f"var {name}: {type_}[{', '.join(sorted(ranges))}] = 0;\n", loop]

    def pack_store(self, output, scope):
        ranges = frozenset(RANGES[dim] for dim in output.dims)
        op = "=" if output.direction == "out" else self.pick(["=", "+=", "*="])
        return text(f"{output.at()} {op} ", self.pack_value(output.type, ranges, scope), ";\n")

    def pack_value(self, type_, allowed, scope):
        """Generates a value of these ranges. Without strides, it can be any expression, such as one that reduces over a pack."""
        return self.by_element(type_, allowed, scope, 0) if self.has_strides else self.expression(type_, allowed, scope, 2)

    def by_element(self, type_, allowed, scope, depth):
        """Generates a value whose elements depend on those with the same indices only."""
        if depth < 3 and self.chance(0.7):
            sides = [self.by_element(type_, allowed, scope, depth + 1) for _ in range(2)]
            if self.chance(0.3):
                return expr(type_, allowed, f"{self.pick(['min', 'max'])}(", sides[0], ", ", sides[1], ")")
            return expr(type_, allowed, "(", sides[0], f" {self.pick(OPERATORS)} ", sides[1], ")")
        values = [value for value in scope.values() if value.ranges <= allowed]
        if values and self.chance(0.7):
            value = self.pick(values)
            return self.as_type(type_, value.type, allowed, expr(value.type, allowed, value.name, own=value.ranges))
        if allowed and self.chance(0.5):
            return self.as_type(type_, "i64", allowed, self.iota(self.pick(sorted(allowed)), allowed))
        return expr(type_, allowed, self.literal(type_))
