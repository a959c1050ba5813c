"""Random programs: launches, copies, swaps and calls with tensors of equal shapes, and computations on the
host between them."""

import dataclasses

from names import FLOATS, INTEGERS, NUMBERS, Scope, Tensor, Value
from appends import Appends
from imitations import Imitations
from tree import statements, text

MOST_DEPTH = 2
QUEUES = 3


@dataclasses.dataclass(frozen=True)
class Callee:
    """A kernel or program with its parameters."""
    name: str
    tensors: tuple
    scalars: tuple
    launched: bool


class Programs(Appends, Imitations):
    """Generates programs for a file. `callees` are the file's kernels and programs, and `device` is the name
    of its only device, if it declares one."""

    def program(self, name):
        """Generates a program with this name. Afterwards, `tensors` and `scalars` are its parameters."""
        self.tensors, self.extents, self.named = [], {}, {}
        self.scalars = [Value(self.fresh("a"), self.pick(NUMBERS), frozenset()) for _ in range(self.random.randint(0, 2))]
        scope = Scope()
        scope.lets = self.scalars + [Value(dim, "i64", frozenset()) for dim in self.sizes]
        scope.locals = []
        body = statements([self.host_statement(scope, 0) for _ in range(self.random.randint(2, 6))])
        if not self.tensors or not set(self.sizes) <= {dim for t in self.tensors for dim in t.dims}:
            self.tensors.append(Tensor(self.fresh("x"), "u8", tuple(self.sizes), "in"))
        params = ", ".join([f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors] +
                           [f"{v.name}: {v.type}" for v in self.scalars])
        self.shows["program"] += 1
        return text(f"program {name}({params}) {{\n", body, "}\n")

    def host_statement(self, scope, depth):
        ways = [self.call_of] * 4 + [self.host_unreached, self.host_copy, self.host_parts, self.host_given, self.let, self.var, self.assign_or_let, self.host_store, self.host_swap]
        if depth < MOST_DEPTH:
            ways += [self.host_for, self.host_if, self.host_while]
        if scope.in_loop:
            ways.append(self.leave)
        way = self.pick(ways)
        return way(scope) if way in (self.let, self.var, self.assign_or_let, self.leave) else way(scope, depth)

    def host_unreached(self, scope, depth):
        """A division by a constant 0, of which a program must not compute anything."""
        type_, name = self.pick(INTEGERS), self.fresh("t")
        operand = lambda: self.expression(type_, frozenset(), scope, 2)
        divided = text("(", operand(), f") {self.pick(['/', '%'])} (0 as {type_})")
        condition = f"{self.pick(list(self.sizes))} < 0" if self.sizes else "1 > 2"
        done = text(f"let {name}: {type_} = if {condition} then ", divided, " else (", operand(), ");\n")
        scope.lets.append(Value(name, type_, frozenset()))
        return done

    # Tensors. The scope contains the tensors that may be read at a place.

    def shape(self, tensor):
        return tensor.type, tuple(self.extents.get(dim, self.sizes.get(dim)) for dim in tensor.dims)

    def alike(self, tensor, candidates):
        return [t for t in candidates if self.shape(t) == self.shape(tensor)]

    def read(self, wanted, scope, used):
        """Returns a tensor with the shape of `wanted` that has certainly been written."""
        known = [t for t in self.alike(wanted, scope.tensors) if t.name not in used]
        return self.pick(known) if known and self.chance(0.8) else self.parameter(wanted, "in", scope)

    def changed(self, wanted, scope, used):
        known = [t for t in self.alike(wanted, scope.tensors) if t.direction != "in" and t.name not in used]
        return self.pick(known) if known and self.chance(0.8) else self.parameter(wanted, "inout", scope)

    def parameter(self, wanted, direction, scope):
        tensor = Tensor(self.fresh("h"), wanted.type, tuple(self.named.get(dim, dim) for dim in wanted.dims), direction)
        self.tensors.append(tensor)
        if direction != "out":
            scope.tensors.append(tensor)
        return tensor

    def written(self, wanted, scope, depth, used):
        """Returns (declarations, a tensor with the shape of `wanted` that may be overwritten)."""
        locals_ = [t for t in self.alike(wanted, scope.tensors + scope.locals) if t.direction != "in" and t.name not in used]
        if locals_ and self.chance(0.5):
            return [], self.pick(locals_)
        if depth == 0 and self.chance(0.4):
            return [], self.parameter(wanted, "out", scope)
        return self.allocated(wanted, scope)

    def allocated(self, wanted, scope):
        """Generates the allocation of a tensor in the program, perhaps with computed sizes."""
        dims, lets = [], []
        for dim in wanted.dims:
            if self.chance(0.2) and dim in self.sizes:
                name = self.fresh("e")
                lets.append(text(f"let {name} = {self.pick([f'{dim} + 3 - 3', f'max({dim}, 0)', f'({dim} * 2) / 2'])};\n"))
                self.extents[name], self.named[name] = self.sizes[dim], dim
                dim = name
                self.shows["size computed"] += 1
            dims.append(dim)
        tensor = Tensor(self.fresh("h"), wanted.type, tuple(dims), "let")
        scope.locals.append(tensor)
        self.shows["tensor of a program"] += 1
        on = f" on {self.device}" if self.device and self.chance(0.5) else ""
        return lets + [text(f"let {tensor.name}: {tensor.type}[{', '.join(dims)}]{on};\n")], tensor

    # Operations of programs on tensors.

    def call_of(self, scope, depth):
        callee = self.pick(self.callees)
        how = self.launch(scope) if callee.launched else []
        args, lets, read, changed = [], [], set(), set()  # an `in` tensor may overlap another `in` tensor
        for param in callee.tensors:
            if param.direction == "in":
                tensor = self.read(param, scope, changed)
            elif param.direction == "inout":
                tensor = self.changed(param, scope, read | changed)
            else:
                more, tensor = self.written(param, scope, depth, read | changed)
                lets += more
            (read if param.direction == "in" else changed).add(tensor.name)
            args.append((param, tensor))
        values = [self.expression(value.type, frozenset(), scope, 2) for value in callee.scalars]
        for param, tensor in args:
            if param.direction == "out" and tensor.name not in {known.name for known in scope.tensors}:
                scope.tensors.append(tensor)
        self.shows["launch" if callee.launched else "call of a program"] += 1
        return text(*lets, *how, f"{callee.name}(", *self.listed([tensor.name for _, tensor in args] + values), ");\n")

    def launch(self, scope):
        on = ""
        if self.device and self.chance(0.7):
            on = f" on {self.device}" + (f".queue({self.random.randrange(QUEUES)})" if self.chance(0.7) else "")
            self.shows["queue" if "queue" in on else "on"] += 1
        if self.chance(0.3):
            return [f"spmd{on} "]
        number = self.pick([text(str(self.pick([1, 2, 3, 7, 1000]))), text(f"{self.pick(self.sizes)} / 3 + 1"),
                            text("abs(", self.expression("i64", frozenset(), scope, 3), " % 5) + 1")] +
                           ([text(f"cores({self.device})")] if self.device else []))
        self.shows["core_num of a launch"] += 1
        return ["spmd(core_num = ", number, f"){on} "]

    def host_copy(self, scope, depth):
        if not scope.tensors:
            return self.call_of(scope, depth)
        source = self.pick(scope.tensors)
        lets, target = self.written(source, scope, depth, {source.name})
        if target.name not in {t.name for t in scope.tensors}:
            scope.tensors.append(target)
        self.shows["copy"] += 1
        return text(*lets, f"copy({source.name}, {target.name});\n")

    def host_parts(self, scope, depth):
        """Generates writes of the parts of a tensor: the first one, and then each one from the one before it."""
        sources = [t for t in scope.tensors if t.dims and all(self.shape(t)[1])]
        if not sources:
            return self.host_copy(scope, depth)
        source, name = self.pick(sources), self.fresh("r")
        lets, target = self.allocated(source, scope)
        scope.tensors.append(target)
        before = self.pick([f"{target.name}[{name} - 1]", f"{source.name}[{name}]"])
        write = (lambda value, part: f"{part} = {value};\n") if len(target.dims) == 1 else (lambda value, part: f"copy({value}, {part});\n")
        self.shows["parts of a tensor"] += 1
        return text(*lets, write(f"{source.name}[0]", f"{target.name}[0]"), f"for {name} in 1..{target.dims[0]} {{\n",
                    write(before, f"{target.name}[{name}]"), "}\n")

    def element(self, type_):
        """Generates a number that fits the type, as an element of a list."""
        if type_ != "bool" and self.random.randrange(6) == 0:
            return f"({self.element(self.pick(NUMBERS))}) as {type_}"
        if type_ not in FLOATS:
            if type_ == "bool" or self.random.randrange(3):
                return self.literal(type_)
            operands = [self.literal(type_), self.literal(type_), f"{type_}.max", f"{type_}.min"]
            return f"{self.pick(operands)} {self.pick(['+', '-', '*', '<<', '>>', '&'])} {self.literal(type_)}"
        numbers = ["0.0", "-0.0", "1", "0.5", "-3.25", "1.0e-3", "0.1", "nan"] + (["inf", "-inf"] if type_ != "f8e4m3" else [])
        return self.pick([*numbers, "(0.1 as f32)"] if type_ == "f32" else numbers)

    def host_given(self, scope, depth):
        """Generates a tensor whose elements are listed, and reads one of them."""
        type_, name, element = self.pick(NUMBERS + ["bool"]), self.fresh("h"), self.fresh("t")
        sizes = [self.random.randint(1, 3) for _ in range(self.random.randint(1, 3))]

        def lists(sizes):
            return f"[{', '.join(lists(sizes[1:]) for _ in range(sizes[0]))}]" if sizes else self.element(type_)
        index = ", ".join(str(self.random.randrange(size)) for size in sizes)
        scope.lets.append(Value(element, type_, frozenset()))
        self.shows["listed elements"] += 1
        return text(f"let {name}: {type_}[{', '.join(map(str, sizes))}] = {lists(sizes)};\nlet {element}: {type_} = {name}[{index}];\n")

    def host_swap(self, scope, depth):
        own = [t for t in scope.tensors if t.direction == "let"]
        pairs = [(a, b) for a in own for b in own if a.name < b.name and a.dims == b.dims and a.type == b.type]
        if not pairs:
            return self.host_copy(scope, depth)
        self.shows["swap"] += 1
        one, other = self.pick(pairs)
        return text(f"swap({one.name}, {other.name});\n")

    def host_store(self, scope, depth):
        """Generates a store to an element, if a writable tensor has one."""
        own = [t for t in scope.tensors if t.direction != "in" and all(self.shape(t)[1])]
        if not own:
            return self.host_copy(scope, depth)
        tensor = self.pick(own)
        indices = [text("clamp(", self.expression("i64", frozenset(), scope, 3), f", 0, {dim} - 1)") for dim in tensor.dims]
        self.shows["host store"] += 1
        value = self.expression(tensor.type, frozenset(), scope, 1)
        op = self.pick(["="] if tensor.type == "bool" else ["=", "+=", "*="])
        return text(f"{tensor.name}[", *self.listed(indices), f"] {op} ", value, ";\n")

    # Control flow.

    def inner(self, scope, in_loop):
        inner = Scope(scope)
        inner.locals = list(scope.locals)
        inner.in_loop = in_loop or scope.in_loop
        return inner

    def host_block(self, scope, depth):
        return statements([self.host_statement(scope, depth + 1) for _ in range(self.random.randint(1, 3))])

    def host_for(self, scope, depth):
        inner = self.inner(scope, True)
        name = self.fresh("r")
        end = self.pick([text("3"), text("abs(", self.expression("i64", frozenset(), scope, 3), " % 4)")])
        inner.lets.append(Value(name, "i64", frozenset()))
        self.shows["host for"] += 1
        step = self.pick(["", "", " step 2"])
        return text(f"for {name} in 0..", end, f"{step} {{\n", self.host_block(inner, depth), "}\n")

    def host_if(self, scope, depth):
        condition = self.expression("bool", frozenset(), scope, 2)
        self.shows["host if"] += 1
        parts = ["if ", condition, " {\n", self.host_block(self.inner(scope, False), depth), "}"]
        if self.chance(0.5):
            parts += [" else {\n", self.host_block(self.inner(scope, False), depth), "}"]
        return text(*parts, "\n")

    def host_while(self, scope, depth):
        name = self.fresh("w")
        inner = self.inner(scope, True)
        inner.lets.append(Value(name, "i64", frozenset()))
        turns = self.expression("i64", frozenset(), scope, 3)
        self.shows["host while"] += 1
        return text(f"var {name}: i64 = 0;\nwhile {name} < (", turns, f") % 4 {{\n{name} += 1;\n",
                    self.host_block(inner, depth), "}\n")
