"""Random expressions of a given type, which only use the allowed ranges."""

from element_types import SCALES
from names import FLOATS, INTEGERS, NUMBERS, USED_ELSEWHERE
from reductions import Reductions
from tree import expr, text

ELEMENTARY = ["exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
              "erf", "rsqrt", "sigmoid"]
INTEGER_CALLS = {"min": 2, "max": 2, "clamp": 3, "abs": 1, "sign": 1, "popcount": 1, "clz": 1, "ctz": 1, "rotl": 2, "rotr": 2,
                 "mul_high": 2}  # number of operands
DIVISIONS = ["ceil_div", "trunc_div", "trunc_rem"]
MOST_DEPTH = 4


class Expressions(Reductions):
    """Generates expressions for a file. Subclasses provide `random`, `shows` (counts of what was generated),
    `names`, `sizes`, `extents` (of names that a program computes), `fns` and `tile_fns`. `choices` counts the
    enclosing branches; fns of tiles are only called outside branches. `indices` counts the enclosing
    brackets."""

    def chance(self, share):
        return self.random.random() < share

    def pick(self, items):
        return self.random.choice(list(items))

    def fresh(self, stem):
        """Returns a new name. Files with `odd_names` have some that are also used elsewhere."""
        if self.odd_names and self.chance(0.3):
            stem = self.pick(USED_ELSEWHERE)
            self.names[stem] += 1
            return stem if self.names[stem] == 1 else f"{stem}_{self.names[stem]}"
        self.names[stem] += 1
        return f"{stem}{self.names[stem]}"

    def size(self, dim):
        """Returns the value of a dimension, which may be an expression of names and numbers."""
        known = self.sizes | self.extents
        return known[dim] if dim in known else eval(dim.replace("/", "//"), {}, known)

    def expression(self, type_, allowed, scope, depth):
        if depth >= MOST_DEPTH:
            return self.leaf(type_, allowed, scope)
        ways = [self.leaf, self.choice, self.operation, self.operation, self.operation]
        if type_ != "bool":
            ways += [self.cast, self.least]
            if self.folded(scope, allowed):
                ways += [self.reduction, self.reduction, self.position, self.user_fold]
            if allowed and scope.ranges:
                ways += [self.scan]
                if any(v.ranges for v in scope.values() if v.type == type_):
                    ways += [self.taken]
            if any(fn.result[0] == type_ for fn in self.tile_fns) and scope.blocked() and not self.choices:
                ways += [self.tile_call] * 2
        elif self.folded(scope, allowed):
            ways.append(self.truths)
        if any(fn.result == type_ for fn in self.fns):
            ways.append(self.call)
        way = self.pick(ways)
        if way == self.leaf:
            return self.leaf(type_, allowed, scope)
        return way(type_, allowed, scope, depth + 1)

    def leaf(self, type_, allowed, scope):
        """Generates a name, an element or a number, converted to `type_` if necessary."""
        values = [v for v in scope.values() if v.ranges <= allowed and (v.type == type_ or v.type != "bool")]
        same = [v for v in values if v.type == type_]
        loads = [t for t in scope.tensors if (t.type == "bool") == (type_ == "bool")]
        way = self.random.random()
        if way < 0.1 or (type_ == "bool" and not same and not loads):
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
        ways += scope.launch if self.chance(0.2) else []
        way = self.pick(ways or ["(5 as i64)"])
        self.shows["range field" if "." in way else way if "core" in way else "scalar binder as a value"] += 1
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
        """Generates a load with an index for each dimension, and an `else` if an index may be out of
        bounds."""
        indices, inside = [], True
        of_rows = len(tensor.dims) > 1 and self.indices == 0 and self.chance(0.1)
        for d, dim in enumerate(tensor.dims):
            gathers = of_rows and d + 1 < len(tensor.dims) and self.size(dim)
            index, ranges, sure = self.clamped(dim, allowed, scope) if gathers else self.index(dim, allowed, scope)
            indices.append((index, ranges & allowed))
            inside = inside and sure
        parts = [f"{tensor.name}[", *self.listed([index for index, _ in indices])]
        own = frozenset().union(*(ranges for _, ranges in indices))
        self.shows[f"load of {tensor.type}"] += 1
        if not inside:
            self.shows["load with else"] += 1
            parts += [" else ", self.literal(tensor.type)]
        load = expr(tensor.type, allowed, *parts, "]", own=own)
        if not tensor.optional:
            return load
        self.shows["optional parameter"] += 1
        return expr(tensor.type, allowed, f"(if {tensor.name} then ", load, " else ", self.instead(tensor.type, load.has()), ")")

    def instead(self, type_, ranges):
        """Generates the value of an optional tensor's element if the tensor is absent. It has the same ranges."""
        if type_ == "bool":
            return " || ".join([self.literal(type_), *(f"iota({name}) > 2" for name in sorted(ranges))])
        return " + ".join([self.literal(type_), *(f"(iota({name}) as {type_})" for name in sorted(ranges))])

    def index(self, dim, allowed, scope):
        """Returns (an index, the ranges that it uses, whether it is certainly in bounds)."""
        fits = [r.name for r in scope.ranges if r.size == dim and (not r.blocked or r.name in allowed)]
        if fits and self.chance(0.6):
            name = self.pick(fits)
            return name, {name}, True
        windows = [(n.name, m.name) for n in scope.ranges for m in scope.ranges if n.size == dim and n.room and
                   m.size.isdigit() and int(m.size) <= n.room + 1 and (not n.blocked or n.name in allowed) and m.name in allowed]
        if windows and self.chance(0.7):
            self.shows["window"] += 1
            window = self.pick(windows)
            return " + ".join(window), set(window), True
        bound = sorted(allowed) + [r.name for r in scope.scalars()]
        if bound and self.chance(0.6):
            self.shows["affine index"] += 1
            return *self.affine(bound), False
        if self.indices < 2 and self.chance(0.5):
            if self.size(dim) and self.chance(0.4):
                return self.clamped(dim, allowed, scope)
            self.shows["gather"] += 1
            return self.counted(allowed, scope), set(), False
        return str(self.random.randint(0, 3)), set(), False

    def counted(self, allowed, scope):
        self.indices += 1
        value = self.expression("i64", allowed, scope, MOST_DEPTH - 1)
        self.indices -= 1
        return value

    def clamped(self, dim, allowed, scope):
        self.shows["gather inside"] += 1
        return text("clamp(", self.counted(allowed, scope), f", 0, {dim} - 1)"), set(), True

    def affine(self, names):
        """Returns (a linear index in one or two of the names, those names)."""
        terms = self.random.sample(names, min(len(names), self.pick([1, 1, 2])))
        if len(terms) == 1 and self.chance(0.15):
            self.shows["index divided"] += 1
            return f"{terms[0]} {self.pick(['/', '%'])} {self.pick([2, 3, 8])}", set(terms)
        sum_ = " + ".join(term if self.chance(0.3) else f"{self.pick([1, 1, 2, 3, -1])} * {term}" for term in terms)
        return f"{sum_} {self.pick(['+', '-'])} {self.random.randint(0, 5)}", set(terms)

    def listed(self, parts):
        return [piece for part in parts for piece in (", ", part)][1:]

    def cast(self, type_, allowed, scope, depth):
        from_ = self.pick(NUMBERS)
        if self.chance(0.1):
            scale = self.pick(SCALES)
            self.shows[f"cast {from_} to {scale}"] += 1
            return expr(type_, allowed, "(", self.expression(from_, allowed, scope, depth), f" as {scale} as {type_})")
        self.shows[f"cast {from_} to {type_}"] += 1
        return expr(type_, allowed, "(", self.expression(from_, allowed, scope, depth), f" as {type_})")

    def choice(self, type_, allowed, scope, depth):
        self.shows["if expression"] += 1
        self.choices += 1
        parts = [self.expression(t, allowed, scope, depth) for t in ("bool", type_, type_)]
        self.choices -= 1
        return expr(type_, allowed, "(if ", parts[0], " then ", parts[1], " else ", parts[2], ")")

    def least(self, type_, allowed, scope, depth):
        """Generates an expression that chooses one of two values by comparing them. The values may be
        converted, or be zeros of different signs. Compilers turn such code into minima."""
        from_ = self.pick([type_, type_, self.pick(NUMBERS)])
        self.choices += 1
        loaded = [tensor for tensor in scope.tensors if tensor.type in ("f32", "f64")]
        if loaded and self.chance(0.4):  # an element of memory, which an instruction may choose without a register
            tensor = self.pick(loaded)
            from_ = tensor.type
            one = self.load(tensor, allowed, scope)
            self.shows["choice of an element"] += 1
        else:
            one = self.expression(from_, allowed, scope, depth)
        zero = from_ in FLOATS and self.chance(0.5)
        other = expr(from_, allowed, self.zero(from_)) if zero else self.expression(from_, allowed, scope, depth)
        self.choices -= 1
        arms = [one, expr(from_, allowed, self.zero(from_)) if zero and self.chance(0.5) else other]
        self.random.shuffle(arms)
        compared = self.random.sample([one, other], 2)
        self.shows[f"minimum by a choice of {from_}"] += 1
        parts = [self.as_type(type_, from_, allowed, arm) for arm in arms]
        return expr(type_, allowed, "(if ", compared[0], f" {self.pick(['<', '<=', '>', '>=', '==', '!='])} ", compared[1], " then ", parts[0], " else ",
                    parts[1], ")")

    def zero(self, type_):
        return f"({self.pick(['0.0', '-0.0'])} as {type_})"

    def call(self, type_, allowed, scope, depth):
        fn = self.pick([fn for fn in self.fns if fn.result == type_])
        self.shows["call"] += 1
        args = [self.expression(param, allowed, scope, depth) for param in fn.params]
        return expr(type_, allowed, f"{fn.name}(", *self.listed(args), ")")

    def operation(self, type_, allowed, scope, depth):
        one = lambda t: self.expression(t, allowed, scope, depth)
        if type_ == "bool":
            return self.logic(allowed, one)
        if type_ in FLOATS:
            return self.float_operation(type_, allowed, one)
        op = self.pick(["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "-", "~", *INTEGER_CALLS, self.pick(DIVISIONS)])
        if op in ("abs", "sign") and type_[0] == "u":
            op = "max"
        self.shows[f"{op} of {type_}"] += 1
        if op in INTEGER_CALLS:
            return expr(type_, allowed, f"{op}(", *self.listed([one(type_) for _ in range(INTEGER_CALLS[op])]), ")")
        if op in DIVISIONS:
            return expr(type_, allowed, f"{op}(", one(type_), ", (", one(type_), " | 1))")
        if op == "~" or (op == "-" and self.chance(0.5)):
            return expr(type_, allowed, f"({op}", one(type_), ")")
        if op in ("/", "%"):
            return expr(type_, allowed, "(", one(type_), f" {op} (", one(type_), " | 1))")
        if op in ("<<", ">>") and self.chance(0.4):  # counts are taken modulo the width
            return expr(type_, allowed, "(", one(type_), f" {op} {self.random.randrange(2 * int(type_[1:]))})")
        return expr(type_, allowed, "(", one(type_), f" {op} ", one(type_), ")")

    def logic(self, allowed, one):
        op = self.pick(["&&", "||", "!", "<", "<=", "==", "!=", ">", ">="])
        self.shows[op] += 1
        if op == "!":
            return expr("bool", allowed, "(!", one("bool"), ")")
        type_ = "bool" if op in ("&&", "||") else self.pick(NUMBERS)
        if type_ == "bool" and self.chance(0.2):
            return self.both_compared(op, allowed, one)
        return expr("bool", allowed, "(", one(type_), f" {op} ", one(type_), ")")

    def both_compared(self, op, allowed, one):
        """Generates comparisons of two numbers with the same third number."""
        type_ = self.pick(NUMBERS)
        third, order = one(type_), self.pick(["<", "<=", ">", ">="])
        self.shows["two compared with a third"] += 1
        return expr("bool", allowed, "((", one(type_), f" {order} ", third, f") {op} (", one(type_), f" {order} ", third, "))")

    def float_operation(self, type_, allowed, one):
        op = self.pick(["+", "-", "*", "+", "-", "*", "/", "min", "max", "-x", "abs", "floor", "ceil", "trunc", "round", "sqrt",
                        "sign", "fma", "clamp", "%"] + [self.pick(ELEMENTARY + ["pow", "atan2", "bits"])])
        self.shows[f"{op} of {type_}"] += 1
        if op in ("+", "-", "*", "/", "%"):
            return expr(type_, allowed, "(", one(type_), f" {op} ", one(type_), ")")
        if op == "-x":
            negated = [one(type_)] if self.chance(0.6) else ["(", one(type_), " * ", one(type_), self.pick([" + ", " - "]), one(type_), ")"]
            return expr(type_, allowed, "(-", *negated, ")")
        if op == "bits":
            return self.bits(type_, allowed, one)
        if op in ("min", "max") and self.chance(0.3):
            return self.beside_integer(op, type_, allowed, one)
        count = {"min": 2, "max": 2, "pow": 2, "atan2": 2, "fma": 3, "clamp": 3}.get(op, 1)
        return expr(type_, allowed, f"{op}(", *self.listed([one(type_) for _ in range(count)]), ")")

    def beside_integer(self, op, type_, allowed, one):
        """Generates the minimum or maximum of a possible NaN and an integer. The integer is never a NaN, so
        compilers need fewer checks."""
        from_ = self.pick(INTEGERS)
        self.shows[f"{op} of {type_} and {from_}"] += 1
        operands = [one(type_), self.as_type(type_, from_, allowed, one(from_))]
        self.random.shuffle(operands)
        return expr(type_, allowed, f"{op}(", *self.listed(operands), ")")

    def bits(self, type_, allowed, one):
        """Returns a float computed by changing some bits of another float. If the other float is a NaN, its
        bits are those of the canonical NaN."""
        if type_ not in ("f32", "f64"):
            return one(type_)
        pattern = {"f32": "i32", "f64": "i64"}[type_]
        return expr(type_, allowed, "from_bits(bits(", one(type_), f") {self.pick('^|+')} ", one(pattern), ")")
