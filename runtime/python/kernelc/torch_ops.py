"""Registers kernels as operators of PyTorch, which `torch.compile` keeps in its graphs.

Outputs become results if the sizes of the other arguments determine theirs. Otherwise, the caller passes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch  # type: ignore

from . import arrays
from .calling import Kernel, Parameter


def register(namespace: str, kernels: Iterable[Kernel]) -> Any:
    """Defines `torch.ops.NAMESPACE.KERNEL` for each kernel. The operators exist as long as the object that is returned."""
    library = torch.library.Library(namespace, "FRAGMENT")
    for kernel in kernels:
        operator = _Operator(kernel)
        library.define(operator.schema())
        library.impl(kernel.name, operator.run, "CPU")
        torch.library.register_fake(f"{namespace}::{kernel.name}", operator.shapes, lib=library)
    return library


class _Operator:
    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        known = _names(p for p in kernel.parameters if p.direction in ("in", "inout"))
        outputs = [p for p in kernel.parameters if p.direction == "out"]
        self.makes_outputs = all(_depends_on(p.shape, known) for p in outputs)
        self.taken = [p for p in kernel.parameters if p.direction != "out" or not self.makes_outputs]

    def schema(self) -> str:
        """Returns the declaration of the operator: `softmax(Tensor x) -> Tensor`."""
        taken = [f"{_kind(p, place)} {p.name}" for place, p in enumerate(self.taken)]
        made = len(self.kernel.parameters) - len(self.taken)
        result = "Tensor" if made == 1 else f"({', '.join(['Tensor'] * made)})"
        return f"{self.kernel.name}({', '.join(taken)}) -> {result}"

    def run(self, *args: Any) -> Any:
        return self.kernel(**{p.name: _given(value, p) for p, value in zip(self.taken, args)})

    def shapes(self, *args: Any) -> Any:
        """Returns tensors without contents, of the types and sizes of the outputs."""
        given = {p.name: value for p, value in zip(self.taken, args)}
        signature = _signature(self.kernel, given)
        sizes = {name: size for p in signature if p.name in given and p.direction
                 for name, size in zip(p.sizes, given[p.name].shape) if isinstance(name, str)}
        like = next(value for value in args if isinstance(value, torch.Tensor))
        made = [like.new_empty(arrays.sizes_of(p.shape, sizes), dtype=_dtype(p))
                for p in signature if p.name not in given]
        return None if not made else made[0] if len(made) == 1 else tuple(made)


def _kind(parameter: Parameter, place: int) -> str:
    if parameter.direction:
        return "Tensor" if parameter.direction == "in" else f"Tensor({chr(ord('a') + place % 26)}{place // 26 or ''}!)"
    if parameter.element == "bool":
        return "bool"
    return "float" if parameter.element.startswith(("f", "bf")) else "int"


def _given(value: Any, parameter: Parameter) -> Any:
    """Returns an argument as the kernel takes it. Elements of the last axis must be adjacent; other inputs are copied."""
    if not parameter.direction:
        return value
    value = value.detach()
    gaps = value.dim() > 0 and value.shape[-1] > 1 and value.stride(-1) != 1
    return value.contiguous() if gaps and parameter.direction == "in" else value


def _dtype(parameter: Parameter) -> Any:
    return getattr(torch, arrays.NAMES[parameter.element])


def _signature(kernel: Kernel, given: Mapping[str, Any]) -> Sequence[Parameter]:
    """Returns the parameters for the element types of the arguments."""
    signatures = [[Parameter(*one) for one in signature] for signature in kernel.signatures]
    fitting = [one for one in signatures
               if all(given[p.name].dtype == _dtype(p) for p in one if p.direction and p.name in given)]
    return (fitting or signatures)[0]


def _names(parameters: Iterable[Parameter]) -> set[str]:
    return {name for p in parameters for name in p.sizes if isinstance(name, str)}


def _depends_on(shape: str, known: set[str]) -> bool:
    """Whether a shape contains only these names."""
    try:
        arrays.sizes_of(shape, dict.fromkeys(known, 1))
    except KeyError:
        return False
    except ZeroDivisionError:  # a size of 1 is an example only
        return True
    return True
