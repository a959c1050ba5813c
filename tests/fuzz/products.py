"""Random kernels that multiply two tiles, in blocks for matrix instructions and for groups of warps. Factors
are loaded in any way or computed; results are scaled, reduced, passed on and printed."""

import math

from names import SUMS, Range, Scope, Tensor, Value
from convolutions import Convolutions
from tree import statements, text

MOST_STEPS = 300000  # limit on the steps of all products together
LAYERS = 3
TYPES = [("bf16", "bf16")] * 4 + [("f16", "f16"), ("i8", "i8"), ("u8", "u8"), ("u8", "i8"), ("f8e4m3", "f8e5m2"), ("f8e5m2", "f8e5m2"),
                                  ("f32", "f32"), ("f32", "f32"), ("f64", "f64")]
KEPT = [1, 3, 8, 16, 17, 32, 63, 64, 65, 72, 128]
TERMS = [0, 1, 5, 16, 31, 32, 48, 64, 72, 128, 136, 200]


class Products(Convolutions):

    def matrices(self, name):
        """Generates a kernel with this name."""
        self.sizes, self.scalars, self.generics, self.tensors = {}, [], [], []
        self.sizes["M"], self.sizes["N"], self.sizes["K"] = self.pick(KEPT), self.pick(KEPT), self.pick(TERMS)
        while math.prod(self.sizes.values()) > MOST_STEPS:
            self.sizes[max(self.sizes, key=self.sizes.get)] //= 2
        rows = Range("i", "M", True, extent=self.pick(["16", "32", "64", "64", "64", "128", "20"]))
        columns = Range("j", "N", True, extent=self.pick(["16", "32", "64", "64", "128", "12"]))
        self.terms = self.pick(["16", "32", "64", "64", "64", "128", "24"])
        # Only the stores of plain products are moved into the loop (fuse-epilogue).
        self.is_plain = self.chance(0.2)
        self.of = self.pick([("f32", "f32"), ("f64", "f64")] if self.is_plain else TYPES)
        acc = SUMS.get(self.of[0], self.of[0]) if self.of != ("u8", "i8") else "i32"
        self.shows[f"product of {self.of[0]} by {self.of[1]}"] += 1
        before, in_turn, after = [], [], []
        factors = [self.factor(number, kept, before, in_turn) for number, kept in ((0, rows), (1, columns))]
        if "f32" == self.of[0] and self.chance(0.1 if self.is_plain else 0.5):
            factors = [f"{factor} as tf32" for factor in factors]
        first = self.pick(["0"] * 5 + (["tanh(iota(i) as f32 * 0.1 + iota(j) as f32)"] if acc == "f32" else []))
        before.append(f"var acc: {acc}[i, j] = {first};\n")
        in_turn.append(self.summed(acc, factors))
        if not self.is_plain and self.chance(0.2):
            self.second(acc, before, in_turn, factors)
        if not self.is_plain and self.chance(0.2):
            self.hand_on(acc, before, in_turn, after)
        loop = text(f"for d in K by {self.terms}{self.hint('@pipelined(1)', '@pipelined(3)')} {{\n", statements(in_turn), "}\n")
        stores = self.results(acc, rows, columns)
        heads = [f"i in M by {rows.extent}", f"j in N by {columns.extent}"]
        body = text(f"spmd for {', '.join(heads)}{self.hint('@dynamic', '@order(grouped = 2)')} {{\n",
                    statements([*before, loop, *after, *stores]), "}\n")
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors)
        return text(f"kernel {name}({params}) {{\n", body, "}\n")

    def given(self, name, type_, *dims, direction="in"):
        self.tensors.append(Tensor(name, type_, dims, direction))
        return name

    # Factors.

    def factor(self, number, kept, before, in_turn):
        """Returns the operand of the dot. The statements that compute it are added to those of an iteration,
        and sometimes to those before the loop."""
        name, type_ = "ab"[number], self.of[number]
        loaded = self.loaded(name, type_, kept)
        way = "loaded" if self.is_plain else self.pick(["loaded"] * 5 + ["made", "made", "masked", "weighed", "cast"])
        self.shows[f"factor {way}"] += 1
        if way == "loaded":
            if self.chance(0.7):
                return loaded
            value = loaded
        elif way == "made":
            value = self.pick([f"max({loaded}, 0)", f"{loaded} + {loaded}", f"{loaded} * 2"])
        elif way == "masked":
            value = f"if iota(d) <= iota({kept.name}) + 3 then {loaded} else 0"
        elif way == "weighed":
            value = f"{loaded} * {self.given('g' + name, type_, 'K')}[d]"
        else:
            value = f"({self.loaded('w' + name, 'f32' if type_ != 'f32' else 'f16', kept)} as {type_})"
        in_turn.append(f"let f{name} = {value};\n")
        return f"f{name}"

    def loaded(self, name, type_, kept):
        """Returns elements of a tensor along two ranges: `kept` and d."""
        i, m = kept.name, kept.size
        dims, index = [(m, i), ("K", "d")], ""
        way = "plain" if self.is_plain else self.pick(["plain"] * 5 + ["diagonal", "back", "apart", "shifted", "layer", "layers", "rows"])
        self.shows[f"factor of {way}"] += 1
        if way == "diagonal":
            dims[0] = (f"{m} + K", f"{i} + d")
        elif way == "back":
            dims[0] = (f"{m} + K", f"{i} - d + K")
        elif way == "apart":
            at = self.pick([0, 1]) if name == "a" else 0  # one dimension must be just K
            dims[at] = (f"2 * {dims[at][0]}", f"2 * {dims[at][1]}")
        elif way == "shifted":
            at = self.pick([0, 1])
            dims[at] = (dims[at][0], f"{dims[at][1]} - {self.pick([1, 8])}")
            index = " else 0"
        elif way == "layer":
            dims.insert(self.pick([0, 1]), (str(LAYERS), str(self.pick([0, 2]))))
        elif way == "layers":
            at = self.given("l" + name, "i64", m)
            dims.insert(self.pick([0, 1]), (str(LAYERS), f"clamp({at}[{i}], 0, {LAYERS - 1})"))
        elif way == "rows":
            at = self.given("r" + name, "i64", m)
            dims[0] = (m, f"clamp({at}[{i}], 0, {m} - 1)")
        if self.chance(0.5):
            dims.reverse()
        self.given(name, type_, *(dim for dim, _ in dims))
        return f"{name}[{', '.join(index_ for _, index_ in dims)}{index}]"

    # Uses of the product.

    def summed(self, acc, factors):
        dot = f"dot({', '.join(factors)} over d)"
        return f"acc += {dot};\n" if self.is_plain else self.pick([f"acc += {dot};\n"] * 5 + [f"acc = acc * 2 + {dot};\n", f"let s = {dot};\nacc = acc + s * 2;\n"])

    def second(self, acc, before, in_turn, factors):
        """Generates a second product that shares a factor with the first."""
        self.shows["two products"] += 1
        before.append(f"var more: {acc}[i, j] = 0;\n")
        other = self.loaded("c", self.of[1], Range("j", "N", True))
        if "tf32" in factors[0]:
            other += " as tf32"
        in_turn.append(f"more += dot({factors[0]}, {other} over d);\n")
        in_turn.append(self.pick(["", "acc = acc + more;\n"]))

    def hand_on(self, acc, before, in_turn, after):
        """Generates assignments of an iteration's sum to a variable that outlives the iteration."""
        self.shows["sum handed on"] += 1
        before.append(f"var last: {acc}[i, j] = 1;\n")
        in_turn.append(self.pick(["last = acc;\n", "if d.index == 1 { last = acc; }\n", "let t = last; last = acc; acc = t;\n"]))
        after.append("acc = acc + last;\n")
        if self.chance(0.3):
            after.append('print("last", last);\n')

    def results(self, acc, rows, columns):
        """Generates stores of values computed from the product."""
        scope = Scope()
        scope.ranges, scope.lets = [rows, columns], [Value("acc", acc, frozenset("ij"))]
        scope.tensors = [t for t in self.tensors if not t.name.startswith(("l", "r"))]
        type_ = self.pick([acc, acc, self.of[0]])
        plain = self.pick(["acc", "max(acc, 0)", "acc * acc", "-acc"])
        if acc == "f32" and self.chance(0.3):
            self.shows["product through a long function"] += 1
            plain = self.pick(["tanh(acc)", "sigmoid(acc)", "log(abs(acc) + 1.0)", "sin(acc)", "pow(abs(acc), 0.3)"])
        value = self.expression(type_, frozenset("ij"), scope, 2) if self.chance(0.3) else f"({plain}) as {type_}"
        turned = self.chance(0.3)
        y = self.given("y", type_, *(("N", "M") if turned else ("M", "N")), direction=self.pick(["out", "out", "inout"]))
        at = "[j, i]" if turned else "[i, j]"
        op = self.pick(["=", "+="]) if self.tensors[-1].direction == "inout" else "="
        if op == "=" and type_ == acc and self.chance(0.7 if self.is_plain else 0.2):
            value = self.updated(y + at, self.tensors[-1].direction)
        stores = [text(f"{y}{at} {op} ", value, ";\n")]
        if not self.is_plain and self.chance(0.3):
            self.shows["product folded"] += 1
            fold = self.pick(["max", "min", "sum"])
            over, kept, dim = self.pick([("i", "j", "N"), ("j", "i", "M")])
            self.given("top", acc, dim, direction="inout")
            stores.append(f"reduce top[{kept}] {'+=' if fold == 'sum' else fold + '='} {fold}(acc over {over});\n")
        if not self.is_plain and self.chance(0.15):
            stores.append(self.looked_at(acc))
        return stores

    def updated(self, place, direction):
        """Generates a value with many operations, of the product and possibly of the element that is replaced."""
        self.shows["product in a long expression"] += 1
        old = place if direction == "inout" else "acc"
        condition = self.pick(["iota(j) <= iota(i)", "iota(i) < iota(j)", "acc > 0", f"{old} < 3"])
        return f"if {condition} then {old} * 2 + acc * 3 - (acc + 1) * ({old} + 2) else {self.pick([old, 'acc', '0'])}"

    def looked_at(self, acc):
        """Generates uses of elements of the sum that no thread has in its own registers."""
        self.shows["product of others' elements"] += 1
        if self.chance(0.3):
            return 'print("acc", acc);\n'
        z = self.given("z", acc, "M", "N", direction="inout")
        if self.chance(0.5):
            return f"{z}[i, j] += acc[j = j - {self.pick([1, 3])} else 0];\n"
        return f"for s in i by {self.pick([4, 8])} {{ {z}[s, j] = acc[i = s]; }}\n"
