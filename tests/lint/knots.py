#!/usr/bin/env python3
"""Fails on knots: parts that include each other, directly or indirectly. A part is a header together with its
source file. Also fails if a room (a subfolder of a large folder) includes a room that comes after it in the
list of the large folder.

`knots.py [ROOT]` checks the tree at ROOT, by default the project's own.
"""

import collections
import pathlib
import sys

import includes

# Rooms from the bottom up: a room may include the rooms before it.
ROOMS = {
    "src/sema": ["model", "walk", "types", "functions", "stages", "accesses", "expressions", "programs", "contracts",
                 "statements"],
    "src/ir": ["eval", "print", "verify", "parse"],
    "src/targets/cpu": ["analysis", "expand"],
    "src/targets/simt": ["analysis", "rings", "tiles", "tensor_tiles", "expand"],
    "src/passes": ["rewriting", "analysis", "fusion", "groups", "ranks", "checks"],
    "src/codegen/llvm": ["soft", "coroutines", "optimize", "before_launch", "workgroup", "ops"],
    "src/irgen": ["walk", "accesses", "stages", "contracts", "programs", "expressions", "statements"],
    "src/tools": ["drawing", "doc", "measure", "loading", "explain", "testing", "timing", "tuning", "suite", "shrinking", "lsp"],
    "src/driver": ["ranks", "run", "pipelines", "schedules", "compile", "emit"],
    "runtime": ["system", "core", "checkpoints", "host", "workgroup", "debug", "opencl", "cuda", "cluster", "api", "python"],
}

# Known knots (cycles of includes). This list may only shrink: an entry that is no longer a knot is reported.
KNOWN = []


def part_of(file):
    return file.with_suffix("") if file.suffix in (".h", ".c", ".cpp") else file


def edges_of(found, root):
    """Returns {part: parts that it includes}."""
    edges = collections.defaultdict(set)
    for file, names in found.items():
        edges[part_of(file)] |= {part_of(target.relative_to(root)) for _, _, target in names if target} - {part_of(file)}
    return edges


def knots_of(edges):
    """Returns the sets of parts that reach each other. Uses Tarjan's algorithm without recursion."""
    order, low, on_stack, stack, knots = {}, {}, set(), [], []
    for start in sorted(edges):
        if start in order:
            continue
        walk = [(start, iter(sorted(edges[start])))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while walk:
            part, rest = walk[-1]
            following = next((p for p in rest if p not in order or p in on_stack), None)
            if following is None:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[part])
                if low[part] == order[part]:
                    knot = set(stack[stack.index(part):])
                    del stack[stack.index(part):]
                    on_stack -= knot
                    if len(knot) > 1:
                        knots.append(knot)
            elif following in order:
                low[part] = min(low[part], order[following])
            else:
                order[following] = low[following] = len(order)
                stack.append(following)
                on_stack.add(following)
                walk.append((following, iter(sorted(edges.get(following, ())))))
    return knots


def named(knot):
    """Formats a knot as `src/sema: expr names`: the common folder of all parts, and the parts in it."""
    folders = [part.parts[:-1] for part in knot]
    shared = []
    for level in zip(*folders):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    folder = pathlib.PurePath(*shared)
    return f"{folder}: {' '.join(sorted(str(part.relative_to(folder)) for part in knot))}"


def room_complaints(found, root):
    for folder, rooms in ROOMS.items():
        def room(path):
            inside = path.is_relative_to(folder) and len(path.relative_to(folder).parts) > 1
            return path.relative_to(folder).parts[0] if inside else None

        for file, names in found.items():
            here = room(file)
            if here is not None and here not in rooms:
                yield f"{file}: {here} is not among the rooms of {folder}"
                continue
            for name, _, target in names:
                there = room(target.relative_to(root)) if target else None
                if here and there in rooms and rooms.index(there) > rooms.index(here):
                    yield f"{file}: includes {name}; of {folder}, {here} may include {', '.join(rooms[:rooms.index(here)])}"


def complaints(root, known=()):
    found = includes.includes(root)
    knots = {named(knot) for knot in knots_of(edges_of(found, root))}
    for knot in sorted(knots - set(known)):
        yield f"knot: {knot}"
    for knot in sorted(set(known) - knots):
        yield f"no knot any more, take it off the list: {knot}"
    yield from room_complaints(found, root)


def main():
    here = pathlib.Path(__file__).resolve().parent.parent.parent
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here
    problems = list(complaints(root, KNOWN if root == here else ()))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
