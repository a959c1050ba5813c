"""Compiled kernels as Python functions."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import os
import pathlib
import re
import sys
import tokenize
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import cache, calling, compiler, interpreter, tools, tuning
from ._core import CORES_AUTO
from .calling import Parameter as Parameter
from .errors import Error
from .library import open_kernels
from .shown import Shown


_MOST_ATTEMPTS = 5


class Kernel(calling.Kernel):
    """A compiled kernel, which also tells what the compiler knows about it."""

    #: What the kernel was compiled from.
    source: compiler.Source

    def __reduce__(self) -> tuple[Any, ...]:
        return _named_kernel, (*_recipe(self.source, self.device), self.name)

    def submit(self, *args: Any, **keywords: Any) -> calling.PendingCall:
        """Like a call, but returns at once: an object whose `result()` waits. Until then, the arrays must not be used. Keep the object: if
        Python frees it earlier, this waits for the kernel."""
        if interpreter.is_active():
            return interpreter.FinishedCall(self(*args, **keywords))
        return super().submit(*args, **keywords)

    def enqueue(self, cores: int, queue: int, args: tuple[Any, ...], keywords: dict[str, Any], /) -> calling.PendingCall:
        """Submits a call on a number of cores to a queue of the device. See `queue`."""
        if interpreter.is_active():
            return interpreter.FinishedCall(interpreter.call(self, cores, args, keywords))
        return super().enqueue(cores, queue, args, keywords)

    def call_in_interpreter(self, cores: int, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The extension calls this first for each call while any thread is in a block of `interpret`."""
        return interpreter.call(self, cores, args, keywords) if interpreter.is_active() else NotImplemented

    def verify(self, *args: Any, **keywords: Any) -> str:
        """Calls the kernel with these inputs and compares the result with that of the reference interpreter, bit for bit, and with
        the kernel's contract. Outputs are not written; if they are given, only their sizes and types are checked. Returns what
        `kernelc run --verify` says; raises VerifyError if something differs."""
        given = self.bind(args, keywords)
        self._check_arrays(given)
        names = [parameter.name for parameter in self.parameters]
        if all(name in given for name in names):
            self.check(CORES_AUTO, tuple(given[name] for name in names), keywords)
        return tools.verify(self, given)

    def asm(self) -> str:
        """Returns the assembly of the kernel."""
        return tools.emitted(self, "asm", "--kernel", self.name)

    def ir(self, after: str | None = None) -> str:
        """Returns the intermediate representation after the pass of this name, or after all passes."""
        return tools.emitted(self, "ir", "--kernel", self.name, *([] if after is None else ["--stop-after", after]))

    def explain_tiles(self) -> str:
        """Returns which block sizes the compiler has chosen, and why."""
        return tools.explained(self.source, "--kernel", self.name, "--tiles")

    def perf(self) -> Shown:
        """Returns what makes the kernel slow on a processor, and what to write instead; the costliest part comes first."""
        return tools.drawn(self.source, "--kernel", self.name, "--perf")

    def roofline(self, *args: Any, trials: int = 20, seconds: int = 30, **keywords: Any) -> Shown:
        """Measures the kernel with these inputs, on one thread and on all. Returns a table, and a picture with the limits of the
        machine. Each measurement consists of a number of trials, and lasts for about the given number of seconds at most."""
        return tools.roofline(self, self.bind(args, keywords), trials, seconds)

    def tune(self, *args: Any, trials: int = 20, seconds: int = 30, file: str | os.PathLike[str] | None = None, **keywords: Any) -> Kernel:
        """Measures the kernel with other schedules, for arrays of these sizes, and returns it with the fastest one.

        Results do not change: only constants that the source leaves to the compiler (`auto`) and options of its passes are varied.
        Each schedule is measured in a number of trials, for at most about the given number of seconds. What is found is written to the file, for `compile(tuned=)`; without a file, it
        is kept in the cache. Later calls for the same kernel continue the search.
        """
        source = tuning.tuned_source(self, self.bind(args, keywords), trials, seconds, file)
        return Module(source, self.device)[self.name]


class Module:
    """The kernels of a file. Each is an attribute with the name of the source: `module.softmax(x)`. `module["softmax"]` is the same,
    also for names that attributes of modules have."""

    def __init__(self, source: compiler.Source, device: str):
        built, kernels = _open(source, device)
        source.check_files(built.files)
        source = dataclasses.replace(source, files=built.files)
        self._source = source
        self._device = device
        self._kernels = kernels
        for kernel in self._kernels.values():
            kernel.source = source

    def __getattr__(self, name: str) -> Kernel:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(*error.args) from None

    def __getitem__(self, name: str) -> Kernel:
        kernels: dict[str, Kernel] = self.__dict__.get("_kernels", {})  # empty while an object is copied
        if name in kernels:
            return kernels[name]
        known = f"; the kernels are: {', '.join(kernels)}" if kernels else ""
        raise KeyError(f"there is no kernel '{name}'{known}; Python calls kernels, not programs")

    def __reduce__(self) -> tuple[Any, ...]:
        return _build, _recipe(self._source, self._device)

    def __copy__(self) -> Module:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Module:
        return self

    def __repr__(self) -> str:
        return f"<kernels of {self._source.path}: {', '.join(self._kernels) or 'none'}>"

    def placement(self) -> Shown:
        """Returns where the tensors of the file's programs live, and when and why they move. The picture has a column for each device."""
        return tools.drawn(self._source, "--placement")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kernels]

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self._kernels.values())


def _open(source: compiler.Source, device: str) -> tuple[cache.Entry, dict[str, Kernel]]:
    """Compiles a source and opens its kernels. Compiles again if another process has meanwhile deleted the file from the cache."""
    for _ in range(_MOST_ATTEMPTS):
        built = compiler.build(source)
        try:
            return built, open_kernels(built.shared, device, built.documentation, Kernel)
        except ImportError:
            if built.shared.exists():
                raise
    raise Error(f"{built.shared} was deleted each time after it was compiled")


def compile(source: str | os.PathLike[str], *, device: str = "host", defines: Mapping[str, object] | None = None,
            opt_level: int | None = None, kernel: str | None = None, tuned: str | os.PathLike[str] | None = None) -> Module:
    """Compiles a file, a file of the library such as "std.nn", or a text that contains kernels, and returns its kernels.

    device    where the kernels run, such as "host", "host?threads=1" or "opencl"
    defines   values of generic parameters, such as {"BM": 64} or {"T": ["f32", "f64"]}
    opt_level the optimization level, 0 to 3; results do not depend on it
    kernel    the name of the only kernel to compile; if omitted, all kernels are compiled
    tuned     a file that `tune` or `kernelc tune` has written: uses the schedules that it contains

    Raises CompileError if kernelc reports errors. The result is kept on disk for later processes.
    """
    if source == "":
        raise ValueError("the source is empty; pass the path of a file, a name such as 'std.nn', or a text that contains kernels")
    is_text = isinstance(source, str) and ("\n" in source or "{" in source)
    path = pathlib.Path("source.kdl") if is_text else pathlib.Path(source)
    words = compiler.options(defines, opt_level, kernel)
    return _build(path, str(source) if is_text else None, device, words if tuned is None else (*words, tuning.option(tuned)))


def load(path: str | os.PathLike[str], **options: Any) -> Module:
    """Compiles a file and returns its kernels. Takes the keyword arguments of `compile`, which also accepts texts."""
    return compile(pathlib.Path(path), **options)


def _build(path: pathlib.Path, text: str | None, device: str, options: tuple[str, ...], files: Mapping[str, str] | None = None) -> Module:
    return Module(compiler.Source(path, text, compiler.target_of(device), options, files=files or {}), device)


def _recipe(source: compiler.Source, device: str) -> tuple[pathlib.Path, str | None, str, tuple[str, ...], Mapping[str, str]]:
    """Returns the arguments of `_build` that pickled kernels contain: they are compiled again where they are loaded, from files that must
    still be the same."""
    return source.file or source.path, source.text, device, source.options, source.files


def _named_kernel(path: pathlib.Path, text: str | None, device: str, options: tuple[str, ...], files: Mapping[str, str], name: str) -> Kernel:
    return _build(path, text, device, options, files)[name]


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Makes a kernel of a function whose docstring contains the kernel's source. Accepts `device`, `defines` and `opt_level`, as `compile`
    does.

        @kernelc.kernel
        def twice(x, y):
            '''export kernel twice(x: in f32[N], y: out f32[N]) {
                spmd for i in N by 1024 { y[i] = 2.0 * x[i]; }
            }'''

    Messages of the compiler name the lines of the Python file.
    """
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    if not callable(function):
        raise TypeError(f"options of kernelc.kernel have names, not {function!r}: write @kernelc.kernel(device='cuda')")
    if not function.__doc__:
        raise Error(f"the docstring of {function.__name__} must contain the source of a kernel" +
                    "; with -OO, Python removes docstrings" * (sys.flags.optimize > 1))
    path, text = _place(function)
    module = _build(path, text, options.pop("device", "host"),
                    compiler.options(options.pop("defines", None), options.pop("opt_level", None), None))
    if options:
        raise TypeError(f"kernelc.kernel has no option '{next(iter(options))}'")
    name = function.__name__
    try:
        made = module[name]
    except KeyError as error:
        raise Error(f"the docstring of {name} must contain a kernel with the name of the function, export kernel {name}(…): {error.args[0]}") from None
    _check_parameters(function, made)
    return made


def _check_parameters(function: Callable[..., Any], made: Kernel) -> None:
    """Raises TypeError if the function declares other parameters than the kernel."""
    parameters = inspect.signature(function).parameters.values()
    names = [calling.written(one.name) for one in made.parameters]
    is_open = any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters)
    if not is_open and {one.name for one in parameters} != set(names):
        raise TypeError(f"the parameters of the function {function.__name__} must be those of the kernel: {', '.join(names)}")


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
