"""Which part of a multiprocessor's requests reach memory, as others do not bring the same lines to the second level
at about the same time. One multiprocessor stands for all: if all of them together ask for more different lines
than a tensor has, they share lines."""

import math

from .memory import LINE, PLACE_BITS, Access

LINE_PLACE_BITS = PLACE_BITS - 7


def touched(traces):
    """Returns ({tensor: lines}, {tensor: bytes of tiles}) that the warps of a multiprocessor ask for, each once."""
    lines, tiles, seen = set(), {}, set()
    for _, trace in traces:
        for _, log in trace:
            if id(log) in seen:
                continue
            seen.add(id(log))
            for each in log:
                if isinstance(each, Access) and each.kind != "store":
                    lines.update(each.lines)
                elif isinstance(each, list):
                    tiles.update((((tensor, place), size) for _, size, tensor, place in filter(is_tile, each)))
    of_lines, of_tiles = {}, {}
    for line in lines:
        of_lines[(line >> LINE_PLACE_BITS) - 1] = of_lines.get((line >> LINE_PLACE_BITS) - 1, 0) + LINE
    for (tensor, _), size in tiles.items():
        of_tiles[tensor] = of_tiles.get(tensor, 0) + size
    return of_lines, of_tiles


def is_tile(said):
    return isinstance(said, tuple) and len(said) == 4 and isinstance(said[3], tuple)


def shares(traces, tensors, active):
    """Returns the part of the requests for each tensor that reach memory, if `active` multiprocessors work. Blocks that
    run at the same time form a square of a product's blocks at best, so a line is shared by at most one of its
    sides."""
    of_lines, of_tiles = touched(traces)
    found = []
    for number, tensor in enumerate(tensors):
        asked = (of_lines.get(number, 0) + of_tiles.get(number, 0)) * active
        found.append(min(1.0, max(tensor.bytes / asked, 1 / math.sqrt(active))) if asked else 1.0)
    return found
