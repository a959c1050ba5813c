"""Registers kernels as operators of PyTorch, which `torch.compile` keeps in its graphs.

Outputs become results if the sizes of the other arguments determine theirs. Otherwise, the caller passes them. PyTorch is imported only
to register operators, so the text of their schemas does not need it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from . import arrays, calling, parameters
from .calling import Kernel
from .parameters import Parameter


def register(namespace: str, kernels: Iterable[Kernel]) -> Any:
    """Defines `torch.ops.NAMESPACE.KERNEL` for each kernel. The operators exist as long as the object that is returned."""
    import torch  # type: ignore
    library = torch.library.Library(namespace, "FRAGMENT")
    for kernel in kernels:
        operator = Operator(kernel)
        library.define(operator.schema())
        library.impl(kernel.name, operator.run, "CPU")
        torch.library.register_fake(f"{namespace}::{kernel.name}", operator.shapes, lib=library)
    return library


class Operator:
    """A kernel as an operator of PyTorch. Optional inputs may be None. Optional outputs are treated like the others."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.parameters = kernel.parameters
        inputs = [p for p in self.parameters if p.direction in ("in", "inout") and p.name not in kernel.optionals]
        known = _determined_sizes(inputs)
        makes_outputs = bool(inputs) and all(_depends_on(p.shape, known) for p in self.parameters if p.direction == "out")
        self.passed = [place for place, p in enumerate(self.parameters) if p.direction != "out" or not makes_outputs]

    def schema(self) -> str:
        """Returns the declaration of the operator: `softmax(Tensor x) -> Tensor`."""
        passed = ", ".join(self._declared())
        made = len(self.parameters) - len(self.passed)
        return f"{self.kernel.name}({passed}) -> {'Tensor' if made == 1 else '(' + ', '.join(['Tensor'] * made) + ')'}"

    def _declared(self) -> list[str]:
        """Returns the declarations of the arguments. Optional ones at the end have the default value None."""
        may_end = True
        declared = []
        for place in reversed(self.passed):
            parameter = self.parameters[place]
            is_optional = parameter.name in self.kernel.optionals
            may_end = may_end and is_optional
            declared.append(f"{_kind(parameter, place)}{'?' * is_optional} {calling.written(parameter.name)}{'=None' * may_end}")
        return declared[::-1]

    def run(self, *args: Any) -> Any:
        if len(self.passed) == len(self.parameters):
            self.kernel(*(_as_input(value, self.parameters[place]) for place, value in self._placed(args)))
            return None
        given = {self.parameters[place].name: _as_input(value, self.parameters[place]) for place, value in self._placed(args)}
        made = self._outputs(given)
        self.kernel(*(given[p.name] if p.name in given else made[p.name] for p in self.parameters))
        return _result(list(made.values()))

    def shapes(self, *args: Any) -> Any:
        """Returns what `run` would, but with any contents."""
        return _result(list(self._outputs({self.parameters[place].name: value for place, value in self._placed(args)}).values()))

    def _placed(self, args: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yields the places of arguments, and their values. PyTorch leaves out arguments at the end that have their default values."""
        return zip(self.passed, [*args, *[None] * (len(self.passed) - len(args))])

    def _outputs(self, given: dict[str, Any]) -> dict[str, Any]:
        """Returns new tensors for the outputs that the caller does not pass."""
        signature = self._signature(given)
        arrays_given = {p.name: given[p.name] for p in signature if p.direction and given.get(p.name) is not None}
        sizes = parameters.sizes_in(signature, arrays_given)
        like = next(iter(arrays_given.values()))
        return {p.name: like.new_empty(arrays.sizes_of(p.shape, sizes), dtype=_dtype(p)) for p in signature if p.name not in given}

    def _signature(self, given: dict[str, Any]) -> list[Parameter]:
        """Returns the parameters for the element types of the arguments, and for the optional ones that are not None."""
        absent = {f"{name}=0" for name in self.kernel.optionals if name in given and given[name] is None}
        possible = {f"{name}=0" for name in self.kernel.optionals}
        choices = [signature for signature, constants in self.kernel.choices if possible & set(constants.split(", ")) == absent]
        fitting = (one for one in choices
                   if all(given[p.name].dtype == _dtype(p) for p in one if p.direction and given.get(p.name) is not None))
        return next(fitting, choices[0])


def _result(made: list[Any]) -> Any:
    return None if not made else made[0] if len(made) == 1 else tuple(made)


def _kind(parameter: Parameter, place: int) -> str:
    if parameter.direction:
        return "Tensor" if parameter.direction == "in" else f"Tensor({chr(ord('a') + place % 26)}{place // 26 or ''}!)"
    if parameter.element == "bool":
        return "bool"
    return "float" if parameter.element.startswith(("f", "bf")) else "int"


def _as_input(value: Any, parameter: Parameter) -> Any:
    """Returns an argument as the kernel takes it. Unless the parameter is `strided`, elements of the last axis must be adjacent, so other
    inputs are copied."""
    if not parameter.direction or value is None:
        return value
    value = value.detach() if value.requires_grad else value
    gaps = value.dim() > 0 and value.shape[-1] > 1 and value.stride(-1) != 1
    return value.contiguous() if gaps and parameter.direction == "in" and not parameter.strided else value


def _dtype(parameter: Parameter) -> Any:
    return _dtype_of(parameter.element)


@functools.cache
def _dtype_of(element: str) -> Any:
    import torch
    return getattr(torch, arrays.NAMES[element])


def _determined_sizes(inputs: Sequence[Parameter]) -> dict[str, Any]:
    """Returns examples of the sizes that arrays of any shapes determine. A pack of dimensions is determined by an array all of whose
    other packs are."""
    known: dict[str, Any] = {name: 1 for p in inputs for name in p.sizes if isinstance(name, str) and name not in p.packs}
    while True:
        found = {name for p in inputs for name in p.packs if len([one for one in p.packs if one not in known]) == 1} - known.keys()
        if not found:
            return known
        for name in found:
            known.update({name: 1, f"{name}..": [1]})


def _depends_on(shape: str, known: dict[str, Any]) -> bool:
    """Whether a shape contains only these names."""
    try:
        arrays.sizes_of(shape, known)
    except KeyError:
        return False
    except ZeroDivisionError:  # a size of 1 is an example only
        return True
    return True
