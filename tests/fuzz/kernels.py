"""Random kernels that are well typed by construction: parameters, and the loops that are distributed over the
cores."""

import dataclasses
import math

from layers import Layers
from names import NUMBERS, Range, Scope, Tensor, Value
from statements import MOST_POINTS
from tree import statements, text


class Kernels(Layers):
    """Generates kernels for a file; `kernel` generates one of them."""

    def kernel(self, name):
        """Generates a kernel with this name. Afterwards, `tensors`, `scalars` and `sizes` describe its
        parameters."""
        self.tensors = [self.tensor(self.fresh("x"), "in") for _ in range(self.random.randint(1, 3))]
        others = {dim for t in self.tensors[:-1] for dim in t.dims}
        if self.alone and set(self.tensors[-1].dims) <= others and self.chance(0.2):
            self.tensors[-1] = dataclasses.replace(self.tensors[-1], optional=True)
        self.sizes = {name: self.sizes[name] for name in sorted({dim for t in self.tensors for dim in t.dims})}
        self.scalars = [Value(self.fresh("a"), self.pick(NUMBERS), frozenset()) for _ in range(self.pick([0, 0, 0, 1, 2]))]
        self.generics = []
        self.done, self.rewritten, self.shared = [], [], False
        scope = Scope()
        scope.tensors = list(self.tensors)
        scope.lets = self.scalars + [Value(dim, "i64", frozenset()) for dim in self.sizes]
        scope.launch = ["core_num"]
        way = self.pick([self.plain_body] * 4 + [self.phases] * 2 + [self.staged_body] * 2)
        first = [self.window(scope)] if self.chance(0.2) else []
        if way != self.staged_body:
            first += [self.view(scope) for _ in range(self.random.choice([0, 0, 0, 1, 2]))]
        body = way(scope)
        first += [f"static_assert({name.split(':')[0]} >= 1);\n" for name in self.generics if self.chance(0.5)]
        shared = [f"let {t.name}: {t.type}[{', '.join(t.dims)}];\n" for t in self.tensors if t.direction == "let"]
        params = ", ".join([f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]{'?' * t.optional}" for t in self.tensors if
                            t.direction in ("in", "out", "inout")] + [f"{v.name}: {v.type}" for v in self.scalars])
        self.shows["tensor of the launch"] += len(shared)
        generics = f"<{', '.join(self.generics)}>" if self.generics else ""
        return text(f"kernel {name}{generics}({params}) {{\n", statements(first + shared), body, "}\n")

    def tensor(self, name, direction):
        dims = tuple(self.pick(self.sizes) for _ in range(self.random.randint(1, 3)))
        self.shows[f"rank {len(dims)}"] += 1
        return Tensor(name, self.pick(NUMBERS * 2 + ["bool"]), dims, direction)

    def window(self, scope):
        """Generates a constant range."""
        range_ = Range(self.fresh("m"), self.pick("1235"), True)
        scope.ranges.append(range_)
        self.shows["constant range"] += 1
        return text(f"range {range_.name} in {range_.size};\n")

    def view(self, scope):
        """Generates a view of a parameter or view, with one dimension split or two merged."""
        tensor = self.pick([t for t in scope.tensors if not t.optional])
        dims = list(tensor.dims)
        at = self.random.randrange(len(dims))
        factors = [n for n in (1, 2, 3, 4, 5, 8) if self.size(dims[at]) % n == 0]
        if at + 1 < len(dims) and self.chance(0.5):
            dims[at:at + 2] = [" * ".join(dim if dim in self.sizes else f"({dim})" for dim in dims[at:at + 2])]
        else:
            factor = self.pick(factors)
            whole = dims[at] if dims[at] in self.sizes else f"({dims[at]})"
            dims[at:at + 1] = self.pick([[str(factor), f"{whole} / {factor}"], [f"{whole} / {factor}", str(factor)]])
        view = Tensor(self.fresh("u"), tensor.type, tuple(dims), "view")
        scope.tensors.append(view)
        self.shows["view"] += 1
        return text(f"view {view.name}: {view.type}[{', '.join(dims)}] = {tensor.name};\n")

    def block_size(self):
        """Generates a number, or an integer parameter, whose value the compiler may choose."""
        size = super().block_size()
        if self.chance(0.9):
            return size
        name = self.fresh("BS")
        default = self.pick([size, size, "auto", f"int in {{16, 32}}"])
        self.generics.append(f"{name}: {default} = auto" if "in" in default else f"{name}: int = {default}")
        self.shows["integer parameter"] += 1
        return name

    # The contents of a kernel's body.

    def plain_body(self, scope):
        return statements([self.dealt_loop(scope) for _ in range(self.random.choice([1, 1, 1, 2]))])

    def phases(self, scope):
        """Generates phases that are separated by `sync`: loops, and code that each core runs by itself.
        After a `sync`, everything that was written before it may be read."""
        self.shared = True
        parts = []
        for number in range(self.random.randint(2, 4)):
            if number and self.chance(0.75):
                parts.append(self.sync(scope))
            parts.append(self.phase(scope, self.rounds))
        return statements(parts)

    def phase(self, scope, *others):
        ways = [self.dealt_loop] * 4 + [self.single_core, self.each_core, self.over_domain, self.interleaved, *others]
        return self.pick(ways)(scope)

    def rounds(self, scope):
        """Generates a loop that all cores run together, with phases in each iteration."""
        before = len(self.tensors)
        inner = Scope(scope)
        turn = self.fresh("r")
        inner.lets.append(Value(turn, "i64", frozenset()))
        parts = [self.sync(inner)]
        for _ in range(self.random.randint(1, 2)):
            parts += [self.phase(inner), self.sync(inner)]
        scope.tensors = inner.tensors
        turns = self.random.randint(1, 3)
        if self.chance(0.5):
            self.shows["for around sync"] += 1
            return text(f"for {turn} in 0..{turns} {{\n", statements(parts), "}\n")
        self.shows["while around sync"] += 1
        # The loop may run zero times, so the tensors may keep their previous contents.
        self.tensors[before:] = [dataclasses.replace(t, direction="inout") for t in self.tensors[before:]]
        return text(f"var {turn}: i64 = 0;\nwhile {turn} < {turns} {{\n{turn} += 1;\n", statements(parts), "}\nsync;\n")

    def sync(self, scope):
        self.shows["sync"] += 1
        done = {t.name: t for t in self.tensors if t.name in {d.name for d in self.done}}
        known = {t.name for t in scope.tensors}
        scope.tensors += [t for name, t in done.items() if name not in known]
        self.done = []
        self.rewritten = [t for t in scope.tensors if t.direction in ("out", "inout", "let") and self.chance(0.4)]
        again = {t.name for t in self.rewritten}
        scope.tensors = [t for t in scope.tensors if t.name not in again]
        self.done += [t for t in self.rewritten]
        return text("sync;\n")

    def dealt_loop(self, outer):
        scope = outer.read_only()
        dims = [self.pick(self.sizes) for _ in range(self.random.choice([1, 1, 2, 2, 3]))]
        while len(dims) > 1 and math.prod(max(1, self.sizes[dim]) for dim in dims) > MOST_POINTS:
            dims.pop()
        first = len(scope.ranges)
        heads = [self.binder(scope, dim, self.chance(0.8), parts=self.chance(0.1)) for dim in dims]
        dealt = scope.ranges[first:first + len(dims)]
        self.shows["spmd for"] += 1
        body = [self.statement(scope, 0) for _ in range(self.random.randint(0, 4))]
        if self.chance(0.15):
            body.append(self.update(scope))
        if self.chance(0.1):
            body += [self.reduce_over_blocks(scope, dealt) for _ in range(self.pick([1, 1, 2, 5]))]
        body += [self.output(scope, dealt) for _ in range(self.random.choice([1, 1, 2]))]
        if self.alone and self.chance(0.2):
            body.append(self.spread(scope, dealt))
        hint = self.hint("@dynamic", "@order(grouped = 2)")
        return text(f"spmd for {', '.join(heads)}{hint} {{\n", statements(body), "}\n")

    def over_domain(self, outer):
        """Generates two loops over one domain. In the second loop a core reads what it has written in the
        first loop, without a `sync`."""
        name = self.fresh("d")
        dims = [(self.pick(self.sizes), self.block_size() if self.chance(0.8) else "") for _ in range(self.pick([1, 2]))]
        places = ", ".join(f"{dim} by {extent}" if extent else f"0..{dim}" for dim, extent in dims)
        self.shows["two loops over a domain"] += 1
        loops, written = [], None
        for _ in range(2):
            scope = outer.read_only()
            ranges = [Range(self.fresh("n" if extent else "r"), dim, bool(extent), extent=extent) for dim, extent in dims]
            scope.ranges += ranges
            first = []
            if written:
                access = f"{written.name}[{', '.join(r.name for r in ranges)}]"
                allowed = frozenset(r.name for r in ranges if r.blocked)
                loaded = Value(self.fresh("t"), written.type, allowed)
                scope.lets.append(loaded)
                first = [f"let {loaded.name} = {access};\n", self.store(access, written, "+=", allowed, scope)]
            body = [self.statement(scope, 1) for _ in range(self.random.randint(0, 2))]
            if not written:
                written = Tensor(self.fresh("y"), self.pick(NUMBERS), tuple(r.size for r in ranges), self.pick(["out", "inout", "let"]))
                self.tensors.append(written)
                self.done.append(written)
                access = f"{written.name}[{', '.join(r.name for r in ranges)}]"
                body.append(self.store(access, written, "=", frozenset(r.name for r in ranges if r.blocked), scope))
            else:
                body.append(self.output(scope, ranges))
            loops.append(text(f"spmd for {', '.join(r.name for r in ranges)} in {name} {{\n", statements(first + body), "}\n"))
        return text(f"domain {name} = ({places});\n", *loops)

    def interleaved(self, outer):
        """Generates a loop whose iterations write different elements of the same blocks, with no `sync` in
        between. With `@dynamic`, several cores may work on one block at the same time."""
        scope = outer.read_only()
        dims = [self.pick(self.sizes) for _ in range(self.pick([1, 1, 2]))]
        if math.prod(max(1, self.sizes[dim]) for dim in dims) > MOST_POINTS:
            dims = dims[:1]
        turn, turns = self.fresh("r"), self.random.randint(2, 4)
        first = len(scope.ranges)
        heads = [self.binder(scope, dim, True) for dim in dims]
        ranges = scope.ranges[first:first + len(dims)]
        scope.lets.append(Value(turn, "i64", frozenset()))
        body = [self.statement(scope, 1) for _ in range(self.random.randint(0, 1))]
        tensor = Tensor(self.fresh("y"), self.pick(NUMBERS), tuple(r.size for r in ranges), "inout")
        self.tensors.append(tensor)
        self.done.append(tensor)
        self.shows["iterations between barriers"] += 1
        value = self.chosen(tensor.type, frozenset(r.name for r in ranges), scope)
        body.append(text(f"{tensor.name}[{', '.join(r.name for r in ranges)}] {self.pick(['=', '+='])} ", value,
                         f" where iota({self.pick(ranges).name}) % {turns} == {turn};\n"))
        hint = self.pick([" @dynamic", " @dynamic", ""])
        return text(f"for {turn} in 0..{turns} {{\nspmd for {', '.join(heads)}{hint} {{\n", statements(body), "}\n}\n")

    def single_core(self, outer):
        """Generates stores to all elements by a single core."""
        scope = outer.read_only()
        self.shows["one core alone"] += 1
        body = [self.statement(scope, 0) for _ in range(self.random.randint(0, 2))]
        inner = Scope(scope)
        head = self.binder(inner, self.pick(self.sizes), self.chance(0.8))
        body.append(text(f"for {head} {{\n", self.output(inner, inner.ranges[len(scope.ranges):]), "}\n"))
        return text("if core_id == 0 {\n", statements(body), "}\n")

    def each_core(self, scope):
        """Generates statements that every core runs and that only read `in` tensors. Later loops
        read the values that these statements compute."""
        self.shows["code of every core"] += 1
        all_, scope.tensors = scope.tensors, [t for t in scope.tensors if t.direction == "in"]
        body = [self.statement(scope, 0) for _ in range(self.random.randint(1, 3))]
        scope.tensors = all_
        return statements(body)
