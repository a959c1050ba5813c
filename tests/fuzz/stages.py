"""Random kernels with stages. All stages follow one plan of pushes and pops, so that no stage waits
forever."""

import dataclasses

from functions import tile_type
from names import NUMBERS, Range, Scope, Value
from stores import Stores
from tree import statements, text


@dataclasses.dataclass(frozen=True)
class Pipe:
    """A pipe. For each dimension, `places` contains the number of a loop variable of the plan, which belongs
    to the domain or to an enclosing loop."""
    name: str
    type: str
    places: tuple
    source: int
    target: int

    def ends(self):
        return {self.source, self.target}


@dataclasses.dataclass(frozen=True)
class Walk:
    """A loop around a part of the plan, or a branch if it has a condition. It occurs in each stage that
    pushes to or pops from one of the part's pipes."""
    head: str
    place: int
    items: tuple
    condition: str = ""

    def ends(self):
        return set().union(*(item.ends() for item in self.items))


class Stages(Stores):
    """Generates stages. `helpers` are the functions of the file. `places` contains (size, extent) for each
    loop variable of a kernel's plan; the extent of a scalar is ''."""

    def staged_body(self, scope):
        count = self.pick([2, 2, 2, 3])
        dims = [(self.pick(self.sizes), self.block_size() if self.chance(0.8) else "") for _ in range(self.pick([1, 1, 2]))]
        self.places = list(dims)
        self.pipes = []
        plan = self.plan(tuple(range(len(dims))), count, 0)
        for number in range(1, count):  # each stage must push to or pop from some pipe
            if number not in set().union(*(item.ends() for item in plan)):
                plan.append(self.pipe(tuple(range(len(dims))), number - 1, number))
        if 0 not in set().union(*(item.ends() for item in plan)):
            plan.append(self.pipe(tuple(range(len(dims))), 0, 1))
        domain = ", ".join(f"{dim} by {extent}" if extent else f"0..{dim}" for dim, extent in dims)
        pipes = [self.declared(pipe) for pipe in self.pipes]
        self.shows[f"{count} stages"] += 1
        parts = self.parts(plan)
        stages = [self.stage(number, dims, parts, scope) for number in range(count)]
        return text(f"domain blocks = ({domain});\n", *pipes, *stages)

    def parts(self, plan):
        """Puts the plan into one loop over the domain, or into two consecutive loops."""
        if len(plan) < 2 or not self.chance(0.3):
            return [plan]
        self.shows["two loops over a domain"] += 1
        cut = self.random.randint(1, len(plan) - 1)
        return [plan[:cut], plan[cut:]]

    def plan(self, places, count, depth):
        items = []
        for _ in range(self.random.choice([1, 1, 2, 3])):
            if depth < 2 and self.chance(0.25):
                size, extent = self.pick(self.sizes), self.block_size() if self.chance(0.8) else ""
                self.places.append((size, extent))
                place = len(self.places) - 1
                around = [self.places[at][0] for at in places]
                if self.product(around + [size]) <= 5000:
                    items.append(Walk("for", place, tuple(self.plan(places + (place,), count, depth + 1))))
                    continue
            if depth < 2 and self.chance(0.1):
                named = [v.name for v in self.scalars if v.type in ("i32", "i64")] or sorted(self.sizes)
                condition = f"{self.pick(named)} > {self.random.randint(0, 9)}"
                items.append(Walk("if", -1, tuple(self.plan(places, count, depth + 1)), condition))
                continue
            known = [pipe for pipe in self.pipes if set(pipe.places) <= set(places)]
            if known and self.chance(0.4):
                self.shows["pipe used again"] += 1
                items.append(self.pick(known))
            else:
                items.append(self.pipe(places, *self.random.sample(range(count), 2)))
        return items

    def product(self, dims):
        result = 1
        for dim in dims:
            result *= max(1, self.size(dim))
        return result

    def pipe(self, places, source, target):
        ranges = [place for place in places if self.places[place][1]]
        chosen = tuple(self.random.sample(ranges, self.random.randint(0, min(3, len(ranges)))))
        self.shows[f"pipe of rank {len(chosen)}"] += 1
        self.pipes.append(Pipe(self.fresh("q"), self.pick(NUMBERS), chosen, source, target))
        return self.pipes[-1]

    def declared(self, pipe):
        extents = ", ".join(self.places[place][1] for place in pipe.places)
        depth = f" @depth({self.random.randint(1, 4)})" if self.chance(0.4) else ""
        return f"pipe {pipe.name}: {pipe.type}{f'[{extents}]' if extents else ''}{depth};\n"

    def stage(self, number, dims, parts, outer):
        walks = []
        for part in parts:
            is_last = part is parts[-1]
            if is_last or number in set().union(*(item.ends() for item in part)):
                walks.append(self.walk(number, dims, part, outer.read_only(), is_last))
        return text(f"stage stage{number} {{\n", *walks, "}\n")

    def walk(self, number, dims, plan, scope, is_last):
        names = {}
        for place, (size, extent) in enumerate(dims):
            names[place] = self.place(scope, size, extent)
        dealt = scope.ranges[-len(dims):]
        body = [self.statement(scope, 1) for _ in range(self.random.randint(0, 2))]
        body += self.walked(plan, number, scope, names)
        outputs = self.random.choice([1, 1, 2]) if number else self.random.choice([0, 0, 1])
        if is_last and self.chance(0.1):
            body.append(self.reduce_over_blocks(scope, dealt))
        body += [self.output(scope, dealt) for _ in range(outputs if is_last else 0)]
        head = ", ".join(names[place] for place in range(len(dims)))
        return text(f"spmd for {head} in blocks {{\n", statements(body), "}\n")

    def place(self, scope, size, extent):
        range_ = Range(self.fresh("n" if extent else "r"), size, bool(extent), extent=extent)
        scope.ranges.append(range_)
        return range_.name

    def walked(self, items, number, scope, names):
        """Writes one stage's part of the plan, with statements between the transfers."""
        parts = []
        for item in items:
            if self.chance(0.3):
                parts.append(self.statement(scope, 1))
            if number not in item.ends():
                continue
            if isinstance(item, Pipe):
                parts.append(self.push(item, scope, names) if item.source == number else self.pop(item, scope, names))
                continue
            inner = Scope(scope)
            inner.in_loop = False  # the loop must have as many iterations as in the other stage
            head = f"if {item.condition}"
            if not item.condition:
                size, extent = self.places[item.place]
                names[item.place] = self.place(inner, size, extent)
                head = f"for {names[item.place]} in " + (f"{size} by {extent}" if extent else f"0..{size}")
            self.shows["loop around pipes" if not item.condition else "branch around pipes"] += 1
            parts.append(text(f"{head} {{\n", statements(self.walked(item.items, number, inner, names)), "}\n"))
        return parts

    def at(self, pipe, names):
        return "".join(f", {names[place]}" for place in pipe.places)

    def push(self, pipe, scope, names):
        ranges = frozenset(names[place] for place in pipe.places)
        value = self.over(ranges, pipe.type, self.expression(pipe.type, ranges, scope, 0))
        self.shows["push"] += 1
        if self.chance(0.15):
            name, own = self.sender(pipe)
            stands = ", ".join(f"{r} = {names[place]}" for r, place in zip(own, pipe.places))
            return text(f"{name}{f'<{stands}>' if stands else ''}({pipe.name}, ", value, ");\n")
        return text(f"{pipe.name}.push(", value, f"{self.at(pipe, names)});\n")

    def sender(self, pipe):
        """Returns (the name of a fn that accepts an end of such a pipe, the fn's own ranges)."""
        name = self.fresh("send")
        own = ["i", "j", "h"][:len(pipe.places)]
        scope = Scope()
        scope.ranges = [Range(r, "", True) for r in own]
        scope.lets = [Value("t", pipe.type, frozenset(own))]
        values = [self.over(own, pipe.type, self.expression(pipe.type, frozenset(own), scope, 1)) for _ in range(2)]
        at = "".join(f", {r}" for r in own)
        pushes = [text("q.push(", value, f"{at});\n") for value in values]
        condition = self.expression("bool", frozenset(), scope, 2)
        body = pushes[:1] if self.chance(0.5) else ["if ", condition, " {\n", pushes[0], "} else {\n", pushes[1], "}\n"]
        extents = f"[{', '.join(f'E{n}' for n in range(len(own)))}]" if own else ""
        self.shows["fn that pushes"] += 1
        self.helpers.parts.append(text(f"fn {name}(q: push {pipe.type}{extents}, t: {tile_type(pipe.type, own)}) {{\n", *body, "}\n"))
        return name, own

    def pop(self, pipe, scope, names):
        ranges = frozenset(names[place] for place in pipe.places)
        popped = f"{pipe.name}.pop({self.at(pipe, names)[2:]})"
        self.shows["pop"] += 1
        if self.chance(0.1):
            return text(f"{popped};\n")
        name = self.fresh("t")
        if self.chance(0.3):
            self.shows["pop in an expression"] += 1
            other = self.expression(pipe.type, ranges, scope, 1)
            scope.lets.append(Value(name, pipe.type, ranges))
            return text(f"let {name}: {tile_type(pipe.type, ranges)} = {popped} {self.pick('+-*')} ", other, ";\n")
        scope.lets.append(Value(name, pipe.type, ranges))
        return text(f"let {name} = {popped};\n")
