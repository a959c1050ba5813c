"""Rows for operators of neural networks."""

import numpy as np

from library import Missing, kind, product, volume
from operators_linear import integer_product, product_of, quantized


def gathered(c):
    return c.take(c.x[0], c.x[1], c.get("axis", 0))


def windows(c, x, kernel):
    """Returns the defines of windows of three dimensions, the padding after each dimension, and the shapes of the output with three
    dimensions and with those of x."""
    rank = len(kernel)
    strides, dilations = c.get("strides", [1] * rank), c.get("dilations", [1] * rank)
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    size = x.shape[2:]
    begin, end = (lambda pads: (pads[:rank], pads[rank:]))(c.get("pads", [0] * 2 * rank))
    auto = c.get("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        total = [max(0, (-(-n // s) - 1) * s + k - n) for n, s, k in zip(size, strides, span)]
        begin = [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in total]
        end = [t - b for t, b in zip(total, begin)]
    left = [n + b + e - k for n, b, e, k in zip(size, begin, end, span)]
    out = [left_i // s + 1 for left_i, s in zip(left, strides)]
    if c.get("ceil_mode", 0):
        out = [-(-left_i // s) + 1 for left_i, s in zip(left, strides)]
        out = [o - 1 if (o - 1) * s >= n + b else o for o, s, n, b in zip(out, strides, size, begin)]
    return in_three({"K": kernel, "S": strides, "P": begin, "DI": dilations}), wide(end, 0), wide(out, 1), [*x.shape[:2], *out]


def wide(values, fill):
    """Returns one value for each of three dimensions."""
    return [fill] * (3 - len(values)) + list(values)


def in_three(lists):
    """Returns defines such as KD, KH and KW from lists for the dimensions of an image."""
    return {name + axis: value for name, values in lists.items() for axis, value in zip("DHW", wide(values, 0 if name == "P" else 1))}


def convolved(c, x, w, bias):
    """Returns the convolution of x by the attributes of c."""
    groups = c.get("group", 1)
    defines, _, out, shape = windows(c, x, w.shape[2:])
    y = np.empty((len(x), groups, len(w) // groups, *out), x.dtype)
    flat, weights = volume(x), volume(w)
    c.library("windows", "conv3d", T=kind(x), **defines)(
        flat.reshape(len(x), groups, -1, *flat.shape[2:]), weights.reshape(groups, -1, *weights.shape[1:]),
        (np.zeros(len(w), x.dtype) if bias is None else bias).reshape(groups, -1), y)
    return y.reshape([len(x), len(w), *shape[2:]])


def conv(c):
    return convolved(c, c.x[0], c.x[1], c.input(2))


def conv_integer(c, x, w, x_zero, w_zero, bias=None):
    """Returns the convolution in i32 of integers after their zero points were subtracted."""
    moved = []
    for t, zero in [(x, x_zero), (w, w_zero)]:
        t = c.convert(t, np.dtype("i4"))
        if zero is not None:
            zero = c.convert(zero, np.dtype("i4"))
            t = c.map2("subtract", t, zero.reshape(-1, *[1] * (t.ndim - 1)) if zero.size > 1 else zero.reshape([]))
        moved.append(t)
    return convolved(c, *moved, bias)


def deformable_conv(c):
    x, w, offset = c.x[:3]
    if x.ndim != 4:
        raise Missing("images without two dimensions")
    groups, parts, kernel = c.get("group", 1), c.get("offset_group", 1), w.shape[2:]
    names = {"K": kernel, "S": c.get("strides", [1, 1]), "P": c.get("pads", [0] * 4)[:2], "DI": c.get("dilations", [1, 1])}
    out = offset.shape[2:]
    y = np.empty((len(x), groups, len(w) // groups, *out), x.dtype)
    c.library("windows", "deformable_conv2d", T=kind(x), **{name + axis: value for name, pair in names.items() for axis, value in zip("HW", pair)})(
        x.reshape(len(x), groups, -1, *x.shape[2:]), w.reshape(groups, -1, *w.shape[1:]),
        c.input(3, np.zeros(len(w), x.dtype)).reshape(groups, -1), offset.reshape(len(x), parts, *kernel, 2, *out),
        c.input(4, np.ones((len(x), parts * product(kernel), *out), x.dtype)).reshape(len(x), parts, *kernel, *out), y)
    return y.reshape(len(x), len(w), *out)


def determinant(c):
    """The product of the diagonal of a triangular factor."""
    x = c.x[0]
    flat = x.reshape(product(x.shape[:-2]), *x.shape[-2:])
    factors, places, sign = np.empty_like(flat), np.empty(flat.shape[:2], "i8"), np.empty(len(flat), x.dtype)
    c.library("linalg", "factorize", T=kind(x))(flat, factors, places, sign)
    diagonal = np.ascontiguousarray(np.diagonal(factors, 0, 1, 2))
    return c.map2("multiply", sign, c.reduce("product_axis", diagonal, [1], keep=False)).reshape(x.shape[:-2])


def conv_quantized(c):
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = c.x[:8]
    y = c.convert(conv_integer(c, x, w, x_zero, w_zero, c.input(8)), np.dtype("f4"))
    return quantized(c, y, c.map2("divide", y_scale, c.map2("multiply", x_scale, w_scale)), y_zero, 1)


def pooled(c, kernel, *numbers, more=None, **defines):
    """Calls a pooling kernel with images x[n]; `more` is a second result."""
    x = c.x[0]
    windowed, end, out, shape = windows(c, x, c.get("kernel_shape"))
    flat = volume(x).reshape(-1, *volume(x).shape[2:])
    results = [np.empty((len(flat), *out), dtype) for dtype in [x.dtype, *([more] if more else [])]]
    numbers = numbers[0](end) if numbers and callable(numbers[0]) else numbers
    c.library("windows", kernel, T=kind(x), **windowed, **defines)(flat, *numbers, *results)
    return [y.reshape(shape) for y in results]


def max_pool(c):
    y, index = pooled(c, "max_pool3d", more=np.int64)
    size = c.x[0].shape[2:]
    if c.get("storage_order", 0):  # the index counts the first dimension fastest
        index = c.take(np.arange(product(size)).reshape(size[::-1]).transpose().reshape(-1).copy(), index, 0)
    first = (np.arange(product(y.shape[:2])) * product(size)).reshape(*y.shape[:2], *[1] * len(size))
    return [y, c.map2("add", index, first)]


def average_pool(c):
    return pooled(c, "average_pool3d", lambda end: [bool(c.get("count_include_pad", 0)), *end])


def lp_pool(c):
    return pooled(c, "power_pool3d", float(c.get("p", 2)))


def col2im(c):
    x, size, block = c.x[0], [int(n) for n in c.x[1]], [int(n) for n in c.x[2]]
    rank = len(size)
    strides, dilations, pads = c.get("strides", [1] * rank), c.get("dilations", [1] * rank), c.get("pads", [0] * 2 * rank)
    counts = [(n + a + b - d * (k - 1) - 1) // s + 1 for n, a, b, d, k, s in zip(size, pads, pads[rank:], dilations, block, strides)]
    y = np.empty((len(x) * x.shape[1] // product(block), *wide(size, 1)), x.dtype)
    c.library("windows", "col2im", T=kind(x), **in_three({"S": strides, "P": pads[:rank], "DI": dilations}))(
        x.reshape(len(y), *wide(block, 1), *wide(counts, 1)), y)
    return y.reshape(len(x), -1, *size)


def global_pool(kernel, **functions):
    return lambda c: c.reduce(kernel, c.x[0], range(2, c.x[0].ndim), **functions)


def batch_norm(c):
    x = c.x[0]
    flat, numbers, states = x.reshape(*x.shape[:2], -1), c.x[1:], []
    if c.get("training_mode", 0):
        moments = [np.empty(x.shape[1], x.dtype) for _ in range(2)]
        c.library("nn", "channel_moments", T=kind(x))(flat, *moments)
        share = c.get("momentum", 0.9)
        states = [c.map2("add", c.map2("multiply", old, np.array(share, old.dtype)), c.map2("multiply", new, np.array(1 - share, old.dtype)))
                  for old, new in zip(c.x[3:], moments)]
        numbers = [*c.x[1:3], *moments]
    y = np.empty_like(x)
    c.library("nn", "batch_norm", T=kind(x))(flat, *numbers, c.get("epsilon", 1e-5), y.reshape(flat.shape))
    return [y, *states]


def normalized(c, x, epsilon):
    """Returns x with the mean 0 and the variance 1 of all elements after the second axis."""
    rows = x.reshape(product(x.shape[:2]), -1)
    y = np.empty_like(rows)
    c.library("nn", "layer_norm", T=kind(x))(rows, np.ones(rows.shape[1], x.dtype), None, epsilon, y, None, None)
    return y.reshape(x.shape)


def per_channel(values, x):
    return values.reshape(-1, *[1] * (x.ndim - 2))


def group_norm(groups):
    def row(c):
        x, scale, bias = c.x
        count = groups(c)
        y = normalized(c, x.reshape(x.shape[0], count, -1), c.get("epsilon", 1e-5)).reshape(x.shape)
        if len(scale) != x.shape[1]:
            scale, bias = np.repeat(scale, x.shape[1] // count), np.repeat(bias, x.shape[1] // count)
        return c.map2("add", c.map2("multiply", y, per_channel(scale, x)), per_channel(bias, x))
    return row


def losses(c, scores, labels, weight):
    """Returns the losses of all elements after the reduction, from logarithms of probabilities."""
    n, classes = scores.shape[:2]
    weight = np.ones(classes, scores.dtype) if weight is None else weight
    loss, used = np.empty(labels.shape, scores.dtype), np.empty(labels.shape, scores.dtype)
    c.library("nn", "nll_loss", T=kind(scores), L=kind(labels))(
        scores.reshape(n, classes, -1), labels.reshape(n, -1), weight, c.get("ignore_index", -2**63),
        loss.reshape(n, -1), used.reshape(n, -1))
    how = c.get("reduction", "mean")
    if how == "none":
        return loss
    total = c.reduce("sum_axis", loss, range(loss.ndim), keep=False)
    return total if how == "sum" else c.map2("divide", total, c.reduce("sum_axis", used, range(used.ndim), keep=False))


def nll(c):
    return losses(c, c.x[0], c.x[1], c.input(2))


def cross_entropy(c):
    moved = np.ascontiguousarray(np.moveaxis(c.x[0], 1, -1))
    y = np.empty_like(moved)
    c.library("nn", "log_softmax", T=kind(moved))(moved.reshape(-1, moved.shape[-1]), y.reshape(-1, moved.shape[-1]))
    scores = np.ascontiguousarray(np.moveaxis(y, -1, 1))
    return [losses(c, scores, c.x[1], c.input(2)), scores]


def rotary(c):
    x, cosine, sine = c.x[:3]
    heads = c.get("num_heads", 0)
    wide = x.reshape(*x.shape[:2], heads, -1) if x.ndim == 3 else np.ascontiguousarray(x.transpose(0, 2, 1, 3))
    if c.input(3) is not None:
        cosine, sine = cosine[c.x[3]], sine[c.x[3]]
    size = c.get("rotary_embedding_dim", 0) or wide.shape[-1]
    pairs = (size // 2, 2) if c.get("interleaved", 0) else (2, size // 2)
    y = c.copy(wide)
    part = np.ascontiguousarray(wide[..., :size]).reshape(*wide.shape[:3], *pairs)
    turned = np.empty_like(part)
    kernel = "rotary_interleaved" if c.get("interleaved", 0) else "rotary"
    c.library("nn", kernel, T=kind(x))(part, np.ascontiguousarray(cosine), np.ascontiguousarray(sine), turned)
    c.copy(turned.reshape(*wide.shape[:3], size), y[..., :size])
    return y.reshape(x.shape) if x.ndim == 3 else y.transpose(0, 2, 1, 3)


def heads_of(x, heads):
    return np.ascontiguousarray(x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)) if x.ndim == 3 else x


def attention(c):
    if kind(c.x[0]) == "bf16":
        raise Missing("expected values of bf16 are rounded after each step, results only once")
    q, k, v = (heads_of(c.x[i], c.get(name)) for i, name in enumerate(["q_num_heads", "kv_num_heads", "kv_num_heads"]))
    old = 0
    if c.input(4) is not None:
        old = c.x[4].shape[2]
        k, v = np.concatenate([c.x[4], k], 2), np.concatenate([c.x[5], v], 2)
    (b, h, s, d), length = q.shape, k.shape[2]
    mask = c.input(3, np.zeros((1, 1), q.dtype))
    if mask.dtype == bool:
        mask = c.select(mask, np.zeros((), q.dtype), np.full((), -np.inf, q.dtype))
    if mask.shape[-1] not in (1, length):
        mask = np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, length - mask.shape[-1])], constant_values=-np.inf)
    offset = np.full(b, old)
    if c.input(6) is not None:
        offset = c.x[6].reshape(-1).astype("i8") - s
        ends = c.select(c.compare("less", np.arange(length), c.x[6].reshape(-1, 1, 1, 1)), np.zeros((), q.dtype), np.full((), -np.inf, q.dtype))
        mask = c.map2("add", mask, ends)
    mask = np.ascontiguousarray(np.broadcast_to(c.convert(mask, q.dtype), (b, h, s, length)))
    before, after = c.get("left_window_size", -1), c.get("right_window_size", -1)
    if before >= 0 or after >= 0:
        distance = np.arange(length) - np.arange(s)[:, None] - offset[:, None, None, None]
        for limit, sign in [(before, -1), (after, 1)]:
            if limit >= 0:
                mask = c.select(c.compare("less_or_equal", sign * distance, np.array(limit)), mask, np.full((), -np.inf, q.dtype))
    if len(c.node.output) > 3 and c.node.output[3]:
        return with_scores(c, q, k, v, mask, offset)
    y = np.empty((b, h, s, v.shape[3]), q.dtype)
    c.library("nn", "attention", T=kind(q))(q, c.convert(k, q.dtype), c.convert(v, q.dtype), mask, c.get("scale", 1 / np.sqrt(d)),
                                            c.get("softcap", 0.0), bool(c.get("is_causal", 0)), offset, y)
    whole = np.ascontiguousarray(y.transpose(0, 2, 1, 3)).reshape(b, s, -1) if c.x[0].ndim == 3 else y
    return [whole, k, v]


def with_scores(c, q, k, v, mask, offset):
    """Attention in steps, since a step is an output."""
    groups, (b, h, s, d), length = q.shape[1] // k.shape[1], q.shape, k.shape[2]
    keys, values = (c.convert(np.repeat(t, groups, 1), q.dtype) for t in (k, v))
    scores = c.map2("multiply", product_of(c, q, keys.transpose(0, 1, 3, 2)), np.array(c.get("scale", 1 / np.sqrt(d)), q.dtype))
    steps = [scores]
    if c.get("softcap", 0.0):
        cap = np.array(c.get("softcap"), q.dtype)
        scores = c.map2("multiply", c.map("tanh", c.map2("divide", scores, cap)), cap)
    capped = scores
    if c.get("is_causal", 0):
        seen = c.compare("less_or_equal", np.arange(length) - offset[:, None, None, None], np.arange(s)[:, None])
        mask = c.select(seen, mask, np.full((), -np.inf, q.dtype))
    scores = c.map2("add", scores, mask)
    steps += [capped, scores]
    y = np.empty_like(scores)
    c.library("nn", "softmax", T=kind(q))(scores.reshape(-1, length), y.reshape(-1, length))
    y = c.select(c.test("is_nan", y), np.zeros((), y.dtype), y)  # a row that sees nothing
    steps.append(y)
    result = product_of(c, y, values)
    whole = np.ascontiguousarray(result.transpose(0, 2, 1, 3)).reshape(b, s, -1) if c.x[0].ndim == 3 else result
    return [whole, k, v, steps[c.get("qk_matmul_output_mode", 0)]]


def conv_transpose(c):
    x, w, groups = c.x[0], c.x[1], c.get("group", 1)
    rank = x.ndim - 2
    kernel, strides, dilations = w.shape[2:], c.get("strides", [1] * rank), c.get("dilations", [1] * rank)
    extra, pads = c.get("output_padding", [0] * rank), c.get("pads", [0] * 2 * rank)
    full = [(n - 1) * s + (k - 1) * d + 1 + e for n, s, k, d, e in zip(x.shape[2:], strides, kernel, dilations, extra)]
    if c.get("output_shape") is not None or c.get("auto_pad", "NOTSET").startswith("SAME"):
        out = c.get("output_shape", [n * s for n, s in zip(x.shape[2:], strides)])
        total = [f - o for f, o in zip(full, out)]
        first = [t // 2 if c.get("auto_pad", "NOTSET") == "SAME_UPPER" else t - t // 2 for t in total]
    else:
        out = [f - a - b for f, a, b in zip(full, pads[:rank], pads[rank:])]
        first = pads[:rank]
    y = np.empty((len(x), groups, w.shape[1], *wide(out, 1)), x.dtype)
    flat, weights = volume(x), volume(w)
    c.library("windows", "conv_transpose3d", T=kind(x), **in_three({"K": kernel, "S": strides, "P": first, "DI": dilations}))(
        flat.reshape(len(x), groups, -1, *flat.shape[2:]), weights.reshape(groups, -1, *weights.shape[1:]),
        c.input(2, np.zeros(groups * w.shape[1], x.dtype)).reshape(groups, -1), y)
    return y.reshape(len(x), -1, *out)


ROWS = {
    "Attention": attention,
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "Col2Im": col2im,
    "Conv": conv,
    "ConvInteger": lambda c: conv_integer(c, c.x[0], c.x[1], c.input(2), c.input(3)),
    "ConvTranspose": conv_transpose,
    "DeformConv": deformable_conv,
    "Det": determinant,
    "Gather": gathered,
    "GlobalAveragePool": global_pool("mean_axis"),
    "GlobalMaxPool": global_pool("max_axis"),
    "GroupNormalization": group_norm(lambda c: c.get("num_groups")),
    "InstanceNormalization": group_norm(lambda c: c.x[0].shape[1]),
    "LpPool": lp_pool,
    "MaxPool": max_pool,
    "NegativeLogLikelihoodLoss": nll,
    "QLinearConv": conv_quantized,
    "RotaryEmbedding": rotary,
    "SoftmaxCrossEntropyLoss": cross_entropy,
}
