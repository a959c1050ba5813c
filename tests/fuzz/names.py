"""The named things in a random kernel, and the names visible at a place."""

import dataclasses

from element_types import NARROW_FLOATS

INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = NARROW_FLOATS + ["f32", "f64"]
NUMBERS = INTEGERS + FLOATS
SUMS = {**{float_: "f32" for float_ in NARROW_FLOATS}, "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32"}  # result of sum, prod, dot
# Names that passes, code generators or the languages of generated code use, too.
USED_ELSEWHERE = ["kdl_core", "kdl_cores", "kdl_n", "core", "args", "launch", "thread", "tid", "div", "rem", "mul", "select", "make_block",
                  "elementwise", "block_start", "i_start", "x_part", "div_1", "tile", "buffer", "workspace", "slot", "scratch", "index", "start",
                  "size", "count", "int64_t", "float", "double", "half", "uint", "char", "bool_", "NULL", "restrict", "inline", "goto", "switch",
                  "template", "this", "new", "delete", "class", "static", "volatile", "private", "global", "barrier", "get_group_id", "printf",
                  "abort", "std", "self", "lambda", "entry", "r0", "rd1", "rax", "xmm0"]


@dataclasses.dataclass(frozen=True)
class Range:
    """The variable of a loop over blocks of a dimension (or of a part of it), or over its single indices."""
    name: str
    size: str  # '' for a range of a fn
    blocked: bool
    part_of: str = ""
    extent: str = ""  # the size of a block
    whole: bool = True  # ranges over the whole dimension
    room: int = 0  # distance from the range's last index to the dimension's last index
    with_whole: bool = False  # tiles may have both this part and the range that contains it


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
    optional: bool = False


@dataclasses.dataclass(frozen=True)
class Fn:
    """A function on scalars. A parameter or result of tuple type is a tuple of type names."""
    name: str
    params: tuple
    result: str | tuple


@dataclasses.dataclass(frozen=True)
class TileFn:
    """A function on tiles. Each parameter, and the result, is a pair (type, names of the function's own
    ranges)."""
    name: str
    ranges: tuple
    params: tuple
    result: tuple


class Scope:
    """The names visible at a place."""

    def __init__(self, outer=None):
        self.ranges = list(outer.ranges) if outer else []
        self.lets = list(outer.lets) if outer else []
        self.vars = list(outer.vars) if outer else []
        self.tensors = list(outer.tensors) if outer else []  # tensors that may be read at any index
        self.split = list(outer.split) if outer else []  # (variable, range, subrange that a loop uses)
        self.in_loop = outer.in_loop if outer else False  # whether `break` is allowed
        self.launch = list(outer.launch) if outer else []  # which of core_num and core_id may be read

    def blocked(self):
        hidden = {r.part_of for r in self.ranges if not r.with_whole}
        return [r for r in self.ranges if r.blocked and r.name not in hidden]

    def scalars(self):
        return [r for r in self.ranges if not r.blocked]

    def values(self):
        return self.lets + self.vars

    def read_only(self):
        """Returns the scope as seen from within `spmd for`, whose body must not assign variables declared
        outside."""
        inner = Scope(self)
        inner.lets, inner.vars = inner.values(), []
        return inner
