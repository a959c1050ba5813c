"""What a kernel can show of itself, by commands of kernelc."""

from __future__ import annotations

import dataclasses
import pathlib
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import interpreter
from .errors import Error, VerifyError
from .shown import Shown

if TYPE_CHECKING:
    from .compiler import Source
    from .module import Kernel


def emitted(kernel: Kernel, kind: str, *words: str) -> str:
    """Returns the only file that `kernelc build --emit KIND` writes."""
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        _output(kernel.source, "build", "--emit", kind, "-o", folder, *words)
        return "".join(file.read_text(encoding="utf-8", errors="replace") for file in sorted(pathlib.Path(folder).iterdir()))


def explained(source: Source, *words: str) -> str:
    """Returns what `kernelc explain` prints. It has no options for optimization."""
    defines = tuple(word for word in source.options if word.startswith("-D"))
    return _output(dataclasses.replace(source, options=defines), "explain", *words)


def drawn(source: Source, *words: str) -> Shown:
    """Returns what `kernelc explain` prints, with the page that it writes."""
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        page = pathlib.Path(folder, "page.html")
        return Shown.of(explained(source, *words, "--html", str(page)), page)


def roofline(kernel: Kernel, given: Mapping[str, Any], trials: int, seconds: int) -> Shown:
    """Returns what `kernelc bench` prints, with its picture."""
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        picture = pathlib.Path(folder, "roofline.svg")
        words = ["--kernel", kernel.name, *interpreter.arguments(kernel.signature(given), given, pathlib.Path(folder))]
        source = interpreter.source_for(kernel, given)
        text = _output(source, "bench", *words, f"--trials={trials}", f"--seconds={seconds}", "--plot", str(picture))
        return Shown.of(text, picture)


def verify(kernel: Kernel, given: Mapping[str, Any]) -> str:
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        words = ["--kernel", kernel.name, "--verify", *interpreter.arguments(kernel.signature(given), given, pathlib.Path(folder))]
        run = interpreter.source_for(kernel, given).run("run", *words)
    text = kernel.source.shown(run.stdout + run.stderr).rstrip()
    if run.returncode != 0:
        raise VerifyError(text)
    return "\n".join(line for line in text.splitlines() if line.startswith("verify:"))


def _output(source: Source, *words: str) -> str:
    run = source.run(*words)
    if run.returncode != 0:
        raise Error(source.shown(run.stderr).rstrip())
    return source.shown(run.stdout)
