"""What a kernel can show of itself, by commands of kernelc."""

from __future__ import annotations

import operator
import pathlib
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import Error, VerifyError

if TYPE_CHECKING:
    from .module import Kernel


def emitted(kernel: Kernel, kind: str, *words: str) -> str:
    """Returns the only file that `kernelc build --emit KIND` writes."""
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        _output(kernel, "build", "--emit", kind, "-o", folder, *words)
        return "".join(file.read_text() for file in sorted(pathlib.Path(folder).iterdir()))


def explained(kernel: Kernel, *words: str) -> str:
    return _output(kernel, "explain", "--kernel", kernel.name, *words)


def verify(kernel: Kernel, given: Mapping[str, Any]) -> str:
    import numpy
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        words = ["--kernel", kernel.name, "--verify"]
        for parameter in kernel.parameters:
            if parameter.name not in given or parameter.direction == "out":
                continue
            value = given[parameter.name]
            if parameter.direction:
                file = pathlib.Path(folder) / f"{parameter.name}.npy"
                numpy.save(file, numpy.ascontiguousarray(value))
                text = f"@{file}"
            else:
                text = _number(value, parameter.element)
            words += ["--arg", f"{parameter.name}={text}"]
        run = kernel.source.run("run", *words)
    text = kernel.source.shown(run.stdout + run.stderr).rstrip()
    if run.returncode != 0:
        raise VerifyError(text)
    return "\n".join(line for line in text.splitlines() if line.startswith("verify:"))


def _number(value: Any, element: str) -> str:
    """Returns the number that a call would pass for a scalar parameter."""
    if element == "bool":
        return "true" if value else "false"
    return repr(float(value)) if element.startswith(("f", "bf")) else str(operator.index(value))


def _output(kernel: Kernel, *words: str) -> str:
    run = kernel.source.run(*words)
    if run.returncode != 0:
        raise Error(kernel.source.shown(run.stderr).rstrip())
    return kernel.source.shown(run.stdout)
