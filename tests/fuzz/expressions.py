"""Expressions drawn at random: of a type, with no ranges but those that are allowed."""

import dataclasses

from tree import Reduced, expr, text

INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
NUMBERS = INTEGERS + FLOATS
ELEMENTARY = ["exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tanh", "erf", "rsqrt", "sigmoid"]
MOST_DEPTH = 4


@dataclasses.dataclass(frozen=True)
class Range:
    """What a loop binds: blocks of a dimension, or single indices of it."""
    name: str
    size: str
    blocked: bool
    part_of: str = ""


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    type: str
    ranges: frozenset


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    type: str
    dims: tuple
    direction: str


@dataclasses.dataclass(frozen=True)
class Fn:
    name: str
    params: tuple
    result: str


class Scope:
    """What can be named at a place."""

    def __init__(self, outer=None):
        self.ranges = list(outer.ranges) if outer else []
        self.lets = list(outer.lets) if outer else []
        self.vars = list(outer.vars) if outer else []

    def blocked(self):
        parts = {r.part_of for r in self.ranges}
        return [r for r in self.ranges if r.blocked and r.name not in parts]

    def scalars(self):
        return [r for r in self.ranges if not r.blocked]


class Expressions:
    """Of a kernel: `random`, `shows` (what was drawn), `names`, `sizes`, `tensors` and `fns` are there."""

    def chance(self, share):
        return self.random.random() < share

    def pick(self, items):
        return self.random.choice(list(items))

    def fresh(self, stem):
        self.names[stem] += 1
        return f"{stem}{self.names[stem]}"

    def expression(self, type_, allowed, scope, depth):
        if depth >= MOST_DEPTH:
            return self.leaf(type_, allowed, scope)
        ways = [self.leaf, self.choice, self.operation, self.operation, self.operation]
        if type_ != "bool":
            ways.append(self.cast)
            if self.folded(scope, allowed):
                ways += [self.reduction, self.reduction, self.position, self.user_fold]
            if allowed and scope.ranges:
                ways += [self.scan]
                if any(v.ranges for v in scope.lets + scope.vars if v.type == type_):
                    ways += [self.taken]
        if any(fn.result == type_ for fn in self.fns):
            ways.append(self.call)
        way = self.pick(ways)
        if way == self.leaf:
            return self.leaf(type_, allowed, scope)
        return way(type_, allowed, scope, depth + 1)

    def leaf(self, type_, allowed, scope):
        """A name, an element or a number; of another type it is cast."""
        values = [v for v in scope.lets + scope.vars if v.ranges <= allowed and (v.type == type_ or v.type != "bool")]
        same = [v for v in values if v.type == type_]
        loads = [t for t in self.tensors if t.direction == "in" and scope.ranges] if type_ != "bool" else []
        way = self.random.random()
        if way < 0.1 or (type_ == "bool" and not same):
            return expr(type_, allowed, self.literal(type_))
        if way < 0.25 and type_ in ("i64", "i32", "f32"):
            return self.as_type(type_, "i64", allowed, self.index_value(allowed, scope))
        if way < 0.6 and loads:
            tensor = self.pick([t for t in loads if t.type == type_] or loads)
            return self.as_type(type_, tensor.type, allowed, self.load(tensor, allowed, scope))
        if same or (values and type_ != "bool"):
            value = self.pick(same or values)
            return self.as_type(type_, value.type, allowed, expr(value.type, allowed, value.name, own=value.ranges))
        return expr(type_, allowed, self.literal(type_))

    def as_type(self, type_, from_, allowed, value):
        return value if type_ == from_ else expr(type_, allowed, "(", value, f" as {type_})")

    def index_value(self, allowed, scope):
        if allowed and self.chance(0.5):
            return self.iota(self.pick(sorted(allowed)), allowed)
        ways = [r.name for r in scope.scalars()]
        ways += [f"{r.name}.{field}" for r in scope.blocked() for field in ("start", "size", "index")]
        way = self.pick(ways or ["(5 as i64)"])
        self.shows["range field" if "." in way else "scalar binder as a value"] += 1
        return expr("i64", allowed, way)

    def iota(self, name, allowed):
        self.shows["iota"] += 1
        return expr("i64", allowed, f"iota({name})", own=[name])

    def literal(self, type_):
        if type_ == "bool":
            return self.pick(["true", "false"])
        if type_ in FLOATS:
            value = self.pick(["0.0", "1.0", "0.5", "3.25", "1.0e-3", "1024.0", "inf", "nan", "0.1"])
            return f"({value} as {type_})" if value not in ("inf", "nan") else f"(({value}) as {type_})"
        sign = self.pick(["", "-"]) if type_[0] == "i" else ""
        return f"({sign}{self.pick([0, 1, 2, 3, 7, 31, 100, 127])} as {type_})"

    def load(self, tensor, allowed, scope):
        """An index for each dimension; `else` where one may be outside."""
        indices, inside = [], True
        for dim in tensor.dims:
            index, ranges, sure = self.index(dim, allowed, scope)
            indices.append((index, ranges & allowed))
            inside = inside and sure
        parts = [f"{tensor.name}["]
        own = set()
        for number, (index, ranges) in enumerate(indices):
            parts += [", " if number else "", index]
            own |= ranges
        self.shows[f"load of {tensor.type}"] += 1
        if not inside:
            self.shows["load with else"] += 1
            parts += [" else ", self.literal(tensor.type)]
        return expr(tensor.type, allowed, *parts, "]", own=own)

    def index(self, dim, allowed, scope):
        """(index, the ranges that it names, whether it is inside for sure)"""
        fits = [r.name for r in scope.ranges if r.size == dim and (not r.blocked or r.name in allowed)]
        if fits and self.chance(0.6):
            name = self.pick(fits)
            return name, {name}, True
        bound = sorted(allowed) + [r.name for r in scope.scalars()]
        if bound and self.chance(0.6):
            self.shows["affine index"] += 1
            terms = self.random.sample(bound, min(len(bound), self.pick([1, 1, 2])))
            text_ = " + ".join(f"{self.pick([1, 1, 2, 3])} * {term}" for term in terms)
            return f"{text_} {self.pick(['+', '-'])} {self.random.randint(0, 5)}", set(terms), False
        if self.chance(0.5):
            value = self.expression("i64", allowed, scope, MOST_DEPTH - 1)
            if self.sizes[dim] and self.chance(0.4):
                self.shows["gather inside"] += 1
                return text("clamp(", value, f", 0, {dim} - 1)"), set(), True
            self.shows["gather"] += 1
            return value, set(), False
        return str(self.random.randint(0, 3)), set(), False

    def cast(self, type_, allowed, scope, depth):
        from_ = self.pick(NUMBERS)
        self.shows[f"cast {from_} to {type_}"] += 1
        return expr(type_, allowed, "(", self.expression(from_, allowed, scope, depth), f" as {type_})")

    def choice(self, type_, allowed, scope, depth):
        self.shows["if expression"] += 1
        parts = [self.expression(t, allowed, scope, depth) for t in ("bool", type_, type_)]
        return expr(type_, allowed, "(if ", parts[0], " then ", parts[1], " else ", parts[2], ")")

    def call(self, type_, allowed, scope, depth):
        fn = self.pick([fn for fn in self.fns if fn.result == type_])
        parts = [f"{fn.name}("]
        for number, param in enumerate(fn.params):
            parts += [", " if number else "", self.expression(param, allowed, scope, depth)]
        self.shows["call"] += 1
        return expr(type_, allowed, *parts, ")")

    def operation(self, type_, allowed, scope, depth):
        one = lambda t: self.expression(t, allowed, scope, depth)
        if type_ == "bool":
            return self.logic(allowed, one)
        if type_ in FLOATS:
            return self.float_operation(type_, allowed, one)
        op = self.pick(["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "min", "max", "abs", "-x"])
        if op == "abs" and type_[0] == "u":
            op = "max"
        self.shows[f"{op} of {type_}"] += 1
        if op in ("min", "max"):
            return expr(type_, allowed, f"{op}(", one(type_), ", ", one(type_), ")")
        if op in ("abs", "-x"):
            return expr(type_, allowed, "abs(" if op == "abs" else "(-", one(type_), ")")
        if op in ("/", "%"):
            return expr(type_, allowed, "(", one(type_), f" {op} (", one(type_), " | 1))")
        return expr(type_, allowed, "(", one(type_), f" {op} ", one(type_), ")")

    def logic(self, allowed, one):
        op = self.pick(["&&", "||", "!", "<", "<=", "==", "!=", ">", ">="])
        self.shows[op] += 1
        if op == "!":
            return expr("bool", allowed, "(!", one("bool"), ")")
        type_ = "bool" if op in ("&&", "||") else self.pick(NUMBERS)
        return expr("bool", allowed, "(", one(type_), f" {op} ", one(type_), ")")

    def float_operation(self, type_, allowed, one):
        op = self.pick(["+", "-", "*", "+", "-", "*", "/", "min", "max", "-x", "abs", "floor", "ceil", "round", "sqrt", "fma"] +
                       [self.pick(ELEMENTARY)])
        self.shows[f"{op} of {type_}"] += 1
        if op in ("+", "-", "*", "/"):
            return expr(type_, allowed, "(", one(type_), f" {op} ", one(type_), ")")
        if op == "-x":
            return expr(type_, allowed, "(-", one(type_), ")")
        count = {"min": 2, "max": 2, "fma": 3}.get(op, 1)
        parts = [f"{op}("]
        for number in range(count):
            parts += [", " if number else "", one(type_)]
        return expr(type_, allowed, *parts, ")")

    # Reductions, over ranges around that the result does not have.

    def folded(self, scope, allowed):
        return [r for r in scope.blocked() if r.name not in allowed]

    def reduction(self, type_, allowed, scope, depth):
        over = self.random.sample([r.name for r in self.folded(scope, allowed)], 1)
        more = [r.name for r in self.folded(scope, allowed) if r.name not in over]
        if more and self.chance(0.3):
            over.append(self.pick(more))
        op = self.pick(["sum", "max", "min", "prod", "dot"])
        results = {"f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32"}
        of = type_
        if op in ("sum", "prod", "dot"):
            sources = [t for t in NUMBERS if results.get(t, t) == type_]
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
        """The value, made to have all of the ranges."""
        for name in sorted(set(ranges) - value.has()):
            index = self.as_type(type_, "i64", value.ranges, self.iota(name, value.ranges))
            value = expr(type_, value.ranges, "(", value, " + ", index, ")")
        return value

    def position(self, type_, allowed, scope, depth):
        """argmax, argmin and mean."""
        over = self.pick(self.folded(scope, allowed)).name
        op = "mean" if type_ in ("f32", "f64") and self.chance(0.7) else self.pick(["argmax", "argmin"])
        of = self.pick({"f32": ["f16", "bf16", "f32"], "f64": ["f64"]}[type_] if op == "mean" else NUMBERS)
        value = self.over([over], of, self.expression(of, allowed | {over}, scope, depth))
        self.shows[f"{op} of {of}"] += 1
        result = Reduced(type_ if op == "mean" else "i64", allowed, [f"{op}(", value, f" over {over})"], [over])
        return result if op == "mean" else self.as_type(type_, "i64", allowed, result)

    def user_fold(self, type_, allowed, scope, depth):
        """With a fn of two values of one type; a scan keeps the range, so a sum folds it."""
        over = self.pick(self.folded(scope, allowed)).name
        fns = [fn for fn in self.fns if fn.params == (type_, type_) and fn.result == type_]
        if not fns:
            return self.reduction(type_, allowed, scope, depth)
        value = self.over([over], type_, self.expression(type_, allowed | {over}, scope, depth))
        self.shows[f"reduce with a fn of {type_}"] += 1
        return Reduced(type_, allowed, ["reduce(", value, f" over {over} with {self.pick(fns).name} init ",
                                        self.literal(type_), ")"], [over])

    def scan(self, type_, allowed, scope, depth):
        over = self.pick(sorted(allowed))
        op = self.pick(["cumsum", "cumprod", "cummax"])
        if type_ in ("f16", "bf16", "i8", "i16", "u8", "u16"):
            op = "cummax"
        value = self.over([over], type_, self.expression(type_, allowed, scope, depth))
        words = "".join(f" {word}" for word in ("reversed", "exclusive") if self.chance(0.3))
        self.shows[f"{op}{words} of {type_}"] += 1
        return expr(type_, allowed, f"{op}(", value, f" over {over}{words})")

    def taken(self, type_, allowed, scope, depth):
        """A tile indexed by name."""
        values = [v for v in scope.lets + scope.vars if v.type == type_ and v.ranges]
        value = self.pick(values)
        over = self.pick(sorted(value.ranges))
        if value.ranges - {over} - allowed:
            return self.leaf(type_, allowed, scope)
        index = self.expression("i64", allowed, scope, depth)
        self.shows["tile indexed by name"] += 1
        return expr(type_, allowed, f"{value.name}[{over} = ", index, f" else {self.literal(type_)}]",
                    own=value.ranges - {over})

    def dot(self, of, allowed, scope, depth, *over, type_=None):
        ranges = frozenset(allowed) | set(over)
        a, b = (self.expression(of, ranges, scope, depth) for _ in range(2))
        a = self.over(set(over) - b.has(), of, a)
        return Reduced(type_ or of, allowed, ["dot(", a, ", ", b, f" over {', '.join(over)})"], over)
