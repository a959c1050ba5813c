"""What has a name in a drawn kernel, and what can be named at a place."""

import dataclasses

from element_types import NARROW_FLOATS

INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = NARROW_FLOATS + ["f32", "f64"]
NUMBERS = INTEGERS + FLOATS
SUMS = {**{float_: "f32" for float_ in NARROW_FLOATS}, "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32"}  # what sum, prod, dot return


@dataclasses.dataclass(frozen=True)
class Range:
    """What a loop binds: blocks of a dimension (or of a part of it), or single indices of it."""
    name: str
    size: str  # '' for a range of a fn
    blocked: bool
    part_of: str = ""
    extent: str = ""  # of a block
    whole: bool = True  # walks all of the dimension
    room: int = 0  # between its last index and the dimension's
    with_whole: bool = False  # tiles may have both the part and the range that it is a part of


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    type: str
    ranges: frozenset


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    type: str
    dims: tuple
    direction: str  # in, out, inout; let: shared by the cores of a launch; view


@dataclasses.dataclass(frozen=True)
class Fn:
    """Of scalars; a parameter or result of a tuple type is a tuple of their names."""
    name: str
    params: tuple
    result: str | tuple


@dataclasses.dataclass(frozen=True)
class TileFn:
    """Its parameters and its result are (type, names of the fn's own ranges)."""
    name: str
    ranges: tuple
    params: tuple
    result: tuple


class Scope:
    """What can be named at a place."""

    def __init__(self, outer=None):
        self.ranges = list(outer.ranges) if outer else []
        self.lets = list(outer.lets) if outer else []
        self.vars = list(outer.vars) if outer else []
        self.tensors = list(outer.tensors) if outer else []  # those that may be read, at any index
        self.split = list(outer.split) if outer else []  # vars of the range whose part a loop walks
        self.in_loop = outer.in_loop if outer else False  # that `break` may end
        self.launch = list(outer.launch) if outer else []  # of core_num and core_id those that may be read

    def blocked(self):
        hidden = {r.part_of for r in self.ranges if not r.with_whole}
        return [r for r in self.ranges if r.blocked and r.name not in hidden]

    def scalars(self):
        return [r for r in self.ranges if not r.blocked]

    def values(self):
        return self.lets + self.vars

    def read_only(self):
        """Seen from within `spmd for`: its body assigns nothing that is declared outside."""
        inner = Scope(self)
        inner.lets, inner.vars = inner.values(), []
        return inner
