"""Random reductions, scans, and tiles whose ranges are indexed by name."""

from names import NARROW_FLOATS, NUMBERS, SUMS
from tree import Reduced, expr


class Reductions:
    """Generates reductions over surrounding ranges that the result does not have."""

    def folded(self, scope, allowed):
        return [r for r in scope.blocked() if r.name not in allowed]

    def reduction(self, type_, allowed, scope, depth):
        over = self.random.sample([r.name for r in self.folded(scope, allowed)], 1)
        more = [r.name for r in self.folded(scope, allowed) if r.name not in over]
        if more and self.chance(0.3):
            over.append(self.pick(more))
        op = self.pick(["sum", "max", "min", "prod", "dot"])
        of = type_
        if op in ("sum", "prod", "dot"):
            sources = [t for t in NUMBERS if SUMS.get(t, t) == type_]
            if not sources:
                op = "max"
            else:
                of = self.pick(sources)
        self.shows[f"{op} of {of}"] += 1
        if op == "dot":
            return self.dot(of, allowed, scope, depth, *over, type_=type_)
        value = self.over(over, of, self.expression(of, allowed | set(over), scope, depth))
        return Reduced(type_, allowed, [f"{op}(", value, f" over {', '.join(over)})"], over)

    def over(self, ranges, type_, value):
        """Returns the value extended to all of the ranges in `ranges`."""
        for name in sorted(set(ranges) - value.has()):
            if type_ == "bool":
                value = expr(type_, value.ranges, "(", value, " != (", self.iota(name, value.ranges), " == 2))")
            else:
                index = self.as_type(type_, "i64", value.ranges, self.iota(name, value.ranges))
                value = expr(type_, value.ranges, "(", value, " + ", index, ")")
        return value

    def truths(self, type_, allowed, scope, depth):
        """Generates a reduction with `any` or `all`."""
        over = self.pick(self.folded(scope, allowed)).name
        op = self.pick(["any", "all"])
        self.shows[op] += 1
        value = self.over([over], "bool", self.expression("bool", allowed | {over}, scope, depth))
        return Reduced("bool", allowed, [f"{op}(", value, f" over {over})"], [over])

    def position(self, type_, allowed, scope, depth):
        """Generates a reduction with `argmax`, `argmin` or `mean`, or one that finds an index."""
        over = self.pick(self.folded(scope, allowed)).name
        if self.chance(0.2):
            return self.first_index(over, type_, allowed, scope, depth)
        op = "mean" if type_ in ("f32", "f64") and self.chance(0.7) else self.pick(["argmax", "argmin"])
        of = self.pick({"f32": NARROW_FLOATS + ["f32"], "f64": ["f64"]}[type_] if op == "mean" else NUMBERS)
        value = self.over([over], of, self.expression(of, allowed | {over}, scope, depth))
        self.shows[f"{op} of {of}"] += 1
        result = Reduced(type_ if op == "mean" else "i64", allowed, [f"{op}(", value, f" over {over})"], [over])
        return result if op == "mean" else self.as_type(type_, "i64", allowed, result)

    def first_index(self, over, type_, allowed, scope, depth):
        """Generates the first index at which a condition is true. The condition may be the same for all indices."""
        ranges = allowed | {over} if self.chance(0.6) else allowed
        hit = self.expression("bool", ranges, scope, depth)
        index = self.iota(over, allowed | {over})
        self.shows["first index of a condition"] += 1
        result = Reduced("i64", allowed, ["min(if ", hit, " then ", index, f" else {2**63 - 1} over {over})"], [over])
        return self.as_type(type_, "i64", allowed, result)

    def user_fold(self, type_, allowed, scope, depth):
        """Generates a reduction with a fn of two values of the same type."""
        over = self.pick(self.folded(scope, allowed)).name
        fns = [fn for fn in self.fns if fn.params == (type_, type_) and fn.result == type_]
        tile = (type_, frozenset("i"))
        tile_fns = [fn for fn in self.tile_fns if fn.params == (tile, tile) and fn.result == tile]
        if tile_fns and allowed and not self.choices:
            return self.tile_fold(self.pick(tile_fns), type_, allowed, scope, depth)
        if not fns:
            return self.reduction(type_, allowed, scope, depth)
        value = self.over([over], type_, self.expression(type_, allowed | {over}, scope, depth))
        self.shows[f"reduce with a fn of {type_}"] += 1
        return Reduced(type_, allowed, ["reduce(", value, f" over {over} with {self.pick(fns).name} init ",
                                        self.literal(type_), ")"], [over])

    def tile_fold(self, fn, type_, allowed, scope, depth):
        """Generates a reduction over one range with a fn of tiles. The operand has only one other range."""
        over, kept = self.pick(self.folded(scope, allowed)).name, self.pick(sorted(allowed))
        value = self.over([over, kept], type_, self.expression(type_, frozenset([over, kept]), scope, depth))
        self.shows[f"reduce with a fn of tiles of {type_}"] += 1
        return Reduced(type_, allowed, ["reduce(", value, f" over {over} with {fn.name} init ", self.literal(type_), ")"], [over])

    def scan(self, type_, allowed, scope, depth):
        over = self.pick(sorted(allowed))
        fns = [fn for fn in self.fns if fn.params == (type_, type_) and fn.result == type_]
        op = self.pick(["cumsum", "cumprod", "cummax"] + ["scan"] * 3 * len(fns))
        if op in ("cumsum", "cumprod") and type_ in SUMS:
            op = "cummax"
        value = self.over([over], type_, self.expression(type_, allowed, scope, depth))
        words = "".join(f" {word}" for word in ("reversed", "exclusive") if self.chance(0.3))
        self.shows[f"{op}{words} of {type_}"] += 1
        fold = [f" with {self.pick(fns).name} init ", self.literal(type_)] if op == "scan" else []
        return expr(type_, allowed, f"{op}(", value, f" over {over}{words}", *fold, ")")

    def taken(self, type_, allowed, scope, depth):
        """Generates a tile whose range is indexed by name: with a number, with a tile of indices, renamed, or
        shifted."""
        value = self.pick([v for v in scope.values() if v.type == type_ and v.ranges])
        over = self.pick(sorted(value.ranges))
        rest = value.ranges - {over}
        if rest - allowed:
            return self.leaf(type_, allowed, scope)
        names = sorted(allowed - rest)
        if names and self.chance(0.4):
            self.shows["tile renamed or shifted"] += 1
            index, ranges = self.affine(names)
            return expr(type_, allowed, f"{value.name}[{over} = {index} else ", self.literal(type_), "]", own=rest | ranges)
        index = self.expression("i64", allowed, scope, depth)
        self.shows["tile indexed by name"] += 1
        return expr(type_, allowed, f"{value.name}[{over} = ", index, f" else {self.literal(type_)}]", own=rest)

    def dot(self, of, allowed, scope, depth, *over, type_=None):
        ranges = frozenset(allowed) | set(over)
        a, b = (self.expression(of, ranges, scope, depth) for _ in range(2))
        a = self.over(set(over) - b.has(), of, a)
        if of == "f32" and self.chance(0.2):
            self.shows["dot of tf32"] += 1
            a, b = (expr(of, ranges, "(", operand, ") as tf32") for operand in (a, b))
        if of in NARROW_FLOATS and self.chance(0.7):  # otherwise a computed operand would make both operands f32
            self.shows[f"dot of rounded {of}"] += 1
            a, b = (expr(of, ranges, "(", operand, f") as {of}") for operand in (a, b))
        return Reduced(type_ or of, allowed, ["dot(", a, ", ", b, f" over {', '.join(over)})"], over)

    def tile_call(self, type_, allowed, scope, depth):
        """Generates a call of a fn of tiles. The fn's ranges are bound to ranges in scope, and its result has
        the required ranges."""
        fns = [fn for fn in self.tile_fns if fn.result[0] == type_]
        fn = self.pick(fns)
        kept = self.random.sample(sorted(allowed), min(len(allowed), len(fn.result[1])))
        gone = [r.name for r in self.folded(scope, allowed)]
        folded = [name for name in fn.ranges if name not in fn.result[1]]
        if len(kept) < len(fn.result[1]) or len(gone) < len(folded):
            return self.leaf(type_, allowed, scope)
        stand = dict(zip(sorted(fn.result[1]), kept)) | dict(zip(folded, self.random.sample(gone, len(folded))))
        mapped = allowed - set(stand.values())
        args = []
        for of, ranges in fn.params:
            needed = {stand[name] for name in ranges}
            args.append(self.over(needed, of, self.expression(of, frozenset(mapped | needed), scope, depth)))
        self.shows["call of a fn of tiles"] += 1
        names = ", ".join(f"{name} = {stand[name]}" for name in fn.ranges)
        return Reduced(type_, allowed, [f"{fn.name}<{names}>(", *self.listed(args), ")"], stand.values(), own=kept)
