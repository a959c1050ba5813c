"""Rows for products of matrices and quantization."""

import numpy as np
import onnx

from library import kind, product
from operators_narrow import INTEGERS, converted, is_narrow, narrowed, widened


def matmul(c):
    return product_of(c, c.x[0], c.x[1])


def product_of(c, a, b):
    """Returns the product of two arrays by the rules of NumPy's matmul."""
    if a.ndim == 1:
        return np.squeeze(product_of(c, a[None], b), -2 if b.ndim > 1 else -1)
    if b.ndim == 1:
        return product_of(c, a, b[:, None])[..., 0]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    y = np.empty((*batch, a.shape[-2], b.shape[-1]), a.dtype)
    flat = [np.ascontiguousarray(np.broadcast_to(t, (*batch, *t.shape[-2:]))).reshape(-1, *t.shape[-2:]) for t in (a, b)]
    c.library("linalg", "batched_matmul", T=kind(a))(*flat, y.reshape(-1, *y.shape[-2:]))
    return y


def gemm(c):
    a, b = c.x[:2]
    ta, tb = c.get("transA", 0), c.get("transB", 0)
    shape = (a.shape[1] if ta else a.shape[0], b.shape[0] if tb else b.shape[1])
    y = np.empty(shape, a.dtype)
    extra = np.ascontiguousarray(np.broadcast_to(c.input(2, np.zeros((1, 1), a.dtype)), shape))
    kernel = {(0, 0): "gemm", (0, 1): "gemm_nt", (1, 0): "gemm_tn", (1, 1): "gemm_tt"}[ta, tb]
    c.library("linalg", kernel, T=kind(a))(a, b, extra, c.get("alpha", 1.0), c.get("beta", 1.0), y)
    return y


def integer_product(c, a, b, a_zero, b_zero):
    batch, (m, k), n = a.shape[:-2], a.shape[-2:], b.shape[-1]
    zeros = np.zeros(1, a.dtype) if a_zero is None else a_zero.reshape(-1), np.zeros(1, b.dtype) if b_zero is None else b_zero.reshape(-1)
    y = np.empty((*batch, m, n), "i4")
    whole = np.ascontiguousarray(np.broadcast_to(b, (*batch, k, n)))
    for index in np.ndindex(batch):
        c.library("linalg", "integer_matmul", A=kind(a), B=kind(b))(
            a[index], whole[index], np.resize(zeros[0], m), np.resize(zeros[1], n), y[index])
    return y


def quantized_matmul(c):
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = c.x
    y = integer_product(c, a, b, a_zero, b_zero)
    scales = [c.convert(np.asarray(t), np.dtype("f4")) for t in (y_scale, a_scale, b_scale)]
    return quantized(c, c.convert(y, np.dtype("f4")), c.map2("divide", scales[0], c.map2("multiply", *scales[1:])), y_zero, 0)


def blocks(c, x, scale, axis, block):
    """Returns the scales of x as [A, B, C], as the kernels want them, with A * B * C elements like x."""
    if scale.size == 1:
        return np.broadcast_to(scale.reshape(1), x.shape)
    if scale.ndim <= 1:
        return np.broadcast_to(scale.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]), x.shape)
    return np.repeat(scale, block, axis)[tuple(slice(n) for n in x.shape)]


def quantized(c, x, scale, zero, axis, block=0, dtype=None):
    """Returns x / scale + zero in `dtype`, or the type of zero; narrow integers through i16, narrow floats through f32."""
    dtype = dtype or (np.dtype("u1") if zero is None else zero.dtype)
    zero = np.zeros(1, dtype) if zero is None else zero
    scales = blocks(c, x, c.convert(scale, x.dtype), axis, block)
    if is_narrow(dtype) and dtype not in INTEGERS:  # without zero points
        return narrowed(c, c.map2("divide", x, scales), dtype)
    wide = np.dtype("i2") if dtype in INTEGERS else dtype
    zeros = blocks(c, x, converted(c, zero, wide) if wide != dtype else zero, axis, block)
    y = np.empty(x.shape, wide)
    scales, zeros, x = (np.ascontiguousarray(t).reshape(-1) for t in (scales, zeros, x))
    c.library("linalg", "quantize", T=kind(x), Q=kind(y))(x, scales, zeros, y.reshape(-1))
    return y if wide == dtype else narrowed(c, y, dtype)


def quantize(c):
    c.only("saturate", 1)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(c.get("output_dtype")) if c.get("output_dtype") else None
    return quantized(c, c.x[0], c.x[1], c.input(2), c.get("axis", 1), c.get("block_size", 0), dtype)


def dynamically_quantized(c):
    """x in u8, with a scale and a zero point for its least and greatest elements."""
    x = c.x[0]
    least, most = (c.reduce(kernel, x, range(x.ndim), keep=False).reshape(1) for kernel in ("min_axis", "max_axis"))
    scale, zero = np.empty(1, "f4"), np.empty(1, "u1")
    c.library("linalg", "quantization_of_range")(least, most, scale, zero)
    y = quantized(c, c.map2("divide", x, scale), np.ones(1, "f4"), zero, 0)  # ONNX rounds the quotient to f32 first
    return [y, scale.reshape([]), zero.reshape([])]


def dequantize(c):
    x, scale = c.x[:2]
    axis, block = c.get("axis", 1), c.get("block_size", 0)
    zero = c.input(2)
    if is_narrow(x.dtype):
        x, zero = widened(c, x), None if zero is None else widened(c, zero)
    zero = np.zeros(1, x.dtype) if zero is None else zero
    if x.dtype == np.float32:  # without zero points
        return c.convert(c.map2("multiply", x, blocks(c, x, c.convert(scale, x.dtype), axis, block)), scale.dtype)
    y = np.empty(x.shape, scale.dtype)
    scales, zeros = (np.ascontiguousarray(blocks(c, x, t, axis, block)).reshape(-1) for t in (scale, zero))
    c.library("linalg", "dequantize", T=kind(y), Q=kind(x))(np.ascontiguousarray(x).reshape(-1), scales, zeros, y.reshape(-1))
    return y


def triangle(c):
    x = c.x[0]
    y = np.empty_like(x)
    matrices = [t.reshape(product(x.shape[:-2]), *x.shape[-2:]) for t in (x, y)]
    c.library("linalg", "triangle", T=kind(x))(matrices[0], bool(c.get("upper", 1)), int(c.input(1, 0)), matrices[1])
    return y


ROWS = {
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamically_quantized,
    "Gemm": gemm,
    "MatMul": matmul,
    "MatMulInteger": lambda c: integer_product(c, c.x[0], c.x[1], c.input(2), c.input(3)),
    "QLinearMatMul": quantized_matmul,
    "QuantizeLinear": quantize,
    "Trilu": triangle,
}
