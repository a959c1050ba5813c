"""Opens the kernels of a shared object. Nothing here needs the compiler."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from typing import TypeVar

from . import calling
from ._core import after_fork, finish, load

AnyKernel = TypeVar("AnyKernel", bound=calling.Kernel)


def open_kernels(path: str | os.PathLike[str], device: str, documentation: Mapping[str, str],
                 kind: type[AnyKernel] = calling.Kernel) -> dict[str, AnyKernel]:  # type: ignore[assignment]
    """Returns the kernels of a shared object on a device, by name. `documentation` has their doc comments."""
    kernels = load(os.fspath(path), device, kind)
    for kernel in kernels:
        kernel.device = device
        kernel.document(documentation.get(kernel.name, ""))
    return {kernel.name: kernel for kernel in kernels}


os.register_at_fork(after_in_child=after_fork)
atexit.register(finish)
