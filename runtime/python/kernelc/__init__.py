"""Compiles and calls kernels that are written in KDL.

    import kernelc, numpy

    module = kernelc.compile("softmax.kdl")
    y = module.softmax(numpy.random.rand(128, 1000).astype("f4"))
"""

from typing import Any

from ._core import version as __version__
from .compiler import CompileWarning
from .errors import ArgumentError, CompileError, DeviceError, Error, Trap, VerifyError
from .interpreter import interpret
from .module import Kernel, Module, Parameter, compile, kernel, load
from .shown import Shown

__all__ = ["__version__", "ArgumentError", "CompileError", "CompileWarning", "DeviceError", "Error", "Kernel", "Module", "Parameter", "Shown",
           "Trap", "VerifyError", "compile", "interpret", "kernel", "load"]


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(ipython: Any) -> None:
    """Defines the cell magic `%%kernelc`, for `%load_ext kernelc`."""
    from . import magic
    magic.load(ipython)

