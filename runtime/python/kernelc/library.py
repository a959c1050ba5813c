"""Opens the kernels of a package that `kernelc build --emit python` has written. Nothing here needs the compiler."""

from __future__ import annotations

import atexit
import os

from ._core import after_fork, finish, load
from .calling import Kernel


def open_kernels(path: str | os.PathLike[str], device: str) -> dict[str, Kernel]:
    """Returns the kernels of a shared object on a device, by name."""
    kernels = load(os.fspath(path), device, Kernel)
    for kernel in kernels:
        kernel.device = device
    return {kernel.name: kernel for kernel in kernels}


os.register_at_fork(after_in_child=after_fork)
atexit.register(finish)
