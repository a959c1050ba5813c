"""Calls kernels of stdlib/ with arrays of any rank."""

import functools
import pathlib

import kernelc
import ml_dtypes
import numpy as np

STDLIB = pathlib.Path(__file__).resolve().parents[2] / "stdlib"
TYPES = {np.dtype(name): text for name, text in [
    ("bool", "bool"), ("i1", "i8"), ("i2", "i16"), ("i4", "i32"), ("i8", "i64"), ("u1", "u8"), ("u2", "u16"), ("u4", "u32"), ("u8", "u64"),
    ("f2", "f16"), ("f4", "f32"), ("f8", "f64"), (ml_dtypes.bfloat16, "bf16"), (ml_dtypes.float8_e4m3fn, "f8e4m3"), (ml_dtypes.float8_e5m2, "f8e5m2"),
    (ml_dtypes.float8_e8m0fnu, "f8e8m0")]}


class Missing(Exception):
    """The library cannot run a case, for this reason."""


def kind(array):
    """Returns the element type of an array in KDL."""
    if array.dtype not in TYPES:
        raise Missing(f"elements of type {array.dtype}")
    return TYPES[array.dtype]


@functools.cache
def compiled(file, name, device, defines):
    try:
        module = kernelc.compile(STDLIB / f"{file}.kdl", kernel=name, device=device, defines=dict(defines))
    except kernelc.CompileError as error:
        if any(one.get("id") in ("E0538", "E0719") for one in error.diagnostics):  # a type that the kernel does not have
            raise Missing(f"{file}.{name} for {dict(defines)}") from None
        raise
    return getattr(module, name)


class Library:
    """The kernels of the library on a device: library("reduce", "sum_axis", "T", F="abs")(x, y)."""

    def __init__(self, device):
        self.device = device

    def __call__(self, file, name, **defines):
        return compiled(file, name, self.device, tuple(sorted(defines.items())))


def around(x, axes):
    """Returns x with these axes merged to a single one, and its number. Axes that are not adjacent are moved to the end."""
    if list(axes) != list(range(axes[0], axes[-1] + 1)) if axes else True:
        others = [i for i in range(x.ndim) if i not in axes]
        x, axes = x.transpose(others + list(axes)), range(len(others), x.ndim)
    first, last = (axes[0], axes[-1] + 1) if axes else (x.ndim, x.ndim)
    return x.reshape(*x.shape[:first], product(x.shape[first:last]), *x.shape[last:]), first


def volume(x):
    """Returns images of one to three dimensions as images of three."""
    return x.reshape(*x.shape[:2], *[1] * (5 - x.ndim), *x.shape[2:])


def product(sizes):
    return int(np.prod(list(sizes), dtype=np.int64))
