"""The kernels of @NAME@.kdl as functions of NumPy, PyTorch or JAX arrays."""

import pathlib

import kernelc

_kernels = kernelc.load(pathlib.Path(__file__).with_name("@NAME@.kdl"))
axpy = _kernels.axpy
