"""Tensors with elements of 4 bits, which NumPy cannot hold."""

import dataclasses

import ml_dtypes
import numpy as np
import onnx

from library import product

# The names of the types in KDL, and types of NumPy that have all their numbers.
TYPES = {np.dtype(getattr(ml_dtypes, name)): (text, np.dtype(wide)) for name, text, wide in [
    ("int4", "i4", "i1"), ("uint4", "u4", "u1"), ("float4_e2m1fn", "f4e2m1", "f4")]}


@dataclasses.dataclass
class FourBits:
    """Numbers in row-major order, two in each byte, as ONNX stores them and kernels of KDL read them."""

    dtype: np.dtype  # that of ml_dtypes
    shape: tuple
    bytes: np.ndarray

    @property
    def kind(self):
        return TYPES[self.dtype][0]

    @property
    def wide(self):
        return TYPES[self.dtype][1]

    @property
    def size(self):
        return product(self.shape)

    def unpacked(self):
        """Returns the numbers as ONNX's package unpacks them, one in each byte."""
        kind = onnx.helper.np_dtype_to_tensor_dtype(self.dtype)
        return onnx.numpy_helper.to_array(onnx.TensorProto(data_type=kind, dims=self.shape, raw_data=self.bytes.tobytes()))


def read(tensor):
    """Returns a tensor of ONNX with such elements, or None if it has others."""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if dtype not in TYPES:
        return None
    stored = np.frombuffer(tensor.raw_data, "u1") if tensor.HasField("raw_data") else np.array(tensor.int32_data, "u1")
    return FourBits(dtype, tuple(tensor.dims), stored)
