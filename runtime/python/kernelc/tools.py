"""What a kernel can show of itself, by commands of kernelc."""

from __future__ import annotations

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
                value = f"@{file}"
            words += ["--arg", f"{parameter.name}={value!r}" if isinstance(value, float) else f"{parameter.name}={value}"]
        run = kernel.source.run("run", *words)
    text = kernel.source.shown(run.stdout + run.stderr).rstrip()
    if run.returncode != 0:
        raise VerifyError(text)
    return "\n".join(line for line in text.splitlines() if line.startswith("verify:"))


def _output(kernel: Kernel, *words: str) -> str:
    run = kernel.source.run(*words)
    if run.returncode != 0:
        raise Error(kernel.source.shown(run.stderr).rstrip())
    return kernel.source.shown(run.stdout)
