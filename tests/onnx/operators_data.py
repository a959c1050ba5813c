"""Rows for operators that move, select, make or resample elements."""

import math

import numpy as np
import onnx

from library import Missing, around, kind, product


def along(c, kernel, x, index, axis, y):
    """Calls a kernel of index.kdl whose arguments are [A, n, B] with the same A and B."""
    order = [i for i in range(x.ndim) if i != axis % x.ndim] + [axis % x.ndim]
    moved = [np.ascontiguousarray(t.transpose(order)).reshape(-1, t.shape[axis], 1) for t in (x, index, y)]
    c.library("index", kernel, T=kind(x), I=kind(index))(*moved)
    return moved[2].reshape([y.shape[i] for i in order]).transpose(np.argsort(order))


def gather_elements(c):
    x, index, axis = c.x[0], c.x[1], c.get("axis", 0)
    part = tuple(slice(None if i == axis % x.ndim else n) for i, n in enumerate(index.shape))
    return along(c, "gather_elements", x[part], index, axis, np.empty(index.shape, x.dtype))


def scatter_elements(c):
    x, index, updates = c.x
    axis, how = c.get("axis", 0), c.get("reduction", "none")
    if how not in ("none", "add"):
        raise Missing(f"reduction = {how}")
    y = c.copy(x)
    part = tuple(slice(None if i == axis % x.ndim else n) for i, n in enumerate(index.shape))
    y[part] = along(c, "scatter_elements" if how == "none" else "scatter_add", updates, index, axis, y[part])
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
    if how not in ("none", "add"):
        raise Missing(f"reduction = {how}")
    y = c.copy(x)
    rest = product(x.shape[count:])
    rows = np.ascontiguousarray(np.broadcast_to(places(index, x.shape[:count]).reshape(1, -1, 1), (1, index[..., 0].size, rest)))
    c.library("index", "scatter_elements" if how == "none" else "scatter_add", T=kind(x), I="i64")(
        updates.reshape(1, -1, rest), rows, y.reshape(1, -1, rest))
    return y


def spread(c, index, depth, axis, on, off):
    """Returns the one-hot tensor of indices, with a new axis."""
    wide = index.ndim + 1
    shape = index.shape[:axis % wide] + (depth,) + index.shape[axis % wide:]
    y = np.empty(shape, np.asarray(on).dtype)
    flat = index.astype("i8").reshape(product(shape[:axis % wide]), -1)
    c.library("index", "one_hot", T=kind(y))(flat, on, off, y.reshape(flat.shape[0], depth, flat.shape[1]))
    return y


def one_hot(c):
    off, on = c.x[2]
    return spread(c, c.x[0], int(c.x[1].reshape(-1)[0]), c.get("axis", -1), on, off)


def hardmax(c):
    x, axis = c.x[0], c.get("axis", -1)
    view, _ = around(x, [axis])
    best = np.empty((view.shape[0], view.shape[2]), np.int64)
    c.library("reduce", "arg_axis", T=kind(x), F="elementwise.greater")(view, False, best)
    index = best.reshape([n for i, n in enumerate(x.shape) if i != axis % x.ndim])
    return spread(c, index, x.shape[axis], axis % x.ndim, x.dtype.type(1), x.dtype.type(0))


def top_k(c):
    x, count, axis = c.x[0], int(c.x[1].reshape(-1)[0]) if len(c.x) > 1 else c.get("k"), c.get("axis", -1)
    shape = [count if i == axis % x.ndim else n for i, n in enumerate(x.shape)]
    flat = (product(shape[:axis % x.ndim]), count, product(shape[axis % x.ndim + 1:]))
    y, index = np.empty(shape, x.dtype), np.empty(shape, "i8")
    first = "elementwise.greater" if c.get("largest", 1) else "elementwise.less"
    c.library("sort", "top_k", T=kind(x), F=first)(x.reshape(flat[0], -1, flat[2]), y.reshape(flat), index.reshape(flat))
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
    rows, columns = c.x[0].shape
    dtype = onnx.helper.tensor_dtype_to_np_dtype(c.get("dtype", onnx.helper.np_dtype_to_tensor_dtype(c.x[0].dtype)))
    y = spread(c, np.arange(rows) + c.get("k", 0) if c.get("k", 0) >= 0 else np.arange(rows) + c.get("k") + 2 * columns * (
        np.arange(rows) + c.get("k") < 0), columns, -1, dtype.type(1), dtype.type(0))
    return y


def compress(c):
    x, axis = c.x[0], c.get("axis")
    kept = np.flatnonzero(c.x[1])
    return c.take(x.reshape(-1), kept, 0) if axis is None else c.take(x, kept, axis)


def reverse_sequence(c):
    x, batch, time = c.x[0], c.get("batch_axis", 1), c.get("time_axis", 0)
    y = c.copy(x)
    for number, length in enumerate(c.x[1]):
        at = [slice(None)] * x.ndim
        at[batch], at[time] = slice(number, number + 1), slice(0, int(length))
        c.copy(c.take(x[tuple(at)], np.arange(int(length))[::-1].copy(), time), y[tuple(at)])
    return y


def positions(c, n, m, scale, roi):
    """Returns the coordinate in the input of each of m outputs."""
    i, mode = np.arange(m, dtype="f8"), c.get("coordinate_transformation_mode", "half_pixel")
    if mode == "align_corners":
        return i * (n - 1) / (n * scale - 1) if m > 1 else i * 0
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_crop_and_resize":
        return i * 0 + roi[0] * (n - 1) + (i / (m - 1) if m > 1 else 0.5) * (roi[1] - roi[0]) * (n - 1)
    if mode == "half_pixel_symmetric":
        middle = n / 2
        return middle * (1 - m / (n * scale)) + (i + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel" and m <= 1:
        return i * 0
    return (i + 0.5) / scale - 0.5


def curve(mode, distance, a):
    """Returns the weight of an element at a distance from the coordinate."""
    d = np.abs(distance)
    if mode == "linear":
        return np.maximum(1 - d, 0)
    near, far = (a + 2) * d**3 - (a + 3) * d**2 + 1, a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def taps(c, n, at, scale):
    """Returns the indices and weights of the elements from which outputs at these coordinates are computed."""
    mode = c.get("mode", "nearest")
    if mode == "nearest":
        how = c.get("nearest_mode", "round_prefer_floor")
        index = {"round_prefer_floor": lambda: np.ceil(at - 0.5), "round_prefer_ceil": lambda: np.floor(at + 0.5),
                 "floor": lambda: np.floor(at), "ceil": lambda: np.ceil(at)}[how]()[:, None]
        weight = np.ones_like(index)
    else:
        shrink = min(scale, 1.0) if c.get("antialias", 0) else 1.0
        reach = math.ceil((1 if mode == "linear" else 2) / shrink)
        index = np.floor(at)[:, None] + np.arange(-reach, reach + 1)
        weight = curve(mode, (index - at[:, None]) * shrink, c.get("cubic_coeff_a", -0.75))
        if c.get("exclude_outside", 0):
            weight = np.where((index < 0) | (index >= n), 0, weight)
        weight = weight / weight.sum(1, keepdims=True)
    return np.clip(index, 0, n - 1).astype("i8"), weight.astype("f4")


def resize(c):
    x, sizes, scales = c.x[0], c.input(3), c.input(2, np.array(c.get("scales", []), "f4"))
    if c.node.op_type == "Upsample":
        scales, c.attributes["coordinate_transformation_mode"] = c.x[1], "asymmetric"
        c.attributes["nearest_mode"] = "floor"
    axes = [a % x.ndim for a in c.get("axes", range(x.ndim))]
    if sizes is not None and sizes.size:
        scales = np.array([m / x.shape[a] for a, m in zip(axes, sizes)])
        policy = c.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            scales = np.full(len(axes), (min if policy == "not_larger" else max)(scales))
            sizes = [int(math.floor(x.shape[a] * s + 0.5)) for a, s in zip(axes, scales)]
    else:
        sizes = [int(x.shape[a] * float(s)) for a, s in zip(axes, scales)]
    roi, outside = c.input(1) if c.node.op_type == "Resize" else None, {}
    for number, (axis, m, scale) in enumerate(zip(axes, sizes, scales)):
        n, m = x.shape[axis], int(m)
        if n == m and scale == 1 and c.get("coordinate_transformation_mode") != "tf_crop_and_resize":
            continue
        at = positions(c, n, m, float(scale), (roi[number], roi[number + len(axes)]) if roi is not None and roi.size else (0, 1))
        outside[axis] = (at < 0) | (at > n - 1)
        index, weight = taps(c, n, at, float(scale))
        view = np.ascontiguousarray(x).reshape(product(x.shape[:axis]), n, product(x.shape[axis + 1:]))
        y = np.empty((view.shape[0], m, view.shape[2]), x.dtype)
        c.library("index", "resample", T=kind(x))(view, index, weight, y)
        x = y.reshape([m if i == axis else size for i, size in enumerate(x.shape)])
    if c.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        for axis, out in outside.items():
            x = c.select(out.reshape([-1 if i == axis else 1 for i in range(x.ndim)]), np.array(c.get("extrapolation_value", 0.0), x.dtype), x)
    return x


ROWS = {
    "BitCast": lambda c: c.copy(c.x[0].view(onnx.helper.tensor_dtype_to_np_dtype(c.get("to")))),
    "CenterCropPad": crop,
    "Compress": compress,
    "ConstantOfShape": lambda c: filled(c, c.x[0], np.asarray(onnx.numpy_helper.to_array(c.get("value")) if c.get("value") is not None else np.float32(0))),
    "EyeLike": eye,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Hardmax": hardmax,
    "OneHot": one_hot,
    "Pad": padded,
    "Range": ramp,
    "Resize": resize,
    "ReverseSequence": reverse_sequence,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Shape": lambda c: np.array(c.x[0].shape[slice(c.get("start", 0), c.get("end"))], "i8"),
    "Size": lambda c: np.array(c.x[0].size, "i8"),
    "TopK": top_k,
    "Upsample": resize,
}
