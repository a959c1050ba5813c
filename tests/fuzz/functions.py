"""Random functions on scalars, tuples and tiles, without tensors."""

from names import NUMBERS, Fn, Range, Scope, TileFn, Value
from tree import statements, text


class Functions:
    """Generates the functions of a file. `fns` and `tile_fns` are the functions that its kernels may call."""

    def functions(self):
        ways = [self.function] * 5 + [self.tuple_function, self.tile_function, self.tile_function, self.table_function,
                                      self.passed_function]
        return [self.pick(ways)() for _ in range(self.random.choice([0, 0, 1, 2]))]

    def function(self):
        """Generates a function of one or two numbers, with any control flow that terminates."""
        params = tuple(self.pick(NUMBERS) for _ in range(self.random.randint(1, 2)))
        if self.chance(0.15):
            params = (params[0],) * 2
        fn = Fn(self.fresh("f"), params, params[0] if len(params) == 2 and self.chance(0.3) else self.pick(NUMBERS))
        scope = Scope()
        scope.lets = [Value(f"p{n}", type_, frozenset()) for n, type_ in enumerate(params)]
        body = statements([self.step(scope, 0) for _ in range(self.random.choice([0, 1, 2, 4]))])
        result = self.expression(fn.result, frozenset(), scope, 1)
        self.fns.append(fn)
        self.shows["fn"] += 1
        names = ", ".join(f"p{n}: {type_}" for n, type_ in enumerate(params))
        return text(f"fn {fn.name}({names}) -> {fn.result} {{\n", body, "return ", result, ";\n}\n")

    def table_function(self):
        """Generates a function that reads a table, and one that calls it only for the indices that it asserts."""
        table, entry = self.fresh("TABLE"), self.fresh("f")
        fn = Fn(self.fresh("f"), ("i64",), "f32")
        elements = [str(self.random.randint(-8, 8) / 4) for _ in range(self.random.randint(2, 9))]
        last = len(elements) - 1
        self.fns.append(fn)
        self.shows["fn that asserts an index"] += 1
        return text(f"const {table}: f32[{len(elements)}] = [{', '.join(elements)}];\n",
                    f"fn {entry}(p0: i64) -> f32 {{\nassert(p0 >= 0 && p0 <= {last});\nreturn {table}[p0];\n}}\n",
                    f"fn {fn.name}(p0: i64) -> f32 {{\nreturn if p0 >= 0 && p0 <= {last} then {entry}(p0) else 0.5;\n}}\n")

    def passed_function(self):
        """Generates a function that calls a generic one through function parameters. The declaration of the first
        states the types of the generic one, and the second is the same function by default."""
        taken, given = self.pick(NUMBERS), self.pick(NUMBERS)
        generic, calls = self.fresh("f"), self.fresh("f")
        fn = Fn(self.fresh("f"), (taken,), given)
        types = " | ".join(sorted({taken, given}))
        type_ = f"fn({taken}) -> {given}"
        self.fns.append(fn)
        self.shows["fn that gets a fn"] += 1
        return text(f"fn {generic}<T: {types}, U: {types}>(p0: T) -> U {{\nreturn p0 as U;\n}}\n",
                    f"fn {calls}<F: {type_}, G: {type_} = F>(p0: {taken}) -> {given} {{\nreturn max(F(p0), G(p0));\n}}\n",
                    f"fn {fn.name}(p0: {taken}) -> {given} {{\nreturn {calls}<F = {generic}>(p0);\n}}\n")

    def tuple_function(self):
        """Generates a function of two tuples of the same type, as `reduce` and `scan` need."""
        types = tuple(self.pick(NUMBERS) for _ in range(self.random.randint(2, 3)))
        fn = Fn(self.fresh("f"), (types, types), types)
        scope = Scope()
        scope.lets = [Value(f"{p}.{n}", type_, frozenset()) for p in ("p0", "p1") for n, type_ in enumerate(types)]
        body = statements([self.step(scope, 1) for _ in range(self.random.choice([0, 1, 2]))])
        results = self.listed([self.expression(type_, frozenset(), scope, 2) for type_ in types])
        self.fns.append(fn)
        self.shows["fn of tuples"] += 1
        type_ = f"({', '.join(types)})"
        return text(f"fn {fn.name}(p0: {type_}, p1: {type_}) -> {type_} {{\n", body, "return (", *results, ");\n}\n")

    def tile_function(self):
        """Generates a function of tiles. A call names the function's ranges."""
        ranges = ("i", "j")[:self.random.randint(1, 2)]
        params = [(self.pick(NUMBERS), frozenset(self.random.sample(ranges, self.random.randint(0, len(ranges)))))
                  for _ in range(self.random.randint(0, 1))]
        params.insert(0, (self.pick(NUMBERS), frozenset(ranges)))
        result = (self.pick(NUMBERS), frozenset(self.random.sample(ranges, self.random.randint(0, len(ranges)))))
        if self.chance(0.3):  # a function that `reduce` accepts
            ranges, params, result = ("i",), [params[0][:1] + (frozenset("i"),)] * 2, params[0][:1] + (frozenset("i"),)
        fn = TileFn(self.fresh("g"), ranges, tuple(params), result)
        scope = Scope()
        scope.ranges = [Range(name, "", True) for name in ranges]
        scope.lets = [Value(f"p{n}", type_, dims) for n, (type_, dims) in enumerate(params)]
        body = statements([self.pick([self.let, self.var, self.assign_or_let])(scope) for _ in range(self.random.randint(0, 3))])
        value = self.expression(*result, scope, 1)
        self.tile_fns.append(fn)
        self.shows["fn of tiles"] += 1
        names = ", ".join(f"p{n}: {tile_type(*param)}" for n, param in enumerate(params))
        return text(f"fn {fn.name}({names}) -> {tile_type(*result)} {{\n", body, "return ", value, ";\n}\n")

    def step(self, scope, depth):
        """Generates a statement of a fn: variables, branches, and loops that certainly terminate."""
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
        """Generates a loop of a few iterations. The number of iterations depends on the element. The loop
        sometimes contains `break` and `continue`."""
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


def tile_type(type_, ranges):
    return f"{type_}[{', '.join(sorted(ranges))}]" if ranges else type_
