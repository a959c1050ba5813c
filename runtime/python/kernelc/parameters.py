"""The parameters of kernels, and the sizes that arrays determine."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import arrays
from .errors import ArgumentError


class Parameter(NamedTuple):
    """A parameter of a kernel."""

    name: str
    direction: str  #: "in", "out" or "inout"; "" for a scalar
    element: str  #: such as "f32"
    shape: str  #: as in the source, such as "[M, K]"; "" for a scalar
    sizes: tuple[str | int | None, ...]  #: for each axis: its name, its constant size, or None for an expression
    repeats: bool = False  #: whether it is `broadcast`: repeated along the dimensions of its pack that it does not have
    strided: bool = False  #: whether arrays may have any strides

    @property
    def packs(self) -> frozenset[str]:
        """The names of its packs of dimensions, such as A for the shape [A.., C]."""
        return _packs_of(self.shape)

    @property
    def counted_by(self) -> str | None:
        """The parameter that says how many elements of it were written, if it is a counted output such as `y: out f32[n <= N]`."""
        return _count_of(self.shape)


@functools.cache
def _packs_of(shape: str) -> frozenset[str]:
    return frozenset(re.findall(r"(\w+)\.\.", shape))


@functools.cache
def _count_of(shape: str) -> str | None:
    found = re.match(r"\[(\w+) <= ", shape)
    return found[1] if found else None


def sizes_in(signature: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the sizes that the given arrays determine. That of a pack such as `A..` is a list, and that of `A` its product."""
    ranks = _ranks_of_packs(signature, given)
    sizes: dict[str, Any] = {}
    repeated: dict[str, list[list[int]]] = {}  # the dimensions of each pack in arrays that are repeated
    for parameter in signature:
        shape = arrays.shape_of(given.get(parameter.name))
        place = 0
        for name in parameter.sizes:
            is_pack = name in parameter.packs
            if is_pack and not parameter.repeats and name not in ranks:
                break  # it is not known which dimensions the others are
            count = 1 if not is_pack else len(shape) - len(parameter.sizes) + 1 if parameter.repeats else ranks[str(name)]
            found = list(shape[place:place + count])  # PyTorch's sizes may be symbols, which int() would fix
            place += count
            if is_pack and parameter.repeats:
                repeated.setdefault(str(name), []).extend([found] * (parameter.name in given and count >= 0))
            elif is_pack and len(found) == count:
                sizes.update({f"{name}..": found, str(name): math.prod(found)})
            elif isinstance(name, str) and found:
                sizes[name] = found[0]
    for name, shapes in repeated.items():
        if f"{name}.." not in sizes and shapes:
            sizes.update({f"{name}..": _broadcast(name, shapes), name: math.prod(_broadcast(name, shapes))})
    return sizes


def _broadcast(name: str, shapes: Sequence[list[int]]) -> list[int]:
    """Returns the dimensions of a pack to which arrays with these dimensions are repeated."""
    result = [1] * max(map(len, shapes))
    for shape in shapes:
        for i in range(-len(shape), 0):
            if shape[i] != 1 and result[i] not in (1, shape[i]):
                raise ArgumentError(f"arrays with the dimensions {' and '.join(map(str, shapes))} cannot be repeated to common dimensions {name}..")
            result[i] = shape[i] if result[i] == 1 else result[i]
    return result


def whole_shape(parameter: Parameter, array: Any, sizes: Mapping[str, Any]) -> list[int]:
    """Returns the shape of an array after it was repeated. The sizes are those of `sizes_in`."""
    shape = [int(size) for size in arrays.shape_of(array)]
    if not parameter.repeats:
        return shape
    at = next(i for i, name in enumerate(parameter.sizes) if name in parameter.packs)
    pack = sizes[f"{parameter.sizes[at]}.."]
    return [*shape[:at], *pack, *shape[len(shape) - (len(parameter.sizes) - at - 1):]]


def merged_shape(parameter: Parameter, array: Any, sizes: Mapping[str, Any]) -> list[int]:
    """Returns the shape of an array in which each pack of dimensions is one dimension. The sizes are those of `sizes_in`."""
    left = whole_shape(parameter, array, sizes)
    merged = []
    for name in parameter.sizes:
        is_pack = name in parameter.packs
        merged.append(sizes[str(name)] if is_pack else left[0])
        del left[:len(sizes[f"{name}.."]) if is_pack else 1]
    return merged


def rank_word(pack: str) -> str:
    """Returns the keyword that says how many dimensions a pack has."""
    return f"rank_{pack}"


def open_packs(signature: Sequence[Parameter]) -> list[str]:
    """Returns the packs of which a call says how many dimensions they have, so that the arrays determine those of all others."""
    known: set[str] = set()
    chosen: list[str] = []
    names = [name for parameter in signature for name in parameter.sizes if name in parameter.packs]
    while left := [str(name) for name in names if name not in known]:
        found = [parameter.packs - known for parameter in signature if not parameter.repeats and len(parameter.packs - known) == 1]
        if not found:
            chosen.append(left[0])
        known |= found[0] if found else {left[0]}
    return chosen


def _ranks_of_packs(signature: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, int]:
    """Returns the number of dimensions of each pack, where the caller states it or the given arrays determine it as a call does."""
    if not any(parameter.packs for parameter in signature):
        return {}
    ranks: dict[str, int] = {pack: given[rank_word(pack)] for parameter in signature for pack in parameter.packs
                             if rank_word(pack) in given}
    tensors = [(p, len(arrays.shape_of(given[p.name]))) for p in signature
               if p.packs and not p.repeats and given.get(p.name) is not None]
    while True:
        unknown = [(p.packs - ranks.keys(), rank - len(p.sizes) + len(p.packs) - sum(ranks.get(name, 0) for name in p.packs))
                   for p, rank in tensors]
        fitting = ([one for one in unknown if (len(one[0]) == 1 and one[1] >= 0) or (one[0] and one[1] == 0)]
                   or [one for one in unknown if one[0] and one[1] == len(one[0])])
        if not fitting:
            return ranks
        names, left = fitting[0]
        ranks.update(dict.fromkeys(names, left // len(names)))
