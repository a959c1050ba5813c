"""Runs calls in the reference interpreter, which looks for races and for reads of elements that nothing has written."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import json
import pathlib
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import arrays, compiler, parameters
from ._core import CORES_AUTO, change_interpret_depth
from .errors import ArgumentError, Error, Trap

if TYPE_CHECKING:
    from .module import Kernel
    from .parameters import Parameter

TARGET = "reference?sanitize=races+init"
# What the errors of a run mean for a caller: a check in the kernel failed, or its `requires` does not hold.
_ERRORS: dict[str, type[Error]] = {"E0959": Trap, "E0964": ArgumentError}

_active = contextvars.ContextVar("kernelc.interpret", default=False)


@contextlib.contextmanager
def interpret() -> Iterator[None]:
    """Within `with kernelc.interpret():`, calls of kernels run in the reference interpreter, whatever their device is.

    The interpreter is slow, but finds races, reads of elements that nothing has written, and all that a device finds. Only calls of
    this thread or task are affected.
    """
    token = _active.set(True)
    change_interpret_depth(1)
    try:
        yield
    finally:
        change_interpret_depth(-1)
        _active.reset(token)


def is_active() -> bool:
    return _active.get()


class FinishedCall:
    """The result of a call that has ended."""

    def __init__(self, value: Any):
        self._value = value

    def result(self, timeout: float = -1) -> Any:
        del timeout
        return self._value

    def done(self) -> bool:
        return True


def call(kernel: Kernel, cores: int, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Runs a call in the interpreter, and returns what the call would return."""
    every, result = kernel.complete(args, keywords)
    given = {parameter.name: value for parameter, value in zip(kernel.parameters, every)}
    given.update({word: keywords[word] for word in kernel.rank_words if word in keywords})
    signature = kernel.signature(given)
    kernel.check(cores, every, keywords)
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        words = ["--kernel", kernel.name, "--json", *arguments(signature, given, pathlib.Path(folder))]
        if cores != CORES_AUTO:
            words += ["--core-num", str(cores)]
        outputs = {p.name: pathlib.Path(folder, f"{p.name}.out.npy")
                   for p in signature if p.direction in ("out", "inout") and given[p.name] is not None}
        for name, file in outputs.items():
            words += ["--out", f"{name}=@{file}"]
        _run(kernel, source_for(kernel, given), words, outputs)
        for parameter in signature:
            if parameter.name in outputs:
                arrays.fill(given[parameter.name], parameter.element, outputs[parameter.name], bool(parameter.counted_by))
    return result() if callable(result) else result


def source_for(kernel: Kernel, given: Mapping[str, Any]) -> compiler.Source:
    """Returns the source with the constants that the arguments determine, also those that only outputs determine."""
    _, constants = kernel.choice(given)
    fixed = {one.partition("=")[0]: one for one in constants.split(", ") if one}
    # The arguments say which optional parameters are present, and how many dimensions packs have.
    fixed = {name: one for name, one in fixed.items() if name not in kernel.optionals and not name.startswith(("rank_", "strides_", "broadcast_", "counted_"))}
    others = [word for word in kernel.source.options if not (word.startswith("-D") and word[2:].partition("=")[0] in fixed)]
    return dataclasses.replace(kernel.source, options=(*others, *(f"-D{one}" for one in fixed.values())))


def arguments(signature: list[Parameter], given: Mapping[str, Any], folder: pathlib.Path) -> list[str]:
    """Returns the options of `kernelc run` for the arguments of a call: files for arrays that are read, and sizes that these lack.

    The command line has one dimension for each pack of dimensions, and the word `none` for an optional array that is None.
    """
    words = [f"--arg={p.name}=none" for p in signature if p.direction and p.name in given and given[p.name] is None]
    sizes = parameters.sizes_in(signature, given)
    read = [parameter for parameter in signature if parameter.direction != "out" and given.get(parameter.name) is not None]
    for parameter in read:
        value = given[parameter.name]
        if parameter.direction:
            file = folder / f"{parameter.name}.npy"
            shapes = parameters.whole_shape(parameter, value, sizes), parameters.merged_shape(parameter, value, sizes)
            arrays.save(value, parameter.element, file, *shapes)
            words += ["--arg", f"{parameter.name}=@{file}"]
        else:
            words += ["--arg", f"{parameter.name}={arrays.number(value, parameter.element)}"]
    known = parameters.sizes_in(read, given)
    others = {name: size for name, size in sizes.items() if name not in known and not name.endswith("..")}
    return words + [f"--set={name}={size}" for name, size in others.items()]


def _run(kernel: Kernel, source: compiler.Source, words: list[str], outputs: Mapping[str, pathlib.Path]) -> None:
    """Runs the kernel, prints what it prints, and raises the exception for its error."""
    run = dataclasses.replace(source, target=TARGET).run("run", *words)
    written = [f" -> {file}" for file in outputs.values()]
    printed = json.loads(run.stdout)["output"] if run.stdout.startswith("{") else run.stdout
    for line in printed.splitlines():
        if not any(line.endswith(end) for end in written):
            print(line, file=sys.stdout)
    if run.returncode == 0:
        return
    errors = [one for one in compiler.diagnostics_of(kernel.source, run) if one["severity"] == "error"]
    if not errors:
        raise Error(run.stderr.rstrip() or f"the interpreter ended with code {run.returncode}")
    place = [kernel.source.shown(f"{one['file']}:{one['line']}:{one['column']}: ") if "line" in one else "" for one in errors]
    raise _ERRORS.get(errors[0]["id"], Error)(f"{place[0]}{errors[0]['message']}" + "".join(
        f"\nnote: {note['message']}" for note in errors[0].get("notes", [])))
