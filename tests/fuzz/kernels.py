"""Kernels drawn at random, well typed by construction: what a kernel may say, each thing in every place where it may stand."""

import collections
import math
import random

from expressions import FLOATS, INTEGERS, NUMBERS, Expressions, Fn, Range, Scope, Tensor, Value
from tree import statements, text

SIZES = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17]
LARGE = [31, 33, 63, 64, 65, 100]
MOST_POINTS = 40000  # of the loops around a statement
BLOCKS = [1, 3, 4, 8, 16, 17, 32, 64]


class Kernel(Expressions):
    """The kernel of a seed: `tree`, the values of its sizes, and what it shows (`shows` counts constructs)."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.shows = collections.Counter()
        self.names = collections.Counter()
        self.sizes = {name: self.random.choice(SIZES) for name in "ABC"[:self.random.randint(1, 3)]}
        if self.chance(0.4):
            self.sizes["A"] = self.random.choice(LARGE)
        self.tensors = [self.tensor(f"x{n}", "in") for n in range(self.random.randint(1, 3))]
        self.sizes = {name: self.sizes[name] for name in sorted({dim for t in self.tensors for dim in t.dims})}
        self.fns = []
        functions = [self.function() for _ in range(self.random.choice([0, 0, 1, 2]))]
        loops = [self.dealt_loop() for _ in range(self.random.choice([1, 1, 1, 2]))]
        self.seeds = [self.random.randrange(1000) for _ in self.tensors]
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors)
        self.tree = text(*functions, f"export kernel k({params}) {{\n", statements(loops), "}\n")

    def tensor(self, name, direction):
        dims = tuple(self.pick(self.sizes) for _ in range(self.random.randint(1, 3)))
        self.shows[f"rank {len(dims)}"] += 1
        return Tensor(name, self.pick(NUMBERS), dims, direction)

    # Functions of one number or several, without a tensor in sight.

    def function(self):
        params = tuple(self.pick(NUMBERS) for _ in range(self.random.randint(1, 2)))
        fn = Fn(self.fresh("f"), params, self.pick(NUMBERS))
        scope = Scope()
        scope.lets = [Value(f"p{n}", type_, frozenset()) for n, type_ in enumerate(params)]
        body = statements([self.step(scope, 0) for _ in range(self.random.choice([0, 1, 2, 4]))])
        result = self.expression(fn.result, frozenset(), scope, 1)
        self.fns.append(fn)
        self.shows["fn"] += 1
        names = ", ".join(f"p{n}: {type_}" for n, type_ in enumerate(params))
        return text(f"fn {fn.name}({names}) -> {fn.result} {{\n", body, "return ", result, ";\n}\n")

    def step(self, scope, depth):
        """A statement of a fn: its vars, branches, and loops with an end that is sure."""
        ways = [self.let, self.var, self.var]
        if scope.vars:
            ways += [self.assign, self.assign]
            if depth < 2:
                ways += [self.fn_branch, self.fn_loop]
        way = self.pick(ways)
        return way(scope, depth) if way in (self.fn_branch, self.fn_loop) else way(scope)

    def steps(self, scope, depth):
        inner = Scope(scope)
        return statements([self.step(inner, depth + 1) for _ in range(self.random.randint(1, 3))])

    def fn_branch(self, scope, depth):
        self.shows["if in a fn"] += 1
        condition = self.expression("bool", frozenset(), scope, 2)
        parts = ["if ", condition, " {\n", self.steps(scope, depth), "}"]
        return text(*parts, " else {\n", self.steps(scope, depth), "}\n") if self.chance(0.5) else text(*parts, "\n")

    def fn_loop(self, scope, depth):
        """Of a few turns, whose number depends on the element; perhaps with break and continue."""
        name = self.fresh("n")
        inner = Scope(scope)
        turns = text("(", self.expression("i64", frozenset(), scope, 2), " % 6)")
        counted = self.chance(0.5)
        end = text(self.pick(["break", "continue"]), ";")
        leave = [text("if ", self.expression("bool", frozenset(), scope, 2), " { ", end, " }\n")] if self.chance(0.5) else []
        self.shows["for in a fn" if counted else "while in a fn"] += 1
        if counted:
            inner.lets.append(Value(name, "i64", frozenset()))
            body = statements([self.steps(inner, depth), *leave, self.steps(inner, depth)])
            step = self.pick(["", " step 2"])
            return text(f"for {name} in 0..", turns, step, " {\n", body, "}\n")
        body = statements([self.steps(inner, depth), *leave, self.steps(inner, depth)])
        return text(f"var {name}: i64 = 0;\nwhile {name} < ", turns, f" {{\n{name} += 1;\n", body, "}\n")

    # Statements.

    def dealt_loop(self):
        scope = Scope()
        dims = [self.pick(self.sizes) for _ in range(self.random.choice([1, 1, 2, 2, 3]))]
        while len(dims) > 1 and math.prod(max(1, self.sizes[dim]) for dim in dims) > MOST_POINTS:
            dims.pop()
        binders = [self.binder(scope, dim, self.chance(0.8)) for dim in dims]
        self.shows["spmd for"] += 1
        body = [self.statement(scope, 0) for _ in range(self.random.randint(0, 4))]
        if self.chance(0.15):
            body.append(self.update(scope))
        body += [self.output(scope, list(scope.ranges[:len(dims)])) for _ in range(self.random.choice([1, 1, 2]))]
        return text(f"spmd for {', '.join(binders)} {{\n", statements(body), "}\n")

    def binder(self, scope, dim, blocked):
        range_ = Range(self.fresh("n" if blocked else "r"), dim, blocked)
        scope.ranges.append(range_)
        if not blocked:
            self.shows["scalar binder"] += 1
            return f"{range_.name} in 0..{dim}"
        self.shows["range"] += 1
        return f"{range_.name} in {dim} by {self.pick(BLOCKS)}"

    def statement(self, scope, depth):
        ways = [self.let, self.let, self.var, self.assign, self.assign]
        dim = self.pick(self.sizes)
        if depth < 2:
            ways += [self.branch]
            if self.points(scope, dim) <= MOST_POINTS:
                ways += [self.loop, self.loop]
        if scope.blocked() and depth < 2:
            ways.append(self.split)
        way = self.pick(ways)
        if way in (self.let, self.var):
            return way(scope)
        if way == self.assign:
            return self.assign(scope) if scope.vars else self.var(scope)
        return way(scope, depth, dim) if way == self.loop else way(scope, depth)

    def points(self, scope, dim):
        around = [r.size for r in scope.ranges if not r.part_of] + [dim]
        return math.prod(max(1, self.sizes[size]) for size in around)

    def block(self, scope, depth):
        inner = Scope(scope)
        return statements([self.statement(inner, depth + 1) for _ in range(self.random.randint(1, 3))])

    def some_ranges(self, scope, most=3):
        ranges = [r.name for r in scope.blocked()]
        return frozenset(self.random.sample(ranges, self.random.randint(0, min(most, len(ranges)))))

    def let(self, scope):
        type_, ranges = self.pick(NUMBERS + ["bool"]), self.some_ranges(scope)
        value = self.expression(type_, ranges, scope, 0)
        name = self.fresh("t")
        typed = self.chance(0.4)
        scope.lets.append(Value(name, type_, ranges if typed else value.has()))
        self.shows["let with a type" if typed else "let"] += 1
        dims = f"[{', '.join(sorted(ranges))}]" if ranges else ""
        return text(f"let {name}{f': {type_}{dims}' if typed else ''} = ", value, ";\n")

    def var(self, scope):
        type_, ranges = self.pick(NUMBERS), self.some_ranges(scope)
        value = self.expression(type_, ranges, scope, 1)
        name = self.fresh("v")
        scope.vars.append(Value(name, type_, ranges))
        self.shows["var"] += 1
        dims = f"[{', '.join(sorted(ranges))}]" if ranges else ""
        return text(f"var {name}: {type_}{dims} = ", value, ";\n")

    def assign(self, scope):
        var = self.pick(scope.vars)
        folded = [r for r in scope.blocked() if r.name not in var.ranges]
        if var.type in ("f16", "bf16"):
            op = self.pick(["=", "+=", "*="])
        elif var.type in FLOATS:
            op = self.pick(["=", "+=", "+=", "-=", "*=", "/="])
        else:
            op = self.pick(["=", "+=", "-=", "*=", "&=", "|=", "^="])
        if op == "+=" and var.type in ("f32", "f64", "i32", "i64") and folded and self.chance(0.6):
            self.shows["dot into a var"] += 1
            over = self.pick(folded).name
            return text(f"{var.name} += ", self.dot(var.type, var.ranges, scope, 1, over), ";\n")
        self.shows[f"assignment {op}"] += 1
        return text(f"{var.name} {op} ", self.expression(var.type, var.ranges, scope, 0), ";\n")

    def loop(self, scope, depth, dim):
        inner = Scope(scope)
        blocked = self.chance(0.7)
        head = self.binder(inner, dim, blocked)
        if not blocked and self.chance(0.3):
            head += f" step {self.pick([2, 3, 7])}"
            self.shows["step"] += 1
        self.shows["for"] += 1
        return text(f"for {head} {{\n", self.block(inner, depth), "}\n")

    def split(self, scope, depth):
        inner = Scope(scope)
        range_ = self.pick(inner.blocked())
        part = Range(self.fresh("s"), range_.size, True, range_.name)
        inner.ranges.append(part)
        gone = {range_.name}
        inner.lets = [v for v in inner.lets if not v.ranges & gone]
        inner.vars = [v for v in inner.vars if not v.ranges & gone]
        self.shows["range split"] += 1
        return text(f"for {part.name} in {range_.name} by {self.pick(BLOCKS)} {{\n", self.block(inner, depth), "}\n")

    def branch(self, scope, depth):
        condition = self.expression("bool", frozenset(), scope, 2)
        self.shows["if"] += 1
        parts = ["if ", condition, " {\n", self.block(scope, depth), "}"]
        if self.chance(0.5):
            parts += [" else {\n", self.block(scope, depth), "}"]
        return text(*parts, "\n")

    def output(self, scope, dealt):
        """A store that writes all of a new tensor: an index for each dealt range, and loops over other dimensions."""
        inner = Scope(scope)
        heads = []
        ranges = list(dealt)
        more = self.pick(self.sizes)
        if self.chance(0.25) and self.points(scope, more) <= MOST_POINTS:
            heads.append(f"for {self.binder(inner, more, self.chance(0.8))} {{\n")
            ranges.append(inner.ranges[-1])
        self.random.shuffle(ranges)
        direction = self.pick(["out", "out", "out", "inout"])
        tensor = Tensor(self.fresh("y"), self.pick(NUMBERS), tuple(r.size for r in ranges), direction)
        self.tensors.append(tensor)
        allowed = frozenset(r.name for r in ranges if r.blocked)
        access = f"{tensor.name}[{', '.join(r.name for r in ranges)}]"
        stores = [self.store(access, tensor, "=" if direction == "out" else "+=", allowed, inner)]
        if self.chance(0.2):
            self.shows["stored element loaded"] += 1
            stores.append(self.store(access, tensor, "+=", allowed, inner))
        self.shows[f"store of {tensor.type}"] += 1
        return text(*heads, statements(stores), "}\n" * len(heads))

    def update(self, scope):
        """An atomic update whose result no order changes."""
        dims = [dim for dim in self.sizes if self.sizes[dim]]
        if not dims:
            return self.let(scope)
        tensor = Tensor(self.fresh("z"), self.pick(INTEGERS), tuple(self.random.choices(dims, k=self.pick([1, 2]))), "inout")
        self.tensors.append(tensor)
        ranges = self.some_ranges(scope)
        indices = []
        for dim in tensor.dims:
            indices += [", " if indices else "", "clamp(", self.expression("i64", ranges, scope, 2), f", 0, {dim} - 1)"]
        op = self.pick(["+=", "max=", "min=", "&=", "|=", "^="])
        self.shows[f"atomic {op} of {tensor.type}"] += 1
        return text(f"atomic {tensor.name}[", *indices, f"] {op} ", self.expression(tensor.type, ranges, scope, 1), ";\n")

    def store(self, access, tensor, op, allowed, scope):
        return text(f"{access} {op} ", self.expression(tensor.type, allowed, scope, 0), ";\n")
