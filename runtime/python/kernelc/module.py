"""Compiled kernels as Python functions."""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import pathlib
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from . import arrays, compiler, interpreter, tools, tuning
from ._core import Kernel as CoreKernel
from ._core import element, load
from .errors import ArgumentError, Error


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

    #: What the kernel was compiled from.
    source: compiler.Source
    #: Where it runs.
    device: str

    def __getitem__(self, cores: int) -> Callable[..., Any]:
        """Returns a function that calls the kernel on this number of cores: `kernel[4](x, y)`."""
        return lambda *args, **keywords: self.run(cores, args, keywords)

    def submit(self, *args: Any, **keywords: Any) -> Any:
        """Like a call, but returns at once: an object whose `result()` waits. Until then, the arrays must not be used."""
        if interpreter.is_active():
            return interpreter.Ended(self(*args, **keywords))
        return super().submit(*args, **keywords)

    def diverted(self, cores: int, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The extension calls this first for each call while any thread is in a block of `interpret`."""
        return interpreter.call(self, cores, args, keywords) if interpreter.is_active() else NotImplemented

    def verify(self, *args: Any, **keywords: Any) -> str:
        """Calls the kernel with these inputs and compares the result with that of the reference interpreter, bit for bit, and with
        the kernel's contract. Returns what `kernelc run --verify` says; raises VerifyError if something differs."""
        return tools.verify(self, self._bind(args, keywords))

    def asm(self) -> str:
        """Returns the assembly of the kernel's file."""
        return tools.emitted(self, "asm")

    def ir(self, after: str | None = None) -> str:
        """Returns the intermediate representation after the pass of this name, or after all passes."""
        return tools.emitted(self, "ir", *([] if after is None else ["--stop-after", after]))

    def explain_tiles(self) -> str:
        """Returns which block sizes the compiler has chosen, and why."""
        return tools.explained(self, "--tiles")

    def perf(self) -> str:
        """Returns what makes the kernel slow on a processor, and what to write instead; the costliest part comes first."""
        return tools.explained(self, "--perf")

    def tune(self, *args: Any, trials: int = 20, seconds: int = 30, **keywords: Any) -> Kernel:
        """Measures the kernel with other tiles, for arrays of these sizes, and returns it with the fastest ones.

        Results do not change: only constants that the source leaves to the compiler (`auto`) are tried, each in a number of trials,
        for at most about the given number of seconds. Later calls for the same kernel continue the search.
        """
        source = tuning.tuned_source(self, self._bind(args, keywords), trials, seconds)
        tuned: Kernel = getattr(Module(source, self.device), self.name)
        return tuned

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(map(_text, self.parameters))})>"

    def complete(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """Returns all arguments of a call in the order of the parameters, and the outputs that the caller has omitted."""
        given = self._bind(args, keywords)
        signature = self.signature(given)
        known = interpreter.sizes_in(signature, given)
        made = []
        for parameter in signature:
            if parameter.name in given:
                continue
            try:
                shape = arrays.sizes_of(parameter.shape, known)
                if any(size < 0 for size in shape):
                    raise ArgumentError(f"{self.name}: the shape {parameter.shape} of '{parameter.name}' would be {shape}; sizes are 0 or more")
            except ZeroDivisionError:
                raise ArgumentError(f"{self.name}: the shape {parameter.shape} of '{parameter.name}' divides by 0") from None
            except KeyError:
                _check_arrays(signature, given)
                raise TypeError(f"{self.name}: the other arguments do not determine the shape {parameter.shape} of '{parameter.name}'; "
                                f"pass an array for it") from None
            given[parameter.name] = arrays.empty(shape, parameter.element, list(given.values()))
            made.append(given[parameter.name])
        result = None if not made else made[0] if len(made) == 1 else tuple(made)
        return tuple(given[parameter.name] for parameter in signature), result

    def _bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """Gives arguments their names. If not all parameters have positional arguments, outputs are left out."""
        parameters = self.parameters
        names = [p.name for p in parameters]
        needed = [p.name for p in parameters if p.direction != "out"]
        places = names if len(args) > len(needed) else needed
        if len(args) > len(names):
            raise TypeError(f"{self.name} has {len(names)} parameters, but is called with {len(args)} arguments")
        given = dict(zip(places, args))
        for name, value in keywords.items():
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
        signatures = [[Parameter(*one) for one in signature] for signature in self.signatures]
        if len(signatures) == 1:
            return signatures[0]
        fitting = [one for one in signatures if all(_fits(given[p.name], p) for p in one if p.direction and p.name in given)]
        if any(one != fitting[0] for one in fitting):
            raise TypeError(f"{self.name}: the arguments fit several types or constants; pass arrays for the outputs, too")
        return (fitting or signatures)[0]  # if none fits, the call says what does not


class Module:
    """The kernels of a file. Each is an attribute with the name of the source: `module.softmax(x)`."""

    def __init__(self, source: compiler.Source, device: str):
        self._kernels: dict[str, Kernel] = {}
        for kernel in load(os.fspath(compiler.build(source)), device, Kernel):
            kernel.source = source
            kernel.device = device
            self._kernels[kernel.name] = kernel

    def __getattr__(self, name: str) -> Kernel:
        kernels: dict[str, Kernel] = self.__dict__.get("_kernels", {})  # empty while an object is copied
        try:
            return kernels[name]
        except KeyError:
            raise AttributeError(f"there is no exported kernel '{name}'; the exported kernels are: {', '.join(kernels)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kernels]

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self._kernels.values())


def compile(source: str | os.PathLike[str], *, device: str = "host", defines: Mapping[str, object] | None = None,
            opt_level: int | None = None, kernel: str | None = None) -> Module:
    """Compiles a file, or a text that contains kernels, and returns its exported kernels.

    device    where the kernels run, such as "host", "host?threads=1" or "opencl"
    defines   values of generic parameters, such as {"BM": 64} or {"T": ["f32", "f64"]}
    opt_level the optimization level, 0 to 3; results do not depend on it
    kernel    the name of the only kernel to compile; if omitted, all exported kernels are compiled

    Raises CompileError if kernelc reports errors. The result is kept on disk for later processes.
    """
    is_text = isinstance(source, str) and ("\n" in source or "{" in source)
    path = pathlib.Path("source.kdl") if is_text else pathlib.Path(source)
    return _build(path, str(source) if is_text else None, device, compiler.options(defines, opt_level, kernel))


def _build(path: pathlib.Path, text: str | None, device: str, options: tuple[str, ...]) -> Module:
    return Module(compiler.Source(path, text, compiler.target_of(device), options), device)


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Makes a kernel of a function whose docstring contains the kernel's source. Takes the keyword arguments of `compile`.

        @kernelc.kernel
        def twice(x, y):
            '''export kernel twice(x: in f32[N], y: out f32[N]) {
                spmd for i in N by 1024 { y[i] = 2.0 * x[i]; }
            }'''

    Messages of the compiler name the lines of the Python file.
    """
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    if not function.__doc__:
        raise Error(f"the docstring of {function.__name__} must contain the source of a kernel")
    path, text = _place(function)
    module = _build(path, text, options.pop("device", "host"),
                    compiler.options(options.pop("defines", None), options.pop("opt_level", None), None))
    if options:
        raise TypeError(f"kernelc.kernel has no option '{next(iter(options))}'")
    made: Kernel = getattr(module, function.__name__)
    return made


def _place(function: Callable[..., Any]) -> tuple[pathlib.Path, str]:
    """Returns the file name and the text to compile for a docstring, so that lines are those of the Python file."""
    doc = function.__doc__ or ""
    try:
        lines, first = inspect.getsourcelines(function)
        file = pathlib.Path(inspect.getsourcefile(function) or "source").name
    except (OSError, TypeError):
        return pathlib.Path(f"{function.__name__}.kdl"), doc
    for row, column, text in _strings(lines):
        if inspect.cleandoc(text) == inspect.cleandoc(doc):  # newer versions of Python remove the indentation of `doc`
            return pathlib.Path(f"{file}.kdl"), "\n" * (first + row - 2) + " " * column + text
    return pathlib.Path(f"{file}.kdl"), doc


def _strings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yields the line, column and text of the strings in Python code that have the same lines there as in the code."""
    with contextlib.suppress(tokenize.TokenError, IndentationError):
        for token in tokenize.generate_tokens(iter(lines).__next__):
            quote = re.match(r"""[ruRU]*("{3}|'{3}|"|')""", token.string) if token.type == tokenize.STRING else None
            text = ast.literal_eval(token.string) if quote else ""
            if quote and isinstance(text, str) and text.count("\n") == token.string.count("\n"):
                yield token.start[0], token.start[1] + quote.end(), text


def _fits(array: Any, parameter: Parameter) -> bool:
    """Whether an array has the element type and the constant sizes of a parameter."""
    sizes = zip(parameter.sizes, arrays.shape_of(array))
    return element(array) == parameter.element and all(size == given for size, given in sizes if isinstance(size, int))


def _check_arrays(signature: list[Parameter], given: Mapping[str, Any]) -> None:
    """Raises TypeError if an argument for a tensor is not an array."""
    for parameter in signature:
        if parameter.direction and parameter.name in given and not element(given[parameter.name]):
            raise TypeError(f"'{parameter.name}' must be an array, such as one of NumPy or PyTorch, not "
                            f"{type(given[parameter.name]).__name__}")


def _text(parameter: Parameter) -> str:
    words = " ".join(word for word in (parameter.direction, parameter.element + parameter.shape) if word)
    return f"{parameter.name}: {words}"
