"""Random stores that the compiler must recognize as complete, disjoint and in order."""

from names import FLOATS, INTEGERS, NUMBERS, Scope, Tensor, Value
from statements import MOST_POINTS, Statements
from tree import statements, text


class Stores(Statements):
    """Generates the stores of a kernel. `tensors` are its tensors; the tensors in `done` have been written
    and may be read after a `sync`."""

    def output(self, scope, dealt, single=False):
        """Generates a store that writes all of a tensor: an index for each distributed range, and loops over
        the other dimensions."""
        inner = Scope(scope)
        heads = []
        ranges = list(dealt)
        tensor = None
        more = self.pick(self.sizes)
        if self.chance(0.25) and self.points(scope, more) <= MOST_POINTS:
            heads.append(f"for {self.binder(inner, more, self.chance(0.8))} {{\n")
            ranges.append(inner.ranges[-1])
        if ranges and all(r.whole for r in ranges):
            tensor = self.written_again(ranges)
        if not tensor:
            self.random.shuffle(ranges)
            direction = self.pick(["out", "out", "out", "inout"] + ["let"] * 2 * self.shared)
            if not all(r.whole for r in ranges):
                direction = "inout"
            type_ = self.pick(NUMBERS + ["bool"] * (direction == "out"))
            tensor = Tensor(self.fresh("y"), type_, tuple(r.size for r in ranges) or ("1",), direction)
            self.tensors.append(tensor)
        else:
            ranges = self.in_order(ranges, tensor.dims)
        self.done.append(tensor)
        allowed = frozenset(r.name for r in ranges if r.blocked)
        access = f"{tensor.name}[{', '.join(r.name for r in ranges) or '0'}]"
        defined = tensor.direction in ("inout", "again")
        stores = self.first_stores(access, tensor, allowed, inner, defined)
        for _ in range(self.random.choice([0, 0, 0, 0, 1]) if tensor.type != "bool" else 0):
            self.shows["stored element loaded"] += 1
            stores.append(self.store(access, tensor, self.pick(["+=", "*="]), allowed, inner, self.chance(0.3)))
        self.shows[f"store of {tensor.type}"] += 1
        return text(*heads, statements(stores), "}\n" * len(heads))

    def spread(self, scope, dealt):
        """Generates stores whose indices are sums: shifted, reversed, or with a step. With a step, there are
        enough stores to cover all elements. The stores write one row, or several rows that are selected by
        number."""
        dims, forms, steps = [], [""], 1
        if self.chance(0.3):
            rows = self.random.randint(2, 5)
            dims.append(str(rows))
            forms = [f", {row}" for row in range(rows)]
            self.shows["store of numbered rows"] += 1
        complete = all(r.whole for r in dealt)
        for r in self.random.sample(dealt, len(dealt)):
            way = self.pick(["plain", "shifted", "strided", "turned"])
            if way == "strided" and steps == 1:
                steps = self.pick([2, 3])
                dims.append(f"{steps} * {r.size}")
                forms = [f"{form}, {steps} * {r.name} + {at}" for form in forms for at in range(steps)]
                continue
            by = self.random.randint(1, 3)
            complete = complete and way != "shifted"
            dims.append(f"{r.size} + {by}" if way == "shifted" else r.size)
            index = {"shifted": f"{r.name} + {self.random.randint(0, by)}", "turned": f"{r.size} - 1 - {r.name}"}.get(way, r.name)
            forms = [f"{form}, {index}" for form in forms]
            self.shows[f"store {way}"] += 1
        self.shows["store strided"] += steps > 1
        self.random.shuffle(forms)
        whole = complete and self.chance(0.7)
        tensor = Tensor(self.fresh("y"), self.pick(NUMBERS), tuple(dims), "out" if whole else "inout")
        self.tensors.append(tensor)
        self.done.append(tensor)
        allowed = frozenset(r.name for r in dealt if r.blocked)
        stores = []
        for form in forms if whole else forms[:self.random.randint(1, len(forms))]:
            stores += self.first_stores(f"{tensor.name}[{form[2:]}]", tensor, allowed, scope, not whole)
        return statements(stores)

    def first_stores(self, access, tensor, allowed, scope, defined):
        if defined:
            return [self.store(access, tensor, self.pick(["+=", "="]), allowed, scope, self.chance(0.3))]
        if self.chance(0.1):
            name = self.fresh("t")
            condition = self.expression("bool", allowed, scope, 2)
            scope.lets.append(Value(name, "bool", condition.has()))
            self.shows["stores where and where not"] += 1
            return [text(f"let {name} = ", condition, ";\n"),
                    text(f"{access} = ", self.chosen(tensor.type, allowed, scope), f" where {name};\n"),
                    text(f"{access} = ", self.chosen(tensor.type, allowed, scope), f" where !{name};\n")]
        return [self.store(access, tensor, "=", allowed, scope)]

    def store(self, access, tensor, op, allowed, scope, where=False):
        if not where:
            return text(f"{access} {op} ", self.expression(tensor.type, allowed, scope, 0), ";\n")
        self.shows["store where"] += 1
        value = self.chosen(tensor.type, allowed, scope)
        return text(f"{access} {op} ", value, " where ", self.expression("bool", allowed, scope, 2), ";\n")

    def chosen(self, type_, allowed, scope):
        """Generates a value chosen element by element with `where`."""
        self.choices += 1
        value = self.expression(type_, allowed, scope, 1)
        self.choices -= 1
        return value

    def written_again(self, ranges):
        """Returns a tensor that an earlier loop has written, and that nothing reads until the next `sync`."""
        sizes = sorted(r.size for r in ranges)
        fitting = [t for t in self.rewritten if sorted(t.dims) == sizes and t.type != "bool"]
        if not fitting:
            return None
        tensor = self.pick(fitting)
        self.rewritten.remove(tensor)
        self.shows["tensor written again"] += 1
        return Tensor(tensor.name, tensor.type, tensor.dims, "again")

    def in_order(self, ranges, dims):
        left = list(ranges)
        ordered = []
        for dim in dims:
            ordered.append(next(r for r in left if r.size == dim))
            left.remove(ordered[-1])
        return ordered

    def update(self, scope):
        """Generates an atomic update whose result does not depend on the order, or whose result is
        unspecified and never read."""
        dims = [dim for dim in self.sizes if self.sizes[dim]]
        if not dims:
            return self.let(scope)
        floats = self.chance(0.3)
        type_ = self.pick(FLOATS if floats else INTEGERS + ["bool"])
        tensor = Tensor(self.fresh("z"), type_, tuple(self.random.choices(dims, k=self.pick([1, 2]))), "inout")
        self.tensors.append(tensor)
        ranges = self.some_ranges(scope)
        self.choices += 1  # as in a branch, because a `where` may follow
        indices = [text("clamp(", self.expression("i64", ranges, scope, 2), f", 0, {dim} - 1)") for dim in tensor.dims]
        ordered = [] if type_ == "bool" else ["+=", "-=", "*=", "max=", "min="]
        op = self.pick(["max=", "min=", "max=", "min=", "+=", "-=", "*=", "="] if floats else ordered + ["&=", "|=", "^=", "="])
        if op != "=" and (not floats or op in ("max=", "min=")):
            self.done.append(tensor)
        self.shows[f"atomic {op} of {tensor.type}"] += 1
        where = [" where ", self.expression("bool", ranges, scope, 2)] if self.chance(0.2) else []
        value = self.expression(tensor.type, ranges if op == "=" else self.some_ranges(scope), scope, 1)
        self.choices -= 1
        return text(f"atomic {tensor.name}[", *self.listed(indices), f"] {op} ", value, *where, ";\n")

    def reduce_over_blocks(self, scope, dealt):
        """Generates a `reduce` over the surrounding blocks: into all of an `out` tensor, or anywhere into an
        `inout` tensor."""
        type_ = self.pick(NUMBERS)
        op = self.pick(["+=", "+=", "-=", "*=", "max=", "min="] + ["&=", "|=", "^="] * (type_ in INTEGERS))
        whole = [r for r in dealt if r.whole]
        if self.chance(0.6):
            kept = self.random.sample(whole, self.random.randint(0, len(whole)))
            dims, direction = tuple(r.size for r in kept) or ("1",), self.pick(["out", "out", "inout"] + ["let"] * self.shared)
            indices = [r.name for r in kept] or ["0"]
            ranges = frozenset(r.name for r in kept if r.blocked)
        else:
            dims = [dim for dim in self.sizes if self.sizes[dim]]
            if not dims:
                return self.let(scope)
            dims, direction, ranges = (self.pick(dims),), "inout", self.some_ranges(scope, 2)
            indices = [text("clamp(", self.expression("i64", ranges, scope, 2), f", 0, {dims[0]} - 1)")]
            ranges = indices[0].has()
        tensor = Tensor(self.fresh("z"), type_, dims, direction)
        self.tensors.append(tensor)
        self.done.append(tensor)
        self.shows[f"reduce {op} of {type_}"] += 1
        value = self.expression(type_, ranges, scope, 1)
        return text(f"reduce {tensor.name}[", *self.listed(indices), f"] {op} ", value, ";\n")
