"""Random statements of a block: values, loops and branches, but no stores."""

import math

from functions import Functions, tile_type
from names import FLOATS, NARROW_FLOATS, NUMBERS, Range, Scope, Value
from expressions import Expressions
from tree import Reduced, expr, statements, text

MOST_POINTS = 40000  # limit on the number of iterations of all loops around a statement
MOST_POINTS_OF_SQUARES = 4000  # the limit if tiles have both a range and a part of it
BLOCKS = [1, 3, 4, 8, 16, 17, 32, 64]
LONG = "200"  # number of terms of a product: too many to keep a cache line for each in L1
MOST_DEPTH = 2


class Statements(Expressions, Functions):

    def statement(self, scope, depth):
        ways = [self.let, self.let, self.var, self.assign_or_let, self.assign_or_let]
        if depth < MOST_DEPTH:
            ways += [self.branch, self.loop, self.loop]
            if scope.blocked():
                ways.append(self.split)
            if self.chance(0.4):
                ways += [self.tuple_let, self.whole_range, self.claim, self.counted_while]
            if scope.in_loop and self.chance(0.4):
                ways.append(self.leave)
        elif self.chance(0.2):
            ways += [self.tuple_let, self.claim]
        way = self.pick(ways)
        return way(scope, depth) if way in (self.branch, self.loop, self.split, self.counted_while) else way(scope)

    def block(self, scope, depth):
        inner = Scope(scope)
        return statements([self.statement(inner, depth + 1) for _ in range(self.random.randint(1, 3))])

    def points(self, scope, size=None):
        around = [r.size for r in scope.ranges if not r.part_of and r.size] + ([size] if size else [])
        return math.prod(max(1, self.size(dim)) for dim in around)

    def some_ranges(self, scope, most=3):
        ranges = [r.name for r in scope.blocked()]
        return frozenset(self.random.sample(ranges, self.random.randint(0, min(most, len(ranges)))))

    # Values.

    def let(self, scope):
        type_, ranges = self.pick(NUMBERS + ["bool"]), self.some_ranges(scope)
        value = self.expression(type_, ranges, scope, 0)
        name = self.fresh("t")
        typed = self.chance(0.4)
        scope.lets.append(Value(name, type_, ranges if typed else value.has()))
        self.shows["let with a type" if typed else "let"] += 1
        return text(f"let {name}{': ' + tile_type(type_, ranges) if typed else ''} = ", value, ";\n")

    def tuple_let(self, scope):
        """Generates a tuple: separate parts, a choice between two tuples, or the result of a reduction with a
        fn of tuples."""
        fns = [fn for fn in self.fns if isinstance(fn.result, tuple)]
        ranges = self.some_ranges(scope, 2)
        over = [r.name for r in self.folded(scope, ranges)]
        fn = self.pick(fns) if fns and self.chance(0.8) else None
        types = fn.result if fn else tuple(self.pick(NUMBERS) for _ in range(2))
        has = None
        literals = f"({', '.join(self.literal(type_) for type_ in types)})"
        if fn and over and self.chance(0.6):
            name = self.pick(over)
            parts = [self.expression(type_, ranges | {name}, scope, 2) for type_ in types]
            parts[0] = self.over([name], types[0], parts[0])
            value = Reduced("", ranges, ["reduce((", *self.listed(parts), f") over {name} with {fn.name} init {literals})"], [name])
            self.shows["reduce of tuples"] += 1
        elif fn and ranges:
            name = self.pick(sorted(ranges))
            parts = [self.expression(type_, ranges, scope, 2) for type_ in types]
            parts[0] = self.over([name], types[0], parts[0])
            words = "".join(f" {word}" for word in ("reversed", "exclusive") if self.chance(0.3))
            value = text("scan((", *self.listed(parts), f") over {name}{words} with {fn.name} init {literals})")
            self.shows["scan of tuples"] += 1
        else:
            self.choices += 1
            parts = [[self.expression(t, ranges, scope, 2) for t in types] for _ in range(2)]
            self.choices -= 1
            sides = [text("(", *self.listed(side), ")") for side in parts]
            condition = self.expression("bool", ranges, scope, 2)
            if not fn:
                has = [a.has() | b.has() | condition.has() for a, b in zip(*parts)]
            value = text(fn.name, "(", *self.listed(sides), ")") if fn else text("if ", condition, " then ", sides[0], " else ", sides[1])
            self.shows["call with tuples" if fn else "if of tuples"] += 1
        name = self.fresh("t")
        scope.lets += [Value(f"{name}.{n}", type_, kept) for n, (type_, kept) in enumerate(zip(types, has or [value.has()] * 3))]
        return text(f"let {name} = ", value, ";\n")

    def var(self, scope):
        type_, ranges = self.pick(NUMBERS), self.some_ranges(scope)
        value = self.expression(type_, ranges, scope, 1)
        name = self.fresh("v")
        scope.vars.append(Value(name, type_, ranges))
        self.shows["var"] += 1
        return text(f"var {name}: {tile_type(type_, ranges)} = ", value, ";\n")

    def assign_or_let(self, scope):
        if scope.split and self.chance(0.5):
            return self.assign_part(scope)
        return self.assign(scope) if scope.vars else self.var(scope)

    def assign(self, scope):
        var = self.pick(scope.vars)
        folded = self.folded(scope, var.ranges)
        if var.type in NARROW_FLOATS:
            op = self.pick(["=", "+=", "*="])
        elif var.type in FLOATS:
            op = self.pick(["=", "+=", "+=", "-=", "*=", "/="])
        else:
            op = self.pick(["=", "+=", "-=", "*=", "&=", "|=", "^="])
        if op == "+=" and var.type in ("f32", "f64", "i32", "i64") and folded and self.chance(0.6):
            self.shows["dot into a var"] += 1
            over = self.pick(folded).name
            of = self.pick(["f32", "bf16"]) if var.type == "f32" else var.type
            return text(f"{var.name} += ", self.dot(of, var.ranges, scope, 1, over, type_=var.type), ";\n")
        if var.ranges and self.chance(0.15):
            return self.assign_element(scope, var, op)
        self.shows[f"assignment {op}"] += 1
        return text(f"{var.name} {op} ", self.expression(var.type, var.ranges, scope, 0), ";\n")

    def assign_element(self, scope, var, op):
        """Generates an assignment to the subtile at an index. A guard ensures that the block contains the
        element."""
        over = self.pick(sorted(var.ranges))
        at = self.expression("i64", frozenset(), scope, 3)
        value = self.expression(var.type, var.ranges - {over}, scope, 1)
        self.shows["part of a tile at a number"] += 1
        return text(f"if {over}.size > 0 {{ {var.name}[{over} = {over}.start + clamp(", at, f", 0, {over}.size - 1)] {op} ",
                    value, "; }\n")

    def assign_part(self, scope):
        """Generates an assignment to a subtile, in a loop that splits the range into parts."""
        var, whole, part = self.pick(scope.split)
        self.shows["part of a tile at a range"] += 1
        value = self.expression(var.type, (var.ranges - {whole}) | {part}, scope, 1)
        return text(f"{var.name}[{whole} = {part}] {self.pick(['=', '+=', '*='])} ", value, ";\n")

    # Assertions and prints.

    def claim(self, scope):
        """Generates an assertion that holds, or a short print."""
        ranges = self.some_ranges(scope, 2)
        if self.chance(0.5):
            low, high = sorted(self.random.sample(range(-3, 9), 2))
            self.shows["assert"] += 1
            return text("assert(clamp(", self.expression("i64", ranges, scope, 2), f", {low}, {high}) <= {high});\n")
        first = [f"{r.name}.index == 0" for r in scope.blocked()] + [f"{r.name} == 0" for r in scope.scalars()]
        self.shows["print"] += 1
        values = [self.expression(self.pick(NUMBERS + ["bool"]), ranges, scope, 2) for _ in range(self.random.randint(1, 2))]
        return text(f"if {' && '.join(first) or 'true'} {{ print(\"drawn\", ", *self.listed(values), "); }\n")

    # Loops and branches.

    def binder(self, scope, dim, blocked, parts=False, data=False):
        """Generates a loop variable for the dimension. With `parts`, it may cover only a part of the
        dimension, and with `data`, the part may depend on values in scope."""
        extent = self.block_size() if blocked else ""
        if blocked and parts and self.chance(0.08) and all(r.extent != LONG for r in scope.blocked()):
            self.shows["long block"] += 1
            extent = LONG
        range_ = Range(self.fresh("n" if blocked else "r"), dim, blocked, extent=extent)
        step = ""
        bounds = f"{dim}" if blocked else f"0..{dim}"
        constant = not any(letter.isalpha() for letter in dim)  # bounds such as 0..1 - 2 would be an error
        if parts and not constant and self.chance(0.25):
            inside = [r.name for r in scope.scalars() if r.size == dim]
            low = self.pick(["0", "1", f"{dim} / 2"] + inside)
            room = self.pick([0, 1, 2, 2, 4])
            high = self.pick([f"{dim} - {room}"] * 3 + [name for name in inside if low == "0"])
            bounds = f"{low}..{high}"
            range_ = Range(range_.name, dim, blocked, extent=range_.extent, whole=False, room=room * (high not in inside))
            self.shows["loop over a part"] += 1
        elif data and self.chance(0.2):
            bounds = self.bounds_of_data(scope, dim)
            range_ = Range(range_.name, dim, blocked, extent=range_.extent, whole=False)
            self.shows["loop with bounds from data"] += 1
        elif parts and not blocked and self.chance(0.3):
            step = f" step {self.pick([2, 3, 7])}"
            range_ = Range(range_.name, dim, blocked, whole=False)
            self.shows["step"] += 1
        scope.ranges.append(range_)
        self.shows["range" if blocked else "scalar binder"] += 1
        return f"{range_.name} in {bounds}" + (f" by {range_.extent}" if blocked else step)

    def bounds_of_data(self, scope, dim):
        """Generates bounds of a loop over a part of the dimension that depend on values in scope. They may be far
        from the dimension if the loop is then empty."""
        ends = [self.expression("i64", frozenset(), scope, 2) for _ in range(2)]
        if self.chance(0.5):
            return str(text("clamp(", ends[0], f", 0, {dim})..clamp(", ends[1], f", 0, {dim})"))
        return str(text("max(", ends[0], ", 0)..min(", ends[1], f", {dim})"))

    def hint(self, *hints):
        """Generates a hint, which only affects speed."""
        if self.chance(0.85):
            return ""
        hint = self.pick(hints)
        self.shows[hint] += 1
        return f" {hint}"

    def extent_names(self, scope):
        """Returns the extents over which a loop may range: sizes, and dimensions of views, which may be
        expressions."""
        return list(self.sizes) * 2 + [dim for t in scope.tensors if t.direction == "view" for dim in t.dims]

    def block_size(self):
        return str(self.pick(BLOCKS))

    def loop(self, scope, depth):
        dim = self.pick(self.extent_names(scope))
        if self.points(scope, dim) > MOST_POINTS:
            return self.let(scope)
        inner = Scope(scope)
        inner.in_loop = True
        head = self.binder(inner, dim, self.chance(0.7), parts=True, data=True) + self.hint("@unroll", "@pipelined(2)")
        self.shows["for"] += 1
        return text(f"for {head} {{\n", self.block(inner, depth), "}\n")

    def counted_while(self, scope, depth):
        """Generates a while loop that certainly terminates."""
        name = self.fresh("w")
        inner = Scope(scope)
        inner.in_loop = True
        inner.lets.append(Value(name, "i64", frozenset()))
        turns = self.expression("i64", frozenset(), scope, 3)
        self.shows["while"] += 1
        return text(f"var {name}: i64 = 0;\nwhile {name} < (", turns, f") % 4 {{\n{name} += 1;\n", self.block(inner, depth), "}\n")

    def leave(self, scope):
        self.shows["break or continue"] += 1
        word = self.pick(["break", "continue"])
        return text("if ", self.expression("bool", frozenset(), scope, 2), f" {{ {word}; }}\n")

    def split(self, scope, depth):
        inner = Scope(scope)
        range_ = self.pick(inner.blocked())
        with_whole = self.points(scope) <= MOST_POINTS_OF_SQUARES and self.chance(0.4)
        part = Range(self.fresh("s"), range_.size, True, range_.name, self.block_size(), with_whole=with_whole)
        inner.ranges.append(part)
        inner.split = [(v, range_.name, part.name) for v in inner.vars if range_.name in v.ranges]
        if with_whole:
            self.shows["part of a range beside the range"] += 1
        else:
            inner.lets = [v for v in inner.lets if range_.name not in v.ranges]
            inner.vars = [v for v in inner.vars if range_.name not in v.ranges]
        inner.in_loop = True
        self.shows["range split"] += 1
        return text(f"for {part.name} in {range_.name} by {part.extent} {{\n", self.block(inner, depth), "}\n")

    def whole_range(self, scope):
        """Generates a range over a whole dimension. It is in scope until the end of the block."""
        dim = self.pick(self.extent_names(scope))
        if self.points(scope, dim) > MOST_POINTS:
            return self.let(scope)
        most = max(1, self.size(dim)) + self.pick([0, 0, 1, 13])
        range_ = Range(self.fresh("m"), dim, True, extent=str(most))
        scope.ranges.append(range_)
        self.shows["range max"] += 1
        return text(f"range {range_.name} in {dim} max {most};\n")

    def branch(self, scope, depth):
        condition = self.expression("bool", frozenset(), scope, 2)
        self.shows["if"] += 1
        parts = ["if ", condition, " {\n", self.block(scope, depth), "}"]
        if self.chance(0.5):
            parts += [" else {\n", self.block(scope, depth), "}"]
        return text(*parts, "\n")
