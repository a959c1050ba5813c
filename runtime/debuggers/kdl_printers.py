"""Shows variables of kernels in gdb: tiles with the indices of their elements, ranges, and narrow floats as numbers.

gdb loads this file by itself for programs that contain kernels built with `kernelc build -g`, if it trusts the file: see
the page about debugging in the guide. Otherwise, load it with `source`.
"""

import itertools
import os
import re
import sys

import gdb

sys.path.append(os.path.dirname(os.path.realpath(__file__)))

from kdl_values import FLOATS, narrow_text  # noqa: E402

TILE = re.compile(r"^\w+\[([^\]]+)\]$")


class NarrowFloat:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return narrow_text(int(self.value), self.value.type.name)


class Range:
    """A block of a range: the indices from `start` to `start + size`."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        start, size = self.value["start"], self.value["size"]
        known = not (start.is_optimized_out or size.is_optimized_out)
        return f"{int(start)} .. {int(start) + int(size)}" if known else f"{start} .., size {size}"


def block_of(name):
    """Returns the first index and the number of elements of a range's block, or nothing if they are unknown."""
    try:
        block = gdb.selected_frame().read_var(name)
        return int(block["start"]), int(block["size"])
    except (gdb.error, ValueError):
        return None


class Tile:
    """A tile in memory. Shows only the elements that exist, after the ranges of their indices."""

    def __init__(self, value, ranges):
        self.value = value
        self.blocks = [(name, block_of(name)) for name in ranges]

    def to_string(self):
        shown = [f"{name} = {block[0]} .. {block[0] + block[1]}" if block else name for name, block in self.blocks]
        sizes = [block[1] if block else None for _, block in self.blocks]
        limit = gdb.parameter("print elements") or None
        return f"[{', '.join(shown)}] {rows(self.value, sizes, itertools.count(), limit)}"


def rows(array, sizes, count, limit):
    """Returns the text of an array, of which each dimension has so many elements; None: all that are in memory."""
    array = array.cast(array.type.strip_typedefs())
    first, last = array.type.range()
    shown = []
    for number in range(first, min(last, first + sizes[0] - 1 if sizes[0] is not None else last) + 1):
        if limit and len(sizes) == 1 and next(count) >= limit:
            shown.append("...")
            break
        row = array[number]
        shown.append(rows(row, sizes[1:], count, limit) if len(sizes) > 1 else row.format_string())
        if shown[-1].endswith("...}"):
            break
    return "{" + ", ".join(shown) + "}"


def printer_for(value):
    name = value.type.name or ""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_ARRAY:
        tile = TILE.match(name)
        ranges = tile[1].split(", ") if tile else []
        is_tile = ranges and all(block_of(name) for name in ranges)
        return Tile(value, ranges) if is_tile else None
    if name in FLOATS and kind.code == gdb.TYPE_CODE_INT:
        return NarrowFloat(value)
    if name == "range" and kind.code == gdb.TYPE_CODE_STRUCT and [f.name for f in kind.fields()] == ["start", "size"]:
        return Range(value)
    return None


gdb.pretty_printers.append(printer_for)
