"""Conversions from and to narrow types. Kernels read e8m0 and elements of 4 bits as such. Integers of 2 bits and the floats of 8 bits
without a type in KDL are codes for them, one in each byte; stdlib/narrow.kdl computes what the codes mean."""

import ml_dtypes
import numpy as np

from four_bits import TYPES as FOUR_BITS
from four_bits import FourBits
from library import TYPES, kind

INTEGERS = {np.dtype(getattr(ml_dtypes, name)): (bits, name.startswith("i")) for name, bits in [("int2", 2), ("int4", 4), ("uint2", 2), ("uint4", 4)]}
EXPONENTS = np.dtype(ml_dtypes.float8_e8m0fnu)
# Parameters of the format; codes of numbers that are too large, of infinity and of NaN; whether -0 is NaN. e2m1 has no NaN: ONNX makes
# -0 of it.
FLOATS = {np.dtype(getattr(ml_dtypes, name)): row for name, row in {
    "float4_e2m1fn": ({"M": 1, "BIAS": 1, "TOP": 7, "SIGN": 8}, 7, 255, 8, False),
    "float8_e4m3fn": ({"M": 3, "BIAS": 7, "TOP": 126, "SIGN": 128}, 127, 255, 127, False),
    "float8_e4m3fnuz": ({"M": 3, "BIAS": 8, "TOP": 127, "SIGN": 128}, 128, 255, 128, True),
    "float8_e5m2": ({"M": 2, "BIAS": 15, "TOP": 123, "SIGN": 128}, 124, 124, 126, False),
    "float8_e5m2fnuz": ({"M": 2, "BIAS": 16, "TOP": 127, "SIGN": 128}, 128, 255, 128, True)}.items()}


def is_narrow(dtype):
    return dtype in INTEGERS or (dtype in FLOATS and dtype not in TYPES)


def widened(c, x, dtype=None):
    """Returns an array of a narrow type in a wider one: `dtype` for elements of 4 bits, if it is given, else one that has all numbers."""
    if isinstance(x, FourBits):
        y = np.empty(x.shape, dtype or x.wide)
        c.library("narrow", f"widen_{x.kind}", T=kind(y))(x.bytes, y.reshape(-1))
        return y
    codes = np.ascontiguousarray(x).reshape(-1).view("u1")
    if x.dtype in INTEGERS:
        bits, signed = INTEGERS[x.dtype]
        y = np.empty(x.shape, "i1" if signed else "u1")
        c.library("narrow", "decode_integer", BITS=bits, T=kind(y))(codes, signed, y.reshape(-1))
        return y
    defines, _, infinite, nan, unsigned_zero = FLOATS[x.dtype]
    y = np.empty(x.shape, "f4")
    names = {name: value for name, value in defines.items() if name != "TOP"}
    c.library("narrow", "decode", T="f32", **names)(codes, infinite, nan, unsigned_zero, y.reshape(-1))
    return y


def narrowed(c, x, dtype, saturates=True, up=True):
    """Returns an array as one of a narrow type."""
    flat = np.ascontiguousarray(x).reshape(-1)
    if dtype == EXPONENTS:
        y = np.empty(x.shape, dtype)
        c.library("narrow", "round_to_power", T=kind(x))(flat, saturates, up, y.reshape(-1))
        return y
    codes = np.empty(x.size, "u1")
    if dtype in INTEGERS:
        bits, signed = INTEGERS[dtype]
        c.library("narrow", "encode_integer", BITS=bits, T=kind(x))(flat, signed, saturates, codes)
    else:
        defines, over, infinite, nan, unsigned_zero = FLOATS[dtype]
        end = defines["TOP"] if saturates else over
        c.library("narrow", "encode", T=kind(x), **defines)(flat, saturates, over, end, nan, unsigned_zero, codes)
    if dtype in FOUR_BITS:
        packed = np.empty((1, (x.size + 1) // 2), "u1")
        c.library("narrow", "pack")(codes[None], packed)
        return FourBits(dtype, x.shape, packed[0])
    if dtype in INTEGERS:  # ml_dtypes wants the sign in all bits of a byte
        codes = widened(c, codes.view(dtype)).view("u1")
    return codes.view(dtype).reshape(x.shape)


def converted(c, x, dtype, saturates=True, up=True):
    """Returns an array of any type as one of any other type."""
    if is_narrow(x.dtype):
        x = widened(c, x, None if is_narrow(dtype) else dtype)
    if is_narrow(dtype) or dtype == EXPONENTS or (not saturates and dtype in FLOATS):
        return narrowed(c, x, dtype, saturates, up)
    return c.copy(x) if x.dtype == dtype else c.convert(x, dtype)
