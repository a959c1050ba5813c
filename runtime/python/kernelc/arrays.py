"""Makes the arrays that a caller leaves to kernelc: outputs."""

from __future__ import annotations

import ast
import ctypes
import functools
import math
import numbers
import operator
import pathlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._core import shape
from .errors import ArgumentError

# The names of element types in NumPy and PyTorch. NumPy itself lacks the narrow ones.
NAMES = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
          "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool", "bf16": "bfloat16",
          "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e8m0": "float8_e8m0fnu"}
NARROW = ("bf16", "f8e4m3", "f8e5m2", "f8e8m0")


def empty(shape: Sequence[int], element: str, like: Sequence[Any]) -> Any:
    """Returns a new array: of PyTorch, in the same memory, if one of the arrays in `like` is a tensor of PyTorch; of the library of an array in
    the memory of a GPU if there is one; else of NumPy."""
    torch = sys.modules.get("torch")
    tensors = [] if torch is None else [array for array in like if isinstance(array, torch.Tensor)]
    if torch is not None and tensors:
        return torch.empty(tuple(shape), dtype=getattr(torch, NAMES[element]), device=tensors[0].device)
    for array in filter(is_on_gpu, like):
        return _empty_there(shape, element, array)
    import numpy
    if element in NARROW:
        try:
            import ml_dtypes  # type: ignore  # NumPy has no such type of its own
        except ImportError as error:
            raise ArgumentError(f"an output of type {element} cannot be allocated, because NumPy gets this type from the package "
                                "ml_dtypes: install it, or pass the output") from error
        return numpy.empty(shape, getattr(ml_dtypes, NAMES[element]))
    return numpy.empty(shape, NAMES[element])


def is_on_gpu(array: Any) -> bool:
    """Whether an array is in the memory of a GPU of CUDA."""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) in (2, 13)  # the memory of a GPU, and memory that it shares with the host
    return hasattr(array, "__cuda_array_interface__")


def _empty_there(shape: Sequence[int], element: str, array: Any) -> Any:
    """Returns a new array of the library that has made this one, which is in the memory of a GPU."""
    library = type(array).__module__.partition(".")[0]
    namespace = array.__array_namespace__() if hasattr(array, "__array_namespace__") else sys.modules.get(library)
    if library in ("jax", "jaxlib") or not hasattr(namespace, "empty"):
        raise ArgumentError(f"an output in the memory of a GPU cannot be allocated with {library}: pass an array of PyTorch or CuPy for it")
    return namespace.empty(tuple(shape), dtype=getattr(namespace, NAMES[element], NAMES[element]))


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv, ast.Mod: operator.mod}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max, "ceil_div": _ceil_div}


@functools.cache
def _dimensions(shape: str) -> list[ast.expr]:
    """Returns the expressions of a shape. Their names begin with `_`, since names such as `lambda` are keywords of Python."""
    most = re.sub(r"\[\w+ <= ", "[", shape)  # of a counted output
    named = re.sub(r"\b[A-Za-z_]", r"_\g<0>", re.sub(r"(\w+)\.\.", r"*\1", most))
    parsed = ast.parse(named, mode="eval").body
    return parsed.elts if isinstance(parsed, ast.List) else []


def sizes_of(shape: str, known: Mapping[str, Any]) -> list[int]:
    """Returns the sizes that a shape such as "[M, 2 * N]" or "[A.., C]" has for these values of its names, where that of `A..` is a
    list of sizes. Raises KeyError for an unknown name."""
    def sizes(node: ast.expr) -> list[int]:
        if isinstance(node, ast.Starred) and isinstance(node.value, ast.Name):
            return list(known[node.value.id[1:] + ".."])
        return [value(node)]

    def value(node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return int(node.value)
        if isinstance(node, ast.Name):
            known_size: int = known[node.id[1:]]  # or a symbol of PyTorch
            return known_size
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            size: int = _OPERATORS[type(node.op)](value(node.left), value(node.right))
            return size
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id[1:] in _FUNCTIONS:
            return _FUNCTIONS[node.func.id[1:]](*map(value, node.args))
        raise KeyError(shape)

    return [size for one in _dimensions(shape) for size in sizes(one)]


def shape_of(array: Any) -> Sequence[int]:
    """Returns the shape of an array; () if the object is none."""
    try:
        sizes: Sequence[int] = array.shape if hasattr(array, "shape") else shape(array)
        return sizes
    except TypeError:
        return ()


# Numbers of at least the first magnitude become the second.
_LARGEST = {"f16": (65520.0, math.inf), "bf16": (2.0**128 - 2.0**119, math.inf), "f32": (2.0**128 - 2.0**103, math.inf),
            "f8e4m3": (448.0, 448.0), "f8e5m2": (57344.0, 57344.0)}


def number(value: Any, element: str) -> str:
    """Returns the number that a call would pass for a scalar parameter, as text for the command line."""
    if element == "bool":
        return "true" if value else "false"
    if not element.startswith(("f", "bf")):
        return str(operator.index(value))
    # Kernelc rounds an integer once, to the element type.
    converted = operator.index(value) if isinstance(value, numbers.Integral) else float(value)
    if element == "f8e8m0":  # it has no sign and no zero
        return repr(min(max(float(converted), 2.0**-127), 2.0**127)) if converted >= 0 else "nan"
    limit, most = _LARGEST.get(element, (math.inf, math.inf))
    return repr(math.copysign(most, converted) if abs(converted) >= limit else converted)


def save(array: Any, element: str, file: pathlib.Path, whole: Sequence[int], shape: Sequence[int]) -> None:
    """Writes an array to a file, repeated to the shape `whole`, in a shape with as many elements."""
    import numpy
    numpy.save(file, numpy.ascontiguousarray(numpy.broadcast_to(_viewed(array, element), whole)).reshape(shape))


def fill(array: Any, element: str, file: pathlib.Path, is_counted: bool = False) -> None:
    """Reads a file that kernelc has written into an array with as many elements. That of a counted output may have fewer elements;
    the others become 0."""
    import numpy
    view = _viewed(array, element)
    written = numpy.load(file)
    if is_counted:
        view[len(written):] = 0
        view = view[:len(written)]
    numpy.copyto(view, written.reshape(view.shape))


def _writable(array: Any) -> Any:
    """Returns an array with the same memory. Old versions of NumPy forbid to write to what comes from DLPack."""
    import numpy
    if array.flags.writeable or array.size == 0:
        return array
    extent = array.itemsize + sum((size - 1) * stride for size, stride in zip(array.shape, array.strides))
    memory = (ctypes.c_char * extent).from_address(array.ctypes.data)
    return numpy.ndarray(array.shape, array.dtype, memory, 0, array.strides)


def _viewed(array: Any, element: str) -> Any:
    """Returns the memory of an array as one of NumPy, with the element type that files have."""
    import numpy
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        array = array.detach()
        if element in NARROW:
            array = array.view(torch.int16 if element == "bf16" else torch.uint8)
        array = array.numpy()
    elif not isinstance(array, numpy.ndarray):
        try:
            array = numpy.asarray(memoryview(array))
        except TypeError:
            array = _writable(numpy.from_dlpack(array))
    if element in NARROW:
        array = array.view("V2" if element == "bf16" else "u1")
    return array
