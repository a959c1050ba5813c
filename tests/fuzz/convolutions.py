"""Random kernels with one convolution each, with any number of windows, steps, bounds modes, types and orders
of dimensions."""

import collections
import dataclasses
import math

from names import Range, Scope, Tensor, Value
from stages import Stages
from tree import statements, text

MOST_TERMS = 150000  # limit on the number of terms in the sums of all elements
CHANNELS = [1, 3, 16, 17, 32, 33, 64]
COLUMNS = [1, 2, 5, 7, 9, 14, 17, 33]
FOLDED = [0, 1, 3, 8, 16, 31, 48]
TYPES = {"f32": "f32", "f64": "f64", "f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32", "u8": "u32", "i32": "i32"}


@dataclasses.dataclass(frozen=True)
class Window:
    """How a range of the output maps to a dimension of the input."""
    dim: str  # a dimension of the input
    over: str  # the reduced range
    out: Range
    taps: int
    step: int
    spread: int
    before: int  # number of padding elements

    def index(self):
        walked = self.out.name if self.step == 1 else f"{self.step} * {self.out.name}"
        seen = self.over if self.spread == 1 else f"{self.spread} * {self.over}"
        return f"{walked} + {seen}" + (f" - {self.before}" if self.before else "")


class Convolutions(Stages):

    def convolution(self, name):
        """Generates a kernel with this name."""
        self.sizes, self.scalars, self.generics = {}, [], []
        windows = self.windows()
        channels, folded = (self.dealt("o", "O", CHANNELS), Range("c", "C", True, extent=self.block_size()))
        self.sizes["C"] = self.pick(FOLDED)
        self.shrink(windows)
        dealt = [channels, *[w.out for w in windows]]
        if self.chance(0.3):
            dealt.append(self.dealt("n", "N", [1, 2, 3]))
        self.random.shuffle(dealt)
        type_ = self.pick(["f32"] * 6 + list(TYPES))
        with_n = [r for r in dealt if r.name == "n"]
        image = [*with_n, folded, *windows]
        weights = [channels, folded, *windows]
        for dims in (image, weights) if self.chance(0.4) else ():
            self.random.shuffle(dims)
        x = Tensor("x", type_, tuple(d.dim if isinstance(d, Window) else d.size for d in image), "in")
        w = Tensor("w", type_, tuple(str(d.taps) if isinstance(d, Window) else d.size for d in weights), "in")
        b = Tensor("b", TYPES[type_], ("O",), "in")
        self.tensors = [x, w, b]
        seen = ", ".join(d.index() if isinstance(d, Window) else d.name for d in image)
        if any(win.before for win in windows):
            seen += " else 0"
        taken = ", ".join(d.over if isinstance(d, Window) else d.name for d in weights)
        body = self.convolved(dealt, windows, folded, f"w[{taken}]", self.term(f"x[{seen}]", windows), type_)
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors)
        heads = [f"range {win.over} in {win.taps};\n" for win in windows]
        generics = f"<{', '.join(self.generics)}>" if self.generics else ""
        return text(f"kernel {name}{generics}({params}) {{\n", statements(heads), body, "}\n")

    def term(self, load, windows):
        """Returns the load, or an expression that computes a term from it and from sums of ranges."""
        if self.chance(0.6):
            return load
        self.shows["computed window"] += 1
        win = self.pick(windows)
        index = f"{win.step} * iota({win.out.name}) {self.pick('+-')} {win.spread} * iota({win.over})"
        number = self.pick([1, 2, 3])
        return self.pick([f"max({load}, {number})", f"({load} * {load})",
                          f"(if ({index}) % {self.pick([2, 3, 4])} == 0 then {load} else {number})",
                          f"(if iota({win.out.name}) > {number} then {load} else max({load}, {number}))"])

    def windows(self):
        windows = []
        for number in range(self.pick([1, 1, 2, 2, 3])):
            taps, step, spread = self.pick([1, 2, 3, 3, 5]), self.pick([1, 1, 1, 2, 3]), self.pick([1, 1, 1, 2])
            reach = spread * (taps - 1)
            before = self.random.randint(0, reach) if self.chance(0.6) else 0
            columns = self.pick(COLUMNS)
            dim = "HWD"[number]
            self.sizes[dim] = max(reach + 1, step * (columns - 1) + 1 + reach - 2 * before)
            size = f"({dim} + {2 * before} - {reach + 1}) / {step} + 1"
            out = Range("ijl"[number], size, True, extent=self.block_size())
            windows.append(Window(dim, "rst"[number], out, taps, step, spread, before))
            self.shows["window"] += 1
        return windows

    def dealt(self, name, dim, sizes):
        self.sizes[dim] = self.pick(sizes)
        return Range(name, dim, True, extent=self.block_size())

    def shrink(self, windows):
        """Reduces sizes until the interpreter is fast enough, or no size can be smaller."""
        def terms():
            return math.prod([self.sizes["O"], self.sizes["C"]] + [self.size(w.out.size) * w.taps for w in windows])
        least = collections.defaultdict(lambda: 1, {w.dim: w.spread * (w.taps - 1) + 1 for w in windows})
        while terms() > MOST_TERMS and (large := [dim for dim, size in self.sizes.items() if size > least[dim]]):
            dim = max(large, key=self.sizes.get)
            self.sizes[dim] = max(least[dim], self.sizes[dim] // 2)

    def folded_whole(self, dealt, windows, folded, factors, acc):
        """Generates the sum of the convolution's results over some or all of its ranges."""
        self.shows["convolution summed up"] += 1
        kept = [r for r in dealt if self.chance(0.3)]
        gone = [r for r in dealt if r not in kept]
        over = [folded.name, *[w.over for w in windows], *[r.name for r in gone]]
        self.random.shuffle(over)
        self.tensors.append(Tensor("y", acc, tuple(r.size for r in kept) or ("1",), "inout"))
        loop = text(f"for c in C by {folded.extent} {{\n",
                    f"reduce y[{', '.join(r.name for r in kept) or '0'}] += dot({', '.join(factors)} over {', '.join(over)});\n", "}\n")
        heads = ", ".join(f"{r.name} in 0..{r.size} by {r.extent}" for r in dealt)
        return text(f"spmd for {heads} {{\n", loop, "}\n")

    def convolved(self, dealt, windows, folded, weight, seen, type_):
        """Generates the loops: first the accumulation, then an expression of the accumulated value."""
        acc = TYPES[type_]
        scope = Scope()
        scope.ranges, scope.tensors = list(dealt), list(self.tensors)
        names = ", ".join(r.name for r in dealt)
        ranges = frozenset(r.name for r in dealt)
        factors = [weight, seen] if self.chance(0.7) else [seen, weight]
        if self.chance(0.3):
            factors = [f"{factor} as {acc}" for factor in factors]
        if self.chance(0.15):
            return self.folded_whole(dealt, windows, folded, factors, acc)
        over = [folded.name, *[w.over for w in windows]]
        if self.chance(0.2):
            self.random.shuffle(over)
        first = self.pick(["0", "b[o]"])
        parts = [f"var acc: {acc}[{names}] = {first};\n",
                 f"for c in C by {folded.extent} {{ acc += dot({', '.join(factors)} over {', '.join(over)}); }}\n"]
        scope.lets = [Value("acc", acc, ranges)]
        stored = self.random.sample(dealt, len(dealt)) if self.chance(0.4) else dealt
        y = Tensor("y", self.pick([type_, acc]), tuple(r.size for r in stored), self.pick(["out", "out", "inout"]))
        self.tensors.append(y)
        access = f"y[{', '.join(r.name for r in stored)}]"
        plain = self.pick(["acc", "max(acc, 0)", "acc + b[o]", "if acc > b[o] then acc else 2 * acc"])
        value = self.expression(y.type, ranges, scope, 2) if self.chance(0.4) else f"({plain}) as {y.type}"
        parts.append(text(f"{access} {self.pick(['=', '+=']) if y.direction == 'inout' else '='} ", value, ";\n"))
        heads = ", ".join(f"{r.name} in 0..{r.size} by {r.extent}" for r in dealt)
        self.shows[f"convolution of {type_}"] += 1
        return text(f"spmd for {heads}{self.hint('@dynamic', '@order(grouped = 2)')} {{\n", statements(parts), "}\n")
