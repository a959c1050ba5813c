"""Conversions of types that the library keeps as codes in bytes: integers of 2 and 4 bits, and floats of up to 8 bits.

Arrays of these types have one element in each byte, so bytes with several elements were unpacked when a case was read. What the codes mean
is computed by stdlib/narrow.kdl."""

import ml_dtypes
import numpy as np

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
    return dtype in INTEGERS or dtype == EXPONENTS or (dtype in FLOATS and dtype not in TYPES)


def decoded(c, x, dtype=None):
    """Returns an array of a narrow type in a wider one: `dtype` if it has the same kind, else i8, u8 or f32."""
    flat = np.ascontiguousarray(x).reshape(-1).view("u1")
    if x.dtype in INTEGERS:
        bits, signed = INTEGERS[x.dtype]
        y = np.empty(x.shape, "i1" if signed else "u1")
        c.library("narrow", "decode_integer", BITS=bits, T=kind(y))(flat, signed, y.reshape(-1))
        return y
    y = np.empty(x.shape, dtype if dtype in (np.dtype("f2"), np.dtype(ml_dtypes.bfloat16)) else "f4")
    if x.dtype == EXPONENTS:
        c.library("narrow", "decode_exponent", T=kind(y))(flat, y.reshape(-1))
        return y
    defines, _, infinite, nan, unsigned_zero = FLOATS[x.dtype]
    names = {name: value for name, value in defines.items() if name != "TOP"}
    c.library("narrow", "decode", T=kind(y), **names)(flat, infinite, 255 if nan == 8 else nan, unsigned_zero, y.reshape(-1))
    return y


def encoded(c, x, dtype, saturates=True, up=True):
    """Returns an array as one of a narrow type."""
    flat, codes = np.ascontiguousarray(x).reshape(-1), np.empty(x.size, "u1")
    if dtype in INTEGERS:
        bits, signed = INTEGERS[dtype]
        c.library("narrow", "encode_integer", BITS=bits, T=kind(x))(flat, signed, saturates, codes)
        codes = decoded(c, codes.view(dtype)).view("u1")
    elif dtype == EXPONENTS:
        c.library("narrow", "encode_exponent", T=kind(x))(flat, saturates, up, codes)
    else:
        defines, over, infinite, nan, unsigned_zero = FLOATS[dtype]
        end = defines["TOP"] if saturates else over
        c.library("narrow", "encode", T=kind(x), **defines)(flat, saturates, over, end, nan, unsigned_zero, codes)
    return codes.view(dtype).reshape(x.shape)


def converted(c, x, dtype, saturates=True, up=True):
    """Returns an array of any type as one of any other type."""
    if is_narrow(x.dtype):
        x = decoded(c, x, dtype)
    if is_narrow(dtype) or (not saturates and dtype in FLOATS):
        return encoded(c, x, dtype, saturates, up)
    return c.copy(x) if x.dtype == dtype else c.convert(x, dtype)
