"""Compiles and calls kernels that are written in KDL.

    import kernelc, numpy

    module = kernelc.compile("softmax.kdl")
    y = module.softmax(numpy.random.rand(128, 1000).astype("f4"))
"""

import atexit
import os

from ._core import after_fork, finish
from .compiler import CompileWarning
from .errors import ArgumentError, CompileError, DeviceError, Error, Trap, VerifyError
from .module import Kernel, Module, Parameter, compile, kernel

__all__ = ["ArgumentError", "CompileError", "CompileWarning", "DeviceError", "Error", "Kernel", "Module", "Parameter", "Trap",
           "VerifyError", "compile", "kernel"]

os.register_at_fork(after_in_child=after_fork)
atexit.register(finish)
