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
        self.signatures = [[Parameter(*one) for one in signature] for signature in kernel.signatures]
        every = self.signatures[0]
        known = _names(p for p in every if p.direction in ("in", "inout"))
        makes_outputs = all(_depends_on(p.shape, known) for p in every if p.direction == "out")
        self.places = [place for place, p in enumerate(every) if p.direction != "out" or not makes_outputs]
        self.taken = [every[place] for place in self.places]

    def schema(self) -> str:
        """Returns the declaration of the operator: `softmax(Tensor x) -> Tensor`."""
        taken = [f"{_kind(p, place)} {p.name}" for place, p in enumerate(self.taken)]
        made = len(self.signatures[0]) - len(self.taken)
        result = "Tensor" if made == 1 else f"({', '.join(['Tensor'] * made)})"
        return f"{self.kernel.name}({', '.join(taken)}) -> {result}"

    def run(self, *args: Any) -> Any:
        values = [_given(value, p) for p, value in zip(self.taken, args)]
        if len(self.places) == len(self.signatures[0]):
            return self.kernel(*values)
        made = self.outputs(values)
        every = iter(made)
        given = dict(zip(self.places, values))
        self.kernel(*(given[place] if place in given else next(every) for place in range(len(given) + len(made))))
        return made[0] if len(made) == 1 else tuple(made)

    def shapes(self, *args: Any) -> Any:
        """Returns what `run` would, but with any contents."""
        made = self.outputs(args)
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def outputs(self, args: Sequence[Any]) -> list[Any]:
        """Returns new tensors for the outputs that the caller does not pass."""
        signature = self.signature(args)
        taken = [(signature[place], value) for place, value in zip(self.places, args) if signature[place].direction]
        sizes = {name: size for p, value in taken for name, size in zip(p.sizes, value.shape) if isinstance(name, str)}
        return [taken[0][1].new_empty(_sizes(p, sizes), dtype=_dtype(p))
                for place, p in enumerate(signature) if place not in self.places]

    def signature(self, args: Sequence[Any]) -> Sequence[Parameter]:
        """Returns the parameters for the element types of the arguments."""
        fitting = (one for one in self.signatures
                   if all(value.dtype == _dtype(one[place]) for place, value in zip(self.places, args) if one[place].direction))
        return next(fitting, self.signatures[0])


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
    value = value.detach() if value.requires_grad else value
    gaps = value.dim() > 0 and value.shape[-1] > 1 and value.stride(-1) != 1
    return value.contiguous() if gaps and parameter.direction == "in" else value


def _dtype(parameter: Parameter) -> Any:
    return getattr(torch, arrays.NAMES[parameter.element])


def _sizes(parameter: Parameter, known: Mapping[str, Any]) -> Sequence[Any]:
    """Returns the sizes of a tensor. Most shapes consist of names and numbers only."""
    if None in parameter.sizes:
        return arrays.sizes_of(parameter.shape, known)
    return [known[size] if isinstance(size, str) else size for size in parameter.sizes]


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
