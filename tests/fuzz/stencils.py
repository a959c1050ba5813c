"""Random stencils: elements are computed from their neighbors, which may be out of bounds, and from sums over
small windows. Rows are a little shorter or longer than vectors, and blocks are wide enough for an interior. Some
stencils have steps, whose tiles have ranges over windows."""

from names import Range, Tensor
from products import Products
from tree import statements, text

WIDTHS = [1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 130]
HEIGHTS = [1, 2, 3, 5, 9]
TYPES = ["u8", "u8", "i8", "u16", "i16", "i32", "i64", "f32", "f32", "f64"]


class Stencils(Products):

    def stencil(self, name):
        """Generates a kernel with this name."""
        drawn = Stencil(self)
        self.sizes, self.scalars, self.generics, self.tensors = drawn.sizes, [], [], drawn.tensors
        self.shows[f"stencil of {drawn.type}"] += 1
        return drawn.kernel(name)


class Stencil:
    """One kernel. `generator` makes the random choices. A kernel that is `fused` with others has no tiles over windows and
    no `inout` tensor. It has the shape of the kernel `like`, if that is given."""

    def __init__(self, generator, fused=False, like=None):
        self.generator, self.random, self.pick, self.chance = generator, generator.random, generator.pick, generator.chance
        self.sizes = {"W": self.pick(WIDTHS)}
        self.ranges = [Range("j", "W", True, extent=self.pick(["64", "100", "256"]))]
        if self.chance(0.7):
            self.sizes["H"] = self.pick(HEIGHTS)
            self.ranges.insert(0, Range("i", "H", True, extent=self.pick(["4", "32"])))
        if like:
            self.sizes = like.sizes
            self.ranges = [Range(r.name, r.size, True, extent=self.pick([r.extent, "16"])) for r in like.ranges]
        self.type = like.type if like else self.pick(TYPES)
        dims = tuple(r.size for r in self.ranges)
        self.windows = [(f"r{n}", self.pick([1, 2, 3, 5])) for n in range(self.pick([0, 0, 1, 1, len(dims)]))]
        taps = tuple(str(size) for _, size in self.windows) or ("4",)
        self.steps = [] if fused else [f"v{n}" for n in range(self.pick([0, 0, 1, 1, 2]))]
        self.lengths = {}
        self.is_fused = like is not None  # a tensor from another kernel of the `fuse` is only read at sums of ranges
        self.uses_far = False  # whether indices use `far`, a number near the end of i64
        self.result = Tensor("y", self.type, dims, "out" if fused else self.pick(["out", "out", "inout"]))
        self.tensors = [Tensor("x", self.type, dims, "in"), Tensor("w", self.pick([self.type, self.computed()]), taps, "in"), self.result]

    def kernel(self, name):
        at = ", ".join(r.name for r in self.ranges)
        loads = self.random.randint(1, 5)
        parts = [f"let n{k} = {self.neighbor()};\n" for k in range(loads)]
        for k, name_of_window in enumerate(self.steps):
            parts += self.step(k, name_of_window)
        value = "n0"
        for k in range(len(self.steps)):
            value = self.joined(value, f"m{k}")
        for k in range(1, loads):
            value = self.joined(value, f"n{k}")
        if self.windows:
            parts.append(f"let s = {self.window_sum()};\n")
            value = self.joined(value, "s")
        if self.chance(0.3):
            value = f"(if {self.condition()} then {value} else {self.joined(value, self.converted('3'))})"
        if self.chance(0.2):
            value = f"(if {self.condition()} then {value} else {self.neighbor()})"
        if self.chance(0.2):
            value = self.joined(value, self.in_long_rows())
        if self.result.direction == "inout" and self.chance(0.7):
            value = self.joined(value, self.converted(f"y[{at}]"))
        where = f" where {self.condition()}" if self.result.direction == "inout" and self.chance(0.4) else ""
        if self.result.direction == "inout" and self.chance(0.3):
            value, where = self.one_color(value)
        parts.append(f"y[{at}] = ({value}) as {self.type}{where};\n")
        if self.uses_far:
            first = ", ".join("0" for _ in self.tensors[1].dims)
            parts.insert(0, f"let far = (w[{first}] as i64) + 9223372036854775700;\n")
        heads = ", ".join(f"{r.name} in 0..{r.size} by {r.extent}" for r in self.ranges) + self.pick(["", "", " @dynamic"])
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors)
        constants = [f"range {over} in {size};\n" for over, size in self.windows]
        constants += [f"range {over} in {self.lengths[over]};\n" for over in self.steps]
        return text(f"kernel {name}({params}) {{\n", statements(constants), f"spmd for {heads} {{\n", statements(parts), "}\n", "}\n")

    def step(self, number, over):
        """Generates a tile over windows, and a value that is computed from it. All windows have the length of
        the range `over`."""
        length = self.lengths[over] = self.pick([1, 2, 3, 5])
        before = self.random.randint(0, length - 1)
        moved = [r for r in self.ranges if self.chance(0.7)] or self.ranges[-1:]
        ends = {r.name: self.chance(0.6) for r in moved}
        # Indices near the ends of i64 are outside of every tensor. No index of a window without end needs to be inside.
        far = "" if any(ends.values()) else self.pick([""] * 9 + [" + 9223372036854775804", " - 9223372036854775804"])
        parts, inner = [], []
        for r in self.ranges:
            if r not in moved:
                inner.append(r)
                continue
            window = Range(f"{r.name}w{number}", r.size, True, extent=r.extent)
            end = f" in {r.size}" if ends[r.name] else ""
            parts.append(f"range {window.name} over {r.name} + {over} - {before}{far}{end};\n")
            inner.append(window)
        open_ranges = [w for r, w in zip(self.ranges, inner) if not ends.get(r.name, True)]
        value = self.joined(self.neighbor(inner, open_ranges), self.neighbor(inner, open_ranges))
        parts.append(f"let t{number} = {value}{self.pick(['', f' as {self.computed()}'])};\n")
        otherwise = f" else {self.pick(['0', '0', '1'])}" if any(ends.values()) else ""
        places = [f"{r.name} + {over} - {before}{far}" for r in moved]
        named = [f"{r.name}w{number}" for r in moved]
        all_places = ", ".join(f"{n} = {p}" for n, p in zip(named, places))
        result = f"{self.pick(['sum', 'max', 'min'])}(t{number}[{all_places}{otherwise}] over {over})"
        for _ in range(self.random.randint(0, 3)):
            at = [f"{n} = {r.name} + {self.random.randint(-before, length - 1 - before)}{far}" for n, r in zip(named, moved)]
            result = self.joined(result, f"t{number}[{', '.join(at)}{otherwise}]")
        self.generator.shows["tile over a far window" if far else "tile over a window"] += 1
        parts.append(f"let m{number} = {result} as {self.computed()};\n")
        return parts

    def computed(self):
        """Returns the type in which elements are computed."""
        return self.type if self.type in ("i32", "i64", "f32", "f64") else "i32"

    def converted(self, value):
        return f"({value} as {self.computed()})"

    def index(self, range_, over=None):
        """Generates the index of a neighbor along a range. Returns it, and whether it may be out of bounds."""
        step = self.random.randint(-3, 3)
        offset = "" if step == 0 else f" {'+-'[step < 0]} {abs(step)}"
        if not self.is_fused and self.chance(0.2):
            return self.quotient(range_, over, offset)
        if self.chance(0.8 if over else 0.6):
            return f"{range_.name}{f' + {over}' if over else ''}{offset}", step != 0 or over is not None
        moved, last = f"iota({range_.name}){f' + iota({over})' if over else ''}{offset}", f"{range_.size} - 1"
        if not self.is_fused and self.chance(0.2):
            self.uses_far = True
            self.generator.shows["clamp of sums that wrap around"] += 1
            return f"clamp({moved} + far, far - 1, far + {range_.size}) - far", True
        ways = [f"clamp({moved}, 0, {last})", f"max(min({moved}, {last}), 0)", f"min(max({moved}, 0), {last})"]
        return self.pick(ways), False

    def one_color(self, value):
        """Generates the value and the condition of an update in place that reads only points of other colors."""
        self.generator.shows["update of one color"] += 1
        colors = self.pick([2, 2, 4])
        for _ in range(self.random.randint(1, 4)):
            moved = self.pick(self.ranges)
            step = f" {self.pick('+-')} 1"
            at = ", ".join(f"{r.name}{step if r is moved else ''}" for r in self.ranges)
            value = self.joined(value, self.converted(f"y[{at} else 0]"))
        at = " + ".join(f"iota({r.name})" for r in self.ranges)
        return value, f" where ({at}) % {colors} == {self.random.randint(0, colors - 1)}"

    def quotient(self, range_, over, offset):
        """Generates an index that is the same for several adjacent points."""
        moved = f"(iota({range_.name}){f' + iota({over})' if over else ''}{offset}) / {self.pick([2, 2, 2, 4, 4, 3, 8])}"
        after = self.random.randint(-1, 1)
        index = moved if after == 0 else f"{moved} {'+-'[after < 0]} 1"
        self.generator.shows["index of several points"] += 1
        return (f"clamp({index}, 0, {range_.size} - 1)", False) if self.chance(0.3) else (index, True)

    def neighbor(self, ranges=None, open_ranges=()):
        """Generates a load. Some of `ranges` are windows; `open_ranges` go beyond the tensor."""
        found = [self.index(r) for r in ranges or self.ranges]
        may_leave = any(leaves for _, leaves in found) or bool(open_ranges)
        otherwise = f" else {self.pick(['0', '0', '1', '7'])}" if may_leave else ""
        if may_leave and not self.is_fused and not ranges and self.chance(0.15):
            otherwise = f" else {self.replacement()}"
        return self.converted(f"x[{', '.join(index for index, _ in found)}{otherwise}]")

    def replacement(self):
        """Generates a load whose element replaces one that does not exist."""
        self.generator.shows["element that replaces another"] += 1
        indices = [self.pick([self.index(r)[0], f"iota({r.name}) % {self.pick([1, 2, 3, 5])}"]) for r in self.ranges]
        return f"x[{', '.join(indices)} else 0]"

    def in_long_rows(self):
        """Generates a load of an element that exists only if the row is long enough for the condition to be true."""
        self.generator.shows["element of long rows"] += 1
        *_, row = self.ranges
        least = self.pick([1, 2, 3, 7, 8, 15, 20, 30, 40])
        first = [r.name for r in self.ranges[:-1]]
        at, condition = self.pick([(f"{row.size} - {least + 1}", f"iota({row.name}) >= {least}"),
                                   (str(least), f"iota({row.name}) >= {least}"),
                                   ("0", f"iota({row.name}) < {row.size} - {least}"),
                                   (str(least), f"iota({row.name}) < {row.size} - {least}")])
        element = self.converted(f"x[{', '.join([*first, at])}]")
        return f"(if {condition} then {element} else {self.converted('1')})"

    def window_sum(self):
        """Generates a reduction over a window that moves along the last ranges."""
        overs = [over for over, _ in self.windows]
        plain = len(self.ranges) - len(overs)
        found = [self.index(r)[0] for r in self.ranges[:plain]] if plain > 0 else []
        found += [self.index(r, over)[0] for r, over in zip(self.ranges[max(plain, 0):], overs)]
        x = self.converted(f"x[{', '.join(found)} else 0]")
        w = self.converted(f"w[{', '.join(overs)}]")
        op = self.pick(["sum", "sum", "dot", "max", "min"])
        self.generator.shows[f"{op} over a moving window"] += 1
        over = ", ".join(overs)
        return f"dot({w}, {x} over {over})" if op == "dot" else f"{op}({self.joined(x, w)} over {over})"

    def joined(self, a, b):
        ways = [f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"min({a}, {b})", f"max({a}, {b})"]
        if self.computed()[0] == "i":
            ways += [f"abs({a} - {b})", f"(({a} + {b} + 1) / 2)", f"({a} / 255)"]
        if self.computed() == "i32":
            low, high = self.pick([(0, 255), (0, 65535), (-128, 127), (-32768, 32767), (0, 200)])
            ways += [f"clamp({a} + {b}, {low}, {high})", f"clamp({a} - {b}, {low}, {high})", f"max({a} - {b}, 0)"]
        return self.pick(ways)

    def condition(self):
        """Generates a condition on the indices."""
        kind = self.random.random()
        if kind < 0.2:
            return f"({self.condition()} {self.pick(['&&', '||'])} {self.condition()})"
        range_ = self.pick(self.ranges)
        if kind < 0.5:
            self.generator.shows["condition on a remainder"] += 1
            at = " + ".join(f"iota({r.name})" for r in self.pick([self.ranges, [range_]]))
            return f"({at} - {self.random.randint(0, 3)}) % {self.pick([2, 2, 4, 3])} {self.pick(['==', '==', '!=', '<'])} {self.pick(['0', '1'])}"
        index = self.pick([f"iota({range_.name})", f"iota({range_.name})", f"iota({range_.name}) + 2", f"{range_.size} - iota({range_.name})"])
        limit = self.pick(["0", "1", "5", f"{range_.size} - 1", f"{range_.size} - 3", f"{range_.size} / 2"])
        return f"{index} {self.pick(['<', '<=', '>', '>=', '==', '!='])} {limit}"
