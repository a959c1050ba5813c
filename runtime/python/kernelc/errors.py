"""The exceptions of kernelc."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The base of all exceptions that kernelc defines."""


class CompileError(Error):
    """The source cannot be compiled.

    `str(error)` is what `kernelc build` prints: each message with its line and the place in that line.
    """

    def __init__(self, text: str, diagnostics: list[dict[str, Any]]):
        super().__init__(text)
        #: The messages as dictionaries with the keys `id`, `severity`, `message`, `notes` and `text`,
        #: which is the whole message as it is printed; and, if it has them, `file`, `line`, `column`, `end_line`, `end_column` and `help`.
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[Any, ...]:
        return CompileError, (str(self), self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """Returns what IPython shows: the messages, since these are about the kernel, not about Python code."""
        return coloured(str(self)).split("\n")


class ArgumentError(Error, ValueError, TypeError):
    """The arguments of a call do not fit: element types, ranks, sizes, overlaps, numbers out of range."""


class Trap(Error, RuntimeError):
    """A kernel stopped: an index out of bounds, a failed assertion, a division by zero."""


class DeviceError(Error, RuntimeError):
    """A device does not exist, lacks something, or has failed."""


class VerifyError(Error, AssertionError):
    """A kernel's result differs from that of the interpreter, or its contract does not hold."""


def coloured(text: str) -> str:
    """Returns messages of the compiler in the colours that they have in a terminal."""
    words = {"error": "1;31", "warning": "1;35", "note": "1;36", "help": "1;32"}
    return "\n".join(_coloured_line(line, words) for line in text.split("\n"))


def _coloured_line(line: str, words: dict[str, str]) -> str:
    if line.strip() and not line.strip("^ \t"):
        return _painted(line, "32")
    if line.startswith("  "):  # a line of the source
        return line
    before, word, rest = min((line.partition(f"{word}: ") for word in words), key=lambda parts: len(parts[0]))
    return f"{before}{_painted(word[:-2], words[word[:-2]])}: {rest}" if word else line


def _painted(text: str, code: str) -> str:
    return f"\033[{code}m{text}\033[0m"


# The values of kdl_code in kdl/error.h.
_TYPES: dict[int, type[Exception]] = {1: ArgumentError, 3: Trap, 4: MemoryError, 7: TimeoutError}


def of_runtime(code: int, message: str) -> Exception:
    """Returns the exception for an error of the runtime."""
    return _TYPES.get(code, DeviceError)(message)
