"""Shows variables of kernels in lldb: tiles with the indices of their elements, ranges, tensors, and narrow floats as numbers.

Load it with `command script import PATH`, for example in the file ~/.lldbinit: see the page about debugging in the guide.
"""

import os
import re
import sys

import lldb

sys.path.append(os.path.dirname(os.path.realpath(__file__)))

from kdl_values import FLOATS, narrow_text  # noqa: E402

# A type such as `f32[i, j]`, whose dimensions are ranges, or `f32[M, (N + 15) / 16]`, whose dimensions are sizes.
ARRAY = r"^(bool|[iu][0-9]+|bf16|f[0-9][0-9a-z]*)\[(.+)\]$"
SIZE = re.compile(r"^[\w\s()+*/%-]+$")
CATEGORY = "kdl"
FEW = 32  # elements that are shown, because the arguments of a frame are in one line


class Block:
    """The elements that exist along a dimension: `size` of them, of which the first has the index `start` of a range."""

    def __init__(self, name, size, start=None):
        self.name, self.size, self.start = name, size, start

    def text(self):
        if self.start is not None:
            return f"{self.name} = {self.start} .. {self.start + self.size}"
        return self.name if self.name == str(self.size) else f"{self.name} = {self.size}"


def signed(value):
    """Returns the number that a variable has now, or None if it is not known."""
    error = lldb.SBError()
    number = value.GetValueAsSigned(error)
    return number if value.IsValid() and error.Success() else None


def is_range(value):
    kind = value.GetType()
    names = [kind.GetFieldAtIndex(n).GetName() for n in range(kind.GetNumberOfFields())]
    return kind.GetName() == "range" and names == ["start", "size"]


def size_of(text, frame):
    """Returns the value of a size, such as `N` or `(N + 15) / 16`, or None if it is not known."""
    if not SIZE.match(text):
        return None
    names = {name: signed(frame.FindVariable(name)) for name in re.findall(r"[A-Za-z_]\w*", text)}
    if None in names.values():
        return None
    try:
        return eval(text.replace("/", "//"), {"__builtins__": {}}, names)
    except (ArithmeticError, SyntaxError, TypeError):
        return None


def block_of(name, frame):
    """Returns the elements along a dimension, or None if they are not known."""
    variable = frame.FindVariable(name)
    if variable.IsValid() and is_range(variable):
        start, size = (signed(variable.GetChildMemberWithName(member)) for member in ("start", "size"))
        return None if start is None or size is None else Block(name, size, start)
    size = size_of(name, frame)
    return None if size is None else Block(name, size)


def element_text(element, name):
    """Returns the text of a number. lldb calls some types of kernels by names of C, and shows the smallest ones as letters."""
    if name in FLOATS:
        return narrow_text(element.GetValueAsUnsigned(), name)
    if name[0] in "iu":
        return str(element.GetValueAsSigned() if name[0] == "i" else element.GetValueAsUnsigned())
    return element.GetValue() or "?"


class Rows:
    """The text of an array, of which each dimension has the elements of a block. It ends after FEW elements."""

    def __init__(self, value, name, blocks):
        kind = value.GetType().GetCanonicalType()
        self.extents = []
        while kind.IsArrayType():
            inner = kind.GetArrayElementType()
            self.extents.append(kind.GetByteSize() // max(inner.GetByteSize(), 1))
            kind = inner
        self.element, self.value, self.name, self.blocks, self.left = kind, value, name, blocks, FEW
        # The type of a tensor has no sizes, because they are those of the launch. A tile has the size of the largest block.
        if all(block.start is None for block in blocks):
            self.extents = [block.size for block in blocks]

    def text(self, level=0, first=0):
        if level == len(self.blocks):
            return self.element_at(first)
        step = 1
        for extent in self.extents[level + 1:]:
            step *= extent
        shown = []
        for number in range(min(self.blocks[level].size, self.extents[level])):
            if self.left <= 0:
                shown.append("...")
                break
            shown.append(self.text(level + 1, first + number * step))
        return "{" + ", ".join(shown) + "}"

    def element_at(self, number):
        self.left -= 1
        address = self.value.GetLoadAddress() + number * self.element.GetByteSize()
        return element_text(self.value.CreateValueFromAddress("element", address, self.element), self.name)


def array_summary(value, _):
    value = value.GetNonSyntheticValue()
    if value.GetType().IsReferenceType():
        value = value.Dereference()
    element, dimensions = re.match(ARRAY, value.GetType().GetName()).groups()
    blocks = [block_of(name.strip(), value.GetFrame()) for name in dimensions.split(",")]
    if None in blocks:
        return "of unknown size"
    if value.GetLoadAddress() == lldb.LLDB_INVALID_ADDRESS:
        return f"[{', '.join(block.text() for block in blocks)}] not in memory"
    return f"[{', '.join(block.text() for block in blocks)}] {Rows(value, element, blocks).text()}"


def range_summary(value, _):
    start, size = (signed(value.GetChildMemberWithName(member)) for member in ("start", "size"))
    if start is None or size is None:
        return f"{'?' if start is None else start} .., size {'unknown' if size is None else size}"
    return f"{start} .. {start + size}"


def float_summary(value, _):
    return element_text(value, value.GetType().GetName())


def __lldb_init_module(debugger, _):
    add = f"type summary add --category {CATEGORY} --python-function {__name__}."
    debugger.HandleCommand(f"{add}array_summary --regex '{ARRAY}'")
    debugger.HandleCommand(f"{add}range_summary range")
    for name in FLOATS:
        debugger.HandleCommand(f"{add}float_summary --no-value {name}")
    debugger.HandleCommand(f"type category enable {CATEGORY}")
