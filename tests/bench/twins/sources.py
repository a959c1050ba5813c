"""Reads kernels and their twins: parameters, and how many lines they have."""

import dataclasses
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = HERE.parent.parent / "run/families"
C_TYPES = {"f32": "float", "f64": "double", "u8": "uint8_t", "i8": "int8_t", "u16": "uint16_t", "i16": "int16_t",
           "i32": "int32_t", "u32": "uint32_t", "i64": "int64_t"}


def element(c_type):
    """Returns the runtime's constant for the elements of a C array."""
    return f"KDL_{next(name for name, known in C_TYPES.items() if known == c_type).upper()}"


@dataclasses.dataclass
class Parameter:
    name: str
    type: str
    dims: list  # None for a scalar
    direction: str

    @property
    def written(self):
        return self.direction in ("out", "inout")

    def c_declaration(self):
        return f"{'' if self.written or not self.dims else 'const '}{self.type}{'*' if self.dims else ''} {self.name}"

    def count(self):
        return " * ".join(f"({dim})" for dim in self.dims)


def kernel_file(name):
    """Returns the file of kernels that belongs to a file of twins: one next to it, or a family with contracts."""
    here = HERE / f"{name}.kdl"
    return here if here.exists() else FAMILIES / f"{name}.kdl"


def kernels(name):
    return kernel_file(name).read_text()


def twins(name):
    text = (HERE / f"{name}.c").read_text()
    return text + "".join(twins(included) for included in re.findall(r'#include "(\w+)\.c"', text))


def signature(source, kernel):
    """Returns the size names and parameters of a kernel or program, in the order of the C interface."""
    text = re.search(rf"export (?:kernel|program) {kernel}(?:<.*?>)?\((.*?)\)\s*(?:where.*?)?\{{", source, re.DOTALL).group(1)
    parameters, sizes = [], []
    for name, direction, kind, dims in re.findall(r"(\w+): (?:(in|out|inout) )?(\w+)(?:\[(.*?)\])?", text):
        dims = [dim.strip() for dim in dims.split(",")] if dims else None
        parameters.append(Parameter(name, C_TYPES[kind], dims, direction))
        sizes += [dim for dim in dims or [] if dim.isidentifier() and dim not in sizes]
    return sizes, parameters


def is_program(source, name):
    return re.search(rf"export program {name}\b", source) is not None


def items(source):
    """Returns the text of each item of a KDL or C file by its name, without comments, directives,
    contracts and tests. An item begins in the first column, and ends before the next one."""
    source = re.sub(r"//.*|/\*.*?\*/|^#.*", "", source, flags=re.MULTILINE)
    starts = re.split(r"^(?=[a-z])", source, flags=re.MULTILINE)
    named = ((re.match(r"(?:export |static |const |inline )*(?:\w+[\s*]+)?\b(\w+)\s*(?=[<(:=\[])", text), text) for text in starts)
    return {name[1]: text for name, text in named if name and not text.startswith(("requires", "ensures", "test"))}


def line_count(source, function):
    """Returns how many lines a function has that are not empty, with the functions and tables of the file that it
    uses."""
    known, needed, done = items(source), [function], set()
    while needed:
        name = needed.pop()
        if name in done:
            continue
        done.add(name)
        needed += [word for word in re.findall(r"\b\w+\b", known[name]) if word in known and word != name]
    return sum(bool(line.strip()) for name in done for line in known[name].splitlines())
