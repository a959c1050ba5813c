"""Rows for operators that move, select, make or resample elements."""

import math

import numpy as np
import onnx

from library import kind, product


def along(c, kernel, x, index, axis, y):
    """Calls a kernel of index.kdl whose arguments are [A.., n, B..] with the same A and B."""
    x, index, y = (np.ascontiguousarray(one) for one in (x, index, y))
    c.library("index", kernel, T=kind(x), I=kind(index))(x, index, y, rank_A=axis % x.ndim)
    return y


def gather_elements(c):
    x, index, axis = c.x[0], c.x[1], c.get("axis", 0)
    part = tuple(slice(None if i == axis % x.ndim else n) for i, n in enumerate(index.shape))
    return along(c, "gather_elements", x[part], index, axis, np.empty(index.shape, x.dtype))


SCATTERS = {"none": "scatter_elements", "add": "scatter_add", "mul": "scatter_multiply", "max": "scatter_max", "min": "scatter_min"}


def scatter_elements(c):
    x, index, updates = c.x
    axis, how = c.get("axis", 0), c.get("reduction", "none")
    y = c.copy(x)
    part = tuple(slice(None if i == axis % x.ndim else n) for i, n in enumerate(index.shape))
    y[part] = along(c, SCATTERS[how], updates, index, axis, y[part])
    return y


def places(index, shape):
    """Returns the flat numbers of the elements that rows of indices name."""
    strides = np.cumprod([1, *shape[::-1]])[::-1][1:]
    return ((index % np.array(shape)) * strides).sum(-1)


def gather_nd(c):
    x, index, batch = c.x[0], c.x[1], c.get("batch_dims", 0)
    count = index.shape[-1]
    rows = product(x.shape[:batch])
    flat = places(index, x.shape[batch:batch + count]).reshape(rows, -1)
    flat = flat + np.arange(rows)[:, None] * product(x.shape[batch:batch + count])
    rest = x.shape[batch + count:]
    return c.take(x.reshape(-1, product(rest)), flat.reshape(-1), 0).reshape(*index.shape[:-1], *rest)


def scatter_nd(c):
    x, index, updates = c.x
    how, count = c.get("reduction", "none"), index.shape[-1]
    y = c.copy(x)
    rest = product(x.shape[count:])
    rows = np.ascontiguousarray(np.broadcast_to(places(index, x.shape[:count]).reshape(1, -1, 1), (1, index[..., 0].size, rest)))
    c.library("index", SCATTERS[how], T=kind(x), I="i64")(
        updates.reshape(1, -1, rest), rows, y.reshape(1, -1, rest))
    return y


def spread(c, index, depth, axis, on, off):
    """Returns the one-hot tensor of indices, with a new axis."""
    wide = index.ndim + 1
    shape = index.shape[:axis % wide] + (depth,) + index.shape[axis % wide:]
    y = np.empty(shape, np.asarray(on).dtype)
    c.library("index", "one_hot", T=kind(y))(c.convert(index, np.dtype("i8")), on, off, y, rank_A=axis % wide)
    return y


def one_hot(c):
    off, on = c.x[2]
    return spread(c, c.x[0], int(c.x[1].reshape(-1)[0]), c.get("axis", -1), on, off)


def hardmax(c):
    x, axis = c.x[0], c.get("axis", -1)
    index = c.library("reduce", "arg_axis", T=kind(x), F="elementwise.greater")(x, False, rank_A=axis % x.ndim)
    return spread(c, index, x.shape[axis], axis % x.ndim, x.dtype.type(1), x.dtype.type(0))


def top_k(c):
    x, count, axis = c.x[0], int(c.x[1].reshape(-1)[0]) if len(c.x) > 1 else c.get("k"), c.get("axis", -1)
    shape = [count if i == axis % x.ndim else n for i, n in enumerate(x.shape)]
    y, index = np.empty(shape, x.dtype), np.empty(shape, "i8")
    first = "elementwise.greater" if c.get("largest", 1) else "elementwise.less"
    c.library("sort", "top_k", T=kind(x), F=first)(np.ascontiguousarray(x), y, index, rank_A=axis % x.ndim)
    return [y, index]


def padded(c):
    x, mode = c.x[0], c.get("mode", "constant")
    pads = c.input(1, np.array(c.get("pads", []), "i8"))
    axes = [int(a) % x.ndim for a in c.input(3, range(x.ndim))]
    first, last = np.zeros(x.ndim, "i8"), np.zeros(x.ndim, "i8")
    first[axes], last[axes] = np.split(pads.astype("i8"), 2)
    if mode != "constant":
        for axis in axes:
            index = np.pad(np.arange(x.shape[axis]), (first[axis], last[axis]), {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}[mode])
            x = c.take(x, index, axis)
        return x
    y = filled(c, [n + a + b for n, a, b in zip(x.shape, first, last)], np.array(c.input(2, 0), x.dtype))
    inner = tuple(slice(max(a, 0), max(a, 0) + n + min(a, 0) + min(b, 0)) for n, a, b in zip(x.shape, first, last))
    outer = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, a, b in zip(x.shape, first, last))
    c.copy(x[outer], y[inner])
    return y


def filled(c, shape, value):
    return c.copy(np.broadcast_to(value.reshape([]), [int(n) for n in shape]))


def crop(c):
    x, axes = c.x[0], c.get("axes", range(c.x[0].ndim))
    sizes = dict(zip((a % x.ndim for a in axes), (int(n) for n in c.x[1])))
    y = filled(c, [sizes.get(i, n) for i, n in enumerate(x.shape)], np.zeros((), x.dtype))
    inner, outer = [], []
    for n, m in zip(x.shape, y.shape):
        least = min(n, m)
        outer.append(slice((n - least) // 2, (n - least) // 2 + least))
        inner.append(slice((m - least) // 2, (m - least) // 2 + least))
    c.copy(x[tuple(outer)], y[tuple(inner)])
    return y


def ramp(c):
    start, limit, delta = (t.reshape([]) for t in c.x)
    y = np.empty(max(math.ceil((limit - start) / delta), 0), start.dtype)
    c.library("index", "sequence", T=kind(y))(start.item(), delta.item(), y)
    return y


def eye(c):
    dtype = onnx.helper.tensor_dtype_to_np_dtype(c.get("dtype", onnx.helper.np_dtype_to_tensor_dtype(c.x[0].dtype)))
    y = np.empty(c.x[0].shape, dtype)
    c.library("linalg", "diagonal", T=kind(y))(c.get("k", 0), y)
    return y


def nonzero(c):
    x = c.x[0]
    places = c.positions(x) if x.dtype == bool else c.library("index", "nonzero", T=kind(x))(x.reshape(-1))
    return np.stack(np.unravel_index(places, x.shape))


def unique(c):
    x, axis = c.x[0], c.get("axis")
    rows = x.reshape(-1, 1) if axis is None else np.ascontiguousarray(np.moveaxis(x, axis, 0)).reshape(x.shape[axis], -1)
    index, count, inverse = c.library("sort", "unique", T=kind(x))(rows, bool(c.get("sorted", 1)))
    return [c.take(x.reshape(-1) if axis is None else x, index, axis or 0), index, inverse, count]


def max_unpool(c):
    """The elements of x at their places in images of zeros. An output that is larger than these has zeros after them."""
    x, index = c.x[:2]
    strides, pads, kernel = (c.get(name, [default] * (x.ndim - 2)) for name, default in [("strides", 1), ("pads", 0), ("kernel_shape", 1)])
    shape = [*x.shape[:2], *[(n - 1) * s + k - 2 * p for n, s, k, p in zip(x.shape[2:], strides, kernel, pads)]]
    y = filled(c, [product(shape)], np.zeros((), x.dtype))
    c.library("index", "scatter_elements", T=kind(x), I="i64")(x.reshape(1, -1, 1), index.reshape(1, -1, 1), y.reshape(1, -1, 1))
    if c.input(2) is None:
        return y.reshape(shape)
    whole = filled(c, c.x[2], np.zeros((), x.dtype))
    c.copy(y.reshape(shape), whole[tuple(slice(n) for n in shape)])
    return whole


def n_grams(c):
    """How often each n-gram of a pool occurs, weighted, for elements that are integers."""
    x, pool, starts = c.convert(c.x[0], np.dtype("i8")), np.array(c.get("pool_int64s"), "i8"), [*c.get("ngram_counts"), None]
    grams = [(n, pool[first:end].reshape(-1, n)) for n, first, end in zip(range(1, len(starts)), starts, starts[1:])]
    size = np.concatenate([np.full(len(rows), n) for n, rows in grams])
    table = np.concatenate([np.pad(rows, [(0, 0), (0, grams[-1][0] - n)]) for n, rows in grams])
    rows = x.reshape(-1, x.shape[-1])
    count = np.empty((len(rows), len(size)), "f4")
    c.library("index", "count_n_grams")(rows, table, size, c.get("min_gram_length"), c.get("max_gram_length"), c.get("max_skip_count"), count)
    if c.get("mode") != "TF":
        weight = np.array(c.get("weights", np.ones(len(size))), "f4")
        count = c.map2("multiply", c.map2("min", count, np.float32(1)) if c.get("mode") == "IDF" else count, weight)
    places = np.ascontiguousarray(np.broadcast_to(np.array(c.get("ngram_indexes"), "i8")[:, None], (len(rows), len(size), 1)))
    y = filled(c, (len(rows), max(c.get("ngram_indexes")) + 1, 1), np.float32(0))
    c.library("index", "scatter_elements", T="f32", I="i64")(count[:, :, None], places, y)
    return y.reshape(*x.shape[:-1], -1)


def compress(c):
    x, keep, axis = c.x[0], c.x[1], c.get("axis")
    if axis is not None:
        return c.take(x, c.positions(keep), axis)
    return c.library("index", "compress", T=kind(x))(x.reshape(-1)[:len(keep)], keep)


def reverse_sequence(c):
    x, batch, time = c.x[0], c.get("batch_axis", 1), c.get("time_axis", 0)
    y = c.copy(x)
    for number, length in enumerate(c.x[1]):
        at = [slice(None)] * x.ndim
        at[batch], at[time] = slice(number, number + 1), slice(0, int(length))
        c.copy(c.take(x[tuple(at)], np.arange(int(length))[::-1].copy(), time), y[tuple(at)])
    return y


ROWS = {
    "ArrayFeatureExtractor": lambda c: c.take(c.x[0], c.x[1].reshape(-1), -1),
    "BitCast": lambda c: c.copy(c.x[0].view(onnx.helper.tensor_dtype_to_np_dtype(c.get("to")))),
    "CenterCropPad": crop,
    "Compress": compress,
    "Constant": lambda c: c.copy(onnx.numpy_helper.to_array(c.get("value"))),
    "ConstantOfShape": lambda c: filled(c, c.x[0], np.asarray(onnx.numpy_helper.to_array(c.get("value")) if c.get("value") is not None else np.float32(0))),
    "EyeLike": eye,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Hardmax": hardmax,
    "MaxUnpool": max_unpool,
    "NonZero": nonzero,
    "OneHot": one_hot,
    "OptionalGetElement": lambda c: c.copy(c.x[0]),
    "OptionalHasElement": lambda c: np.array(c.input(0) is not None),
    "Pad": padded,
    "Range": ramp,
    "ReverseSequence": reverse_sequence,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Shape": lambda c: np.array(c.x[0].shape[slice(c.get("start", 0), c.get("end"))], "i8"),
    "Size": lambda c: np.array(c.x[0].size, "i8"),
    "TfIdfVectorizer": n_grams,
    "TopK": top_k,
    "Unique": unique,
}
