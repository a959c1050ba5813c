"""Kernels as Python functions, without the compiler: arguments by order or by name, and outputs that the caller omits."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from . import arrays
from ._core import Kernel as CoreKernel
from ._core import element
from .errors import ArgumentError


class Parameter(NamedTuple):
    """A parameter of a kernel."""

    name: str
    direction: str  #: "in", "out" or "inout"; "" for a scalar
    element: str  #: such as "f32"
    shape: str  #: as in the source, such as "[M, K]"; "" for a scalar
    sizes: tuple[str | int | None, ...]  #: for each axis: its name, its constant size, or None for an expression


class Kernel(CoreKernel):
    """A kernel, to be called with arrays and numbers.

    Arguments are in the order of the source or have the names of the source. Outputs may be omitted; they are then allocated and
    returned, several as a tuple. Kernels on the host work on the arrays themselves. The interpreter's lock is released while
    the kernel runs.
    """

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters for the first choice of element types."""
        return [Parameter(*one) for one in self.signatures[0]]

    #: Where it runs.
    device: str

    @property
    def __signature__(self) -> inspect.Signature:
        """The parameters for `inspect.signature` and for the help of notebooks. Outputs at the end may be omitted."""
        may_end = True
        parameters = []
        for one in reversed(self.parameters):
            may_end = may_end and one.direction == "out"
            parameters.append(inspect.Parameter(_written(one.name), inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=_type(one),
                                                default=... if may_end else inspect.Parameter.empty))
        return inspect.Signature(parameters[::-1])

    def document(self, comment: str) -> None:
        """Makes the kernel's doc comment and its parameters the docstring."""
        self.__doc__ = "\n".join([comment.rstrip(), ""] * bool(comment) + list(map(_text, self.parameters)))

    def __getitem__(self, cores: int) -> Callable[..., Any]:
        """Returns a function that calls the kernel on this number of cores: `kernel[4](x, y)`."""
        return lambda *args, **keywords: self.run(cores, args, keywords)

    def queue(self, number: int) -> OnQueue:
        """Returns the kernel on a queue of its device: `kernel.queue(1).submit(x, y)`. Calls on one queue, also those of other kernels of
        the device, run in their order. Those on different queues can run at the same time. `submit` itself uses queue 0."""
        return OnQueue(self, number)

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(map(_text, self.parameters))})>"

    def complete(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """Returns all arguments of a call in the order of the parameters, and the outputs that the caller has omitted."""
        given = self.bind(args, keywords)
        signature = self.signature(given)
        omitted = [parameter for parameter in signature if parameter.name not in given]
        if omitted:
            self._check_arrays(given)
        known = sizes_in(signature, given)
        made = []
        for parameter in omitted:
            try:
                shape = arrays.sizes_of(parameter.shape, known)
                if any(size < 0 for size in shape):
                    raise ArgumentError(f"{self.name}: the shape {parameter.shape} of '{parameter.name}' would be {shape}; sizes are 0 or more")
            except ZeroDivisionError:
                raise ArgumentError(f"{self.name}: the shape {parameter.shape} of '{parameter.name}' divides by 0") from None
            except KeyError:
                raise TypeError(f"{self.name}: the other arguments do not determine the shape {parameter.shape} of '{parameter.name}'; "
                                f"pass an array for it") from None
            given[parameter.name] = arrays.empty(shape, parameter.element, list(given.values()))
            made.append(given[parameter.name])
        result = None if not made else made[0] if len(made) == 1 else tuple(made)
        return tuple(given[parameter.name] for parameter in signature), result

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """Gives arguments their names. If not all parameters have positional arguments, outputs are left out."""
        parameters = self.parameters
        names = [p.name for p in parameters]
        needed = [p.name for p in parameters if p.direction != "out"]
        places = names if len(args) > len(needed) else needed
        if len(args) > len(names):
            raise TypeError(f"{self.name} has {len(names)} parameters, but is called with {len(args)} arguments")
        given = dict(zip(places, args))
        of_written = {_written(name): name for name in names}
        for written, value in keywords.items():
            name = written if written in names else of_written.get(written, written)
            if name not in names:
                raise TypeError(f"{self.name} has no parameter '{name}'; its parameters are: {', '.join(names)}")
            if name in given:
                raise TypeError(f"{self.name} gets two arguments for '{name}'")
            given[name] = value
        missing = [name for name in needed if name not in given]
        if missing:
            raise TypeError(f"{self.name} needs an argument for {' and '.join(map(repr, missing))}")
        return given

    def signature(self, given: Mapping[str, Any]) -> list[Parameter]:
        """Returns the parameters for the element types of the given arrays, which are named."""
        return self.choice(given)[0]

    def choice(self, given: Mapping[str, Any]) -> tuple[list[Parameter], str]:
        """Returns the same, and the constants for which the kernel is compiled with them, such as "T=f32, D=3"."""
        choices = [([Parameter(*one) for one in signature], constants) for signature, constants in zip(self.signatures, self.constants)]
        if len(choices) == 1:
            return choices[0]
        fitting = [one for one in choices if all(_fits(given[p.name], p) for p in one[0] if p.direction and p.name in given)]
        if any(one[0] != fitting[0][0] for one in fitting):
            raise TypeError(f"{self.name}: the arguments fit several types or constants; pass arrays for the outputs, too")
        return (fitting or choices)[0]  # if none fits, the call says what does not


    def _check_arrays(self, given: Mapping[str, Any]) -> None:
        """Raises TypeError if an argument for a tensor is not an array, or ArgumentError if it has another number of dimensions or an
        element type that the kernel does not take."""
        for place, parameter in enumerate(self.parameters):
            if not parameter.direction or parameter.name not in given:
                continue
            name, value = parameter.name, given[parameter.name]
            found = element(value, name)
            if not found:
                kind = arrays.NAMES[parameter.element] if parameter.element not in arrays.NARROW else "float32"
                advice = f"; pass numpy.array({name}, '{kind}')" if isinstance(value, (list, tuple, int, float)) else ""
                raise TypeError(f"'{name}' must be an array, such as one of NumPy or PyTorch, not {type(value).__name__}{advice}")
            rank = len(arrays.shape_of(value))
            if rank != len(parameter.sizes):
                raise ArgumentError(f"'{name}' has {rank} dimension{'s' if rank != 1 else ''}, but its shape must be {parameter.shape or '[]'}")
            taken = dict.fromkeys(Parameter(*signature[place]).element for signature in self.signatures)
            if found not in taken:
                raise ArgumentError(f"'{name}' has elements of type {found}, but {self.name} takes {' or '.join(taken)}{_conversion(name, *taken)}")


class OnQueue:
    """A kernel on a queue of its device."""

    def __init__(self, kernel: Kernel, number: int):
        self.kernel = kernel
        self.number = number

    def submit(self, *args: Any, **keywords: Any) -> Any:
        """Like a call, but returns at once: an object whose `result()` waits. Until then, the arrays must not be used."""
        return self.kernel.enqueue(self.number, args, keywords)


def _conversion(name: str, element: str, *others: str) -> str:
    """Returns what to write so that an array gets the only element type that a kernel takes."""
    return "" if others or element in arrays.NARROW else f"; pass {name}.astype('{arrays.NAMES[element]}')"


def _written(name: str) -> str:
    """Returns a parameter's name as a call can write it: with `_` at its end if it is a keyword of Python."""
    return f"{name}_" if keyword.iskeyword(name) else name


def sizes_in(signature: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, int]:
    """Returns the sizes that the given arrays determine."""
    sizes: dict[str, int] = {}
    for parameter in signature:
        shape = arrays.shape_of(given.get(parameter.name))
        sizes.update({name: int(size) for name, size in zip(parameter.sizes, shape) if isinstance(name, str)})
    return sizes


def _fits(array: Any, parameter: Parameter) -> bool:
    """Whether an array has the element type and the constant sizes of a parameter."""
    sizes = zip(parameter.sizes, arrays.shape_of(array))
    return element(array, parameter.name) == parameter.element and all(size == given for size, given in sizes if isinstance(size, int))


def _type(parameter: Parameter) -> str:
    return f"{parameter.direction} {parameter.element}{parameter.shape}".strip()


def _text(parameter: Parameter) -> str:
    return f"{parameter.name}: {_type(parameter)}"
