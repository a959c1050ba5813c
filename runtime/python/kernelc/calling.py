"""Kernels as Python functions, without the compiler: arguments by order or by name, and outputs that the caller omits."""

from __future__ import annotations

import functools
import importlib
import inspect
import keyword
import operator
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from . import arrays
from ._core import CORES_AUTO, element
from ._core import Kernel as CoreKernel
from .errors import ArgumentError
from .parameters import Parameter as Parameter
from .parameters import open_packs, rank_word, sizes_in


class PendingCall(Protocol):
    """A call that `submit` has returned: it may still run."""

    def result(self, timeout: float = -1) -> Any:
        """Waits for the call, and returns what the call returns. Raises TimeoutError after `timeout` seconds; -1 waits for ever."""

    def done(self) -> bool:
        """Returns whether the call has ended."""


class Kernel(CoreKernel):
    """A kernel, to be called with arrays and numbers.

    Arguments are in the order of the source or have the names of the source. Outputs may be omitted; they are then allocated and
    returned, several as a tuple. Kernels on the host work on the arrays themselves. The interpreter's lock is released while
    the kernel runs.
    """

    # What calls need is computed once.

    @functools.cached_property
    def choices(self) -> list[tuple[list[Parameter], str]]:
        """For each choice of element types, the parameters and the constants, such as "T=f32, D=3"."""
        return [([Parameter(*one) for one in signature], constants) for signature, constants in zip(self.signatures, self.constants)]

    @functools.cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters for the first choice of element types."""
        return self.choices[0][0]

    @functools.cached_property
    def optionals(self) -> list[str]:
        """The names of the optional parameters, for which None may be passed."""
        constants = [text.split("=")[0] for text in self.constants[0].split(", ")]
        return [parameter.name for parameter in self.parameters if parameter.name in constants]

    #: Where it runs.
    device: str

    @functools.cached_property
    def rank_words(self) -> list[str]:
        """The keywords, such as rank_A, with which a call can say how many dimensions a pack has."""
        packs = {pack: None for signature, _ in self.choices for one in signature for pack in sorted(one.packs)}
        return [*map(rank_word, packs)]

    @property
    def __signature__(self) -> inspect.Signature:
        """The parameters for `inspect.signature` and for the help of notebooks. Outputs at the end may be omitted."""
        may_end = True
        parameters = []
        for one in reversed(self.parameters):
            may_end = may_end and (one.direction == "out" or one.name in self.optionals)
            default = None if may_end and one.name in self.optionals else ... if may_end else inspect.Parameter.empty
            parameters.append(inspect.Parameter(written(one.name), inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=self._type(one),
                                                default=default))
        ranks = [inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, annotation=int, default=...)
                 for word in map(rank_word, open_packs(self.parameters))]
        return inspect.Signature([*parameters[::-1], *ranks])

    def document(self, comment: str) -> None:
        """Makes the kernel's doc comment and its parameters the docstring."""
        self.__doc__ = "\n".join([comment.rstrip(), ""] * bool(comment) + list(self._texts()))

    def __getitem__(self, cores: int) -> PlacedKernel:
        """Returns the kernel on this number of cores: `kernel[4](x, y)`."""
        return PlacedKernel(self, cores)

    def queue(self, number: int) -> PlacedKernel:
        """Returns the kernel on a queue of its device: `kernel.queue(1).submit(x, y)`. Calls on one queue, also those of other kernels of
        the device, run in their order. Those on different queues can run at the same time. `submit` itself uses queue 0."""
        return PlacedKernel(self, number=number)

    @property
    def __name__(self) -> str:
        """Its name, as functions have one."""
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickled kernel of a package names the package, which is imported where the kernel is loaded."""
        return _kernel_of, (__name__.removesuffix("._kernelc.calling"), self.name)

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Kernel:
        return self

    def _texts(self) -> Iterator[str]:
        """Yields the parameters as their declarations in the source, with the element types for which the kernel is compiled."""
        return (f"{parameter.name}: {self._type(parameter)}" for parameter in self.parameters)

    def _type(self, parameter: Parameter) -> str:
        place = self.parameters.index(parameter)
        elements = "|".join(dict.fromkeys(signature[place].element for signature, _ in self.choices))
        mode = "broadcast " if parameter.repeats else "strided " if parameter.strided else ""
        return f"{parameter.direction} {mode}{elements}{parameter.shape}{'?' * (parameter.name in self.optionals)}".strip()

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(self._texts())})>"

    def complete(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """Returns all arguments of a call in the order of the parameters, and the outputs that the caller has omitted. If the sizes of
        some of these are known only after the call, the second result is a function that returns the outputs then. Optional
        parameters that the caller has omitted are None."""
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
                words = [f"{word}=1" for word in map(rank_word, open_packs(signature)) if word not in given]
                stated = "".join(f" and {word}={given[word]}" for word in self.rank_words if word in given and parameter.packs)
                advice = f"say how many dimensions a pack has, such as {', '.join(words)}, or " if words and parameter.packs else ""
                raise TypeError(f"{self.name}: the other arguments{stated} do not determine the shape {parameter.shape} of '{parameter.name}'; "
                                f"{advice}pass an array for it") from None
            like = [value for value in given.values() if self.device.startswith("cuda") or not arrays.is_on_gpu(value)]
            given[parameter.name] = arrays.empty(shape, parameter.element, like)
            made.append(parameter)
        counts = {parameter.name: parameter.counted_by for parameter in made if parameter.counted_by}
        names = [parameter.name for parameter in made if parameter.name not in counts.values()]

        def outputs() -> Any:
            found = [given[name][:int(given[counts[name]])] if name in counts else given[name] for name in names]
            return None if not found else found[0] if len(found) == 1 else tuple(found)

        result = outputs if counts else outputs()
        return tuple(given[parameter.name] for parameter in signature), result

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """Gives arguments their names. If not all parameters have positional arguments, outputs are left out. Optional parameters
        that are left out are None. Ranks of packs keep their names, such as rank_A."""
        parameters = self.parameters
        names = [p.name for p in parameters]
        inputs = [p.name for p in parameters if p.direction != "out"]
        needed = [name for name in inputs if name not in self.optionals]
        if len(args) > len(names):
            raise TypeError(f"{self.name} has {len(names)} parameters, but is called with {len(args)} arguments")
        given = dict(zip(names if len(args) > len(inputs) else self._inputs_first(len(args), names, inputs), args))
        of_written = {written(name): name for name in names}
        ranks = {word: operator.index(keywords[word]) for word in self.rank_words if word in keywords} if keywords else {}
        for keyword_name, value in keywords.items():
            if keyword_name in ranks:
                continue
            name = keyword_name if keyword_name in names else of_written.get(keyword_name, keyword_name)
            if name not in names:
                raise TypeError(f"{self.name} has no parameter '{name}'; its parameters are: {', '.join(names)}")
            if name in given:
                raise TypeError(f"{self.name} gets two arguments for '{name}'")
            given[name] = value
        missing = [name for name in needed if name not in given]
        if missing:
            raise TypeError(f"{self.name} needs an argument for {' and '.join(map(repr, missing))}")
        return {**dict.fromkeys(self.optionals), **given, **ranks}

    def _inputs_first(self, count: int, names: list[str], inputs: list[str]) -> list[str]:
        """Returns the inputs, to which `count` arguments in order belong. Raises TypeError if one of these is for an optional input that comes
        after an output, since the arguments may also be meant for all parameters in order."""
        unclear = [name for name in inputs[:count] if name in self.optionals and names[:count] != inputs[:count]]
        if unclear:
            raise TypeError(f"{self.name}: the {count} arguments may be for {', '.join(inputs[:count])} or for {', '.join(names[:count])}; "
                            f"pass '{unclear[0]}' and the outputs by name")
        return inputs

    def signature(self, given: Mapping[str, Any]) -> list[Parameter]:
        """Returns the parameters for the element types of the given arrays, which are named."""
        return self.choice(given)[0]

    def choice(self, given: Mapping[str, Any]) -> tuple[list[Parameter], str]:
        """Returns the matching signature and its constants, such as "T=f32, D=3"."""
        choices = self.choices
        if self.optionals:
            choices = [one for one in choices if all((given.get(name) is None) == (f"{name}=0" in one[1].split(", ")) for name in self.optionals)]
        if len(choices) == 1:
            return choices[0]
        fitting = [one for one in choices if all(_fits(given[p.name], p) for p in one[0] if p.direction and given.get(p.name) is not None)]
        if any(one[0] != fitting[0][0] for one in fitting):
            raise TypeError(f"{self.name}: the arguments fit several types or constants; pass arrays for the outputs, too")
        return (fitting or choices)[0]  # if none fits, the call says what does not

    def _check_arrays(self, given: Mapping[str, Any]) -> None:
        """Raises TypeError if an argument for a tensor is not an array, or ArgumentError if it has another number of dimensions or an
        element type that the kernel does not take."""
        for place, parameter in enumerate(self.parameters):
            if not parameter.direction or parameter.name not in given:
                continue
            if given[parameter.name] is None and parameter.name in self.optionals:
                continue
            name, value = parameter.name, given[parameter.name]
            found = element(value, name)
            if not found:
                wanted = self._element_beside(place, given)
                kind = arrays.NAMES[wanted] if wanted not in arrays.NARROW else "float32"
                advice = f"; pass numpy.array({name}, '{kind}')" if isinstance(value, (list, tuple, int, float)) else ""
                raise TypeError(f"'{name}' must be an array, such as one of NumPy or PyTorch, not {type(value).__name__}{advice}")
            rank = len(arrays.shape_of(value))
            if rank != len(parameter.sizes) and not parameter.packs:
                raise ArgumentError(f"'{name}' has {rank} dimension{'s' if rank != 1 else ''}, but its shape must be {parameter.shape or '[]'}")
            taken = dict.fromkeys(signature[place].element for signature, _ in self.choices)
            if found not in taken:
                raise ArgumentError(f"'{name}' has elements of type {found}, but {self.name} takes {' or '.join(taken)}{_conversion(name, *taken)}")
        self._check_together(given)

    def _element_beside(self, place: int, given: Mapping[str, Any]) -> str:
        """Returns the element type that a parameter has for the element types of the other arrays that are given."""
        choices = [signature for signature, _ in self.choices]
        others = {name: element(value, name) for name, value in given.items() if value is not None and name != self.parameters[place].name}
        fitting = (one for one in choices if all(others.get(p.name, "") in ("", p.element) for p in one if p.direction))
        return next(fitting, choices[0])[place].element

    def _check_together(self, given: Mapping[str, Any]) -> None:
        """Raises ArgumentError for an array whose element type the kernel takes, but not together with those of the arrays before it."""
        choices = [signature for signature, _ in self.choices]
        before: tuple[str, str] | None = None
        for place, parameter in enumerate(self.parameters):
            value = given.get(parameter.name)
            if not parameter.direction or value is None:
                continue
            found = element(value, parameter.name)
            fitting = [one for one in choices if one[place].element == found]
            if not fitting and before is not None:
                wanted = dict.fromkeys(one[place].element for one in choices)
                raise ArgumentError(f"'{parameter.name}' has elements of type {found}, but '{before[0]}' of type {before[1]}, for which "
                                    f"{self.name} takes {' or '.join(wanted)}{_conversion(parameter.name, *wanted)}")
            choices = fitting
            before = parameter.name, found


class PlacedKernel:
    """A kernel on a number of cores, and on a queue of its device. All else is as for the kernel."""

    def __init__(self, kernel: Kernel, cores: int = CORES_AUTO, number: int | None = None):
        self.kernel = kernel
        self._cores = cores
        self._number = number

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self._number is None:
            return self.kernel.run(self._cores, args, keywords)
        return self.submit(*args, **keywords).result()

    def submit(self, *args: Any, **keywords: Any) -> PendingCall:
        """Like a call, but returns at once: an object whose `result()` waits. Until then, the arrays must not be used. Keep the object: if
        Python frees it earlier, this waits for the kernel."""
        return self.kernel.enqueue(self._cores, self._number or 0, args, keywords)

    def __getitem__(self, cores: int) -> PlacedKernel:
        return PlacedKernel(self.kernel, cores, self._number)

    def queue(self, number: int) -> PlacedKernel:
        return PlacedKernel(self.kernel, self._cores, number)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "kernel":  # while an object is copied, it has no attributes
            raise AttributeError(name)
        return getattr(self.kernel, name)

    def __repr__(self) -> str:
        cores = "" if self._cores == CORES_AUTO else f" on {self._cores} cores"
        return f"{repr(self.kernel)[:-1]}{cores}{'' if self._number is None else f' on queue {self._number}'}>"


def _kernel_of(package: str, name: str) -> Any:
    return getattr(importlib.import_module(package), name)


def _conversion(name: str, element: str, *others: str) -> str:
    """Returns what to write so that an array gets the only element type that a kernel takes."""
    return "" if others or element in arrays.NARROW else f"; pass {name}.astype('{arrays.NAMES[element]}')"


def written(name: str) -> str:
    """Returns a parameter's name as a call can write it: with `_` at its end if it is a keyword of Python."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _fits(array: Any, parameter: Parameter) -> bool:
    """Whether an array has the element type and the constant sizes of a parameter."""
    sizes = [] if parameter.packs else zip(parameter.sizes, arrays.shape_of(array))
    return element(array, parameter.name) == parameter.element and all(size == given for size, given in sizes if isinstance(size, int))
