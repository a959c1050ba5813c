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
        #: The messages as dictionaries with the keys `id`, `severity`, `message`, `line`, `column`, `help` and `notes`.
        self.diagnostics = diagnostics


class ArgumentError(Error, ValueError, TypeError):
    """The arguments of a call do not fit: element types, ranks, sizes, overlaps, numbers out of range."""


class Trap(Error, RuntimeError):
    """A kernel stopped: an index out of bounds, a failed assertion, a division by zero."""


class DeviceError(Error, RuntimeError):
    """A device does not exist, lacks something, or has failed."""


class VerifyError(Error, AssertionError):
    """A kernel's result differs from that of the interpreter, or its contract does not hold."""


# The values of kdl_code in kdl/error.h.
_TYPES: dict[int, type[Exception]] = {1: ArgumentError, 3: Trap, 4: MemoryError, 7: TimeoutError}


def of_runtime(code: int, message: str) -> Exception:
    """Returns the exception for an error of the runtime."""
    return _TYPES.get(code, DeviceError)(message)
