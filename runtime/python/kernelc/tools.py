"""What a kernel can show of itself, by commands of kernelc."""

from __future__ import annotations

import dataclasses
import pathlib
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import interpreter
from .errors import Error, VerifyError

if TYPE_CHECKING:
    from .compiler import Source
    from .module import Kernel


def emitted(kernel: Kernel, kind: str, *words: str) -> str:
    """Returns the only file that `kernelc build --emit KIND` writes."""
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        _output(kernel, kernel.source, "build", "--emit", kind, "-o", folder, *words)
        return "".join(file.read_text(encoding="utf-8", errors="replace") for file in sorted(pathlib.Path(folder).iterdir()))


def explained(kernel: Kernel, *words: str) -> str:
    """Returns what `kernelc explain` prints. It has no options for optimization."""
    defines = tuple(word for word in kernel.source.options if word.startswith("-D"))
    return _output(kernel, dataclasses.replace(kernel.source, options=defines), "explain", "--kernel", kernel.name, *words)


def verify(kernel: Kernel, given: Mapping[str, Any]) -> str:
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        words = ["--kernel", kernel.name, "--verify", *interpreter.arguments(kernel.signature(given), given, pathlib.Path(folder))]
        run = interpreter.source_for(kernel, given).run("run", *words)
    text = kernel.source.shown(run.stdout + run.stderr).rstrip()
    if run.returncode != 0:
        raise VerifyError(text)
    return "\n".join(line for line in text.splitlines() if line.startswith("verify:"))


def _output(kernel: Kernel, source: Source, *words: str) -> str:
    run = source.run(*words)
    if run.returncode != 0:
        raise Error(kernel.source.shown(run.stderr).rstrip())
    return kernel.source.shown(run.stdout)
