"""Rows for operators of neural networks and of linear algebra."""

import numpy as np

from library import Missing, around, kind, product


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
    factor = np.asarray(a_scale, "f4") * np.asarray(b_scale, "f4") / np.asarray(y_scale, "f4")
    return quantized(c, c.convert(y, np.dtype("f4")), np.ones(1, "f4") / factor.reshape(-1), y_zero, 0)


def blocks(c, x, scale, axis, block):
    """Returns the scales of x as [A, B, C], as the kernels want them, with A * B * C elements like x."""
    if scale.size == 1:
        return np.broadcast_to(scale.reshape(1), x.shape)
    if scale.ndim <= 1:
        return np.broadcast_to(scale.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]), x.shape)
    return np.repeat(scale, block, axis)[tuple(slice(n) for n in x.shape)]


def quantized(c, x, scale, zero, axis, block=0):
    zero = np.zeros(1, "u1") if zero is None else zero
    y = np.empty(x.shape, zero.dtype)
    scales, zeros = (np.ascontiguousarray(blocks(c, x, t, axis, block)).reshape(-1) for t in (scale.astype(x.dtype), zero))
    c.library("linalg", "quantize", T=kind(x), Q=kind(y))(np.ascontiguousarray(x).reshape(-1), scales, zeros, y.reshape(-1))
    return y


def quantize(c):
    c.only("saturate", 1)
    if c.get("output_dtype") is not None and c.input(2) is None:
        raise Missing("output_dtype without a zero point")
    return quantized(c, c.x[0], c.x[1], c.input(2), c.get("axis", 1), c.get("block_size", 0))


def dequantize(c):
    x, scale = c.x[:2]
    axis, block = c.get("axis", 1), c.get("block_size", 0)
    y = np.empty(x.shape, scale.dtype)
    zero = c.input(2, np.zeros(1, x.dtype))
    scales, zeros = (np.ascontiguousarray(blocks(c, x, t, axis, block)).reshape(-1) for t in (scale, zero))
    c.library("linalg", "dequantize", T=kind(y), Q=kind(x))(np.ascontiguousarray(x).reshape(-1), scales, zeros, y.reshape(-1))
    return y


def triangle(c):
    x = c.x[0]
    y = np.empty_like(x)
    matrices = [t.reshape(product(x.shape[:-2]), *x.shape[-2:]) for t in (x, y)]
    c.library("linalg", "triangle", T=kind(x))(matrices[0], bool(c.get("upper", 1)), int(c.input(1, 0)), matrices[1])
    return y


def gathered(c):
    return c.take(c.x[0], c.x[1], c.get("axis", 0))


def windows(c, x, kernel):
    """Returns the defines of a window of two dimensions, the padding at the end, and the size of the output."""
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
    if rank > 2:
        raise Missing("windows of three dimensions")
    flat = lambda values, fill: [fill] * (2 - rank) + list(values)  # noqa: E731
    defines = {f"{name}{axis}": value for name, values, fill in [("K", kernel, 1), ("S", strides, 1), ("P", begin, 0), ("D", dilations, 1)]
               for axis, value in zip("HW", flat(values, fill))}
    return defines, flat(end, 0), flat(out, 1), [*x.shape[:2], *out]


def image(x):
    return x.reshape(*x.shape[:2], *([1] * (4 - x.ndim)), *x.shape[2:])


def conv(c):
    x, w, groups = c.x[0], c.x[1], c.get("group", 1)
    defines, _, (oh, ow), shape = windows(c, x, w.shape[2:])
    n, o = x.shape[0], w.shape[0]
    y = np.empty((n, groups, o // groups, oh, ow), x.dtype)
    flat = image(x)
    weights = image(w)
    c.library("nn", "conv2d", T=kind(x), **defines)(
        flat.reshape(n, groups, -1, *flat.shape[2:]), weights.reshape(groups, -1, *weights.shape[1:]),
        c.input(2, np.zeros(o, x.dtype)).reshape(groups, -1), y)
    return y.reshape([n, o, *shape[2:]])


def max_pool(c):
    x = c.x[0]
    c.only("storage_order", 0)
    defines, _, (oh, ow), shape = windows(c, x, c.get("kernel_shape"))
    flat = image(x).reshape(-1, *image(x).shape[2:])
    y, index = np.empty((len(flat), oh, ow), x.dtype), np.empty((len(flat), oh, ow), "i8")
    c.library("nn", "max_pool2d", T=kind(x), **defines)(flat, y, index)
    index += (np.arange(len(flat)) * product(x.shape[2:]))[:, None, None]
    return [y.reshape(shape), index.reshape(shape)]


def sum_pool(c, share, **functions):
    x = c.x[0]
    defines, end, (oh, ow), shape = windows(c, x, c.get("kernel_shape"))
    flat = image(x).reshape(-1, *image(x).shape[2:])
    sizes = []
    for axis, size, count, more in zip("HW", flat.shape[1:], (oh, ow), end):
        first = np.arange(count)[:, None] * defines["S" + axis] + np.arange(defines["K" + axis]) * defines["D" + axis] - defines["P" + axis]
        low, high = (-defines["P" + axis], size + more) if c.get("count_include_pad", 0) else (0, size)
        sizes.append(((low <= first) & (first < high)).sum(1))
    y = np.empty((len(flat), oh, ow), x.dtype)
    c.library("nn", "sum_pool2d", T=kind(x), **defines, **functions)(flat, share(np.outer(*sizes).astype("f4")), y)
    return y.reshape(shape)


def average_pool(c):
    return sum_pool(c, lambda count: np.float32(1) / count)


def lp_pool(c):
    if c.get("p", 2) not in (1, 2):
        raise Missing("norms other than 1 and 2")
    functions = {"F": "abs"} if c.get("p", 2) == 1 else {"F": "squared", "G": "sqrt"}
    return sum_pool(c, np.ones_like, **functions)


def global_pool(kernel, **functions):
    return lambda c: c.reduce(kernel, c.x[0], range(2, c.x[0].ndim), **functions)


def batch_norm(c):
    x = c.x[0]
    if c.get("training_mode", 0):
        raise Missing("training mode")
    y = np.empty_like(x)
    c.library("nn", "batch_norm", T=kind(x))(x.reshape(*x.shape[:2], -1), *c.x[1:], c.get("epsilon", 1e-5), y.reshape(*x.shape[:2], -1))
    return y


def normalized(c, x, epsilon):
    """Returns x with the mean 0 and the variance 1 of all elements after the second axis."""
    rows = x.reshape(product(x.shape[:2]), -1)
    y, mean, inverse = np.empty_like(rows), np.empty(len(rows), "f4"), np.empty(len(rows), "f4")
    ones, zeros = np.ones(rows.shape[1], x.dtype), np.zeros(rows.shape[1], x.dtype)
    c.library("nn", "layer_norm", T=kind(x))(rows, ones, zeros, epsilon, y, mean, inverse)
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
    mask = np.ascontiguousarray(np.broadcast_to(mask, (b, h, s, length)).astype(q.dtype))
    before, after = c.get("left_window_size", -1), c.get("right_window_size", -1)
    if before >= 0 or after >= 0:
        distance = np.arange(length) - np.arange(s)[:, None] - offset[:, None, None, None]
        for limit, sign in [(before, -1), (after, 1)]:
            if limit >= 0:
                mask = c.select(c.compare("less_or_equal", sign * distance, np.array(limit)), mask, np.full((), -np.inf, q.dtype))
    if len(c.node.output) > 3 and c.node.output[3]:
        return with_scores(c, q, k, v, mask, offset)
    y = np.empty((b, h, s, v.shape[3]), q.dtype)
    c.library("nn", "attention", T=kind(q))(q, k.astype(q.dtype), v.astype(q.dtype), mask, c.get("scale", 1 / np.sqrt(d)),
                                            c.get("softcap", 0.0), bool(c.get("is_causal", 0)), offset, y)
    whole = np.ascontiguousarray(y.transpose(0, 2, 1, 3)).reshape(b, s, -1) if c.x[0].ndim == 3 else y
    return [whole, k, v]


def with_scores(c, q, k, v, mask, offset):
    """Attention in steps, since a step is an output."""
    groups, (b, h, s, d), length = q.shape[1] // k.shape[1], q.shape, k.shape[2]
    keys, values = (np.repeat(t, groups, 1).astype(q.dtype) for t in (k, v))
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
    """A convolution of x with zeros between its elements, and of the reversed weights."""
    x, w, groups = c.x[0], c.x[1], c.get("group", 1)
    rank = x.ndim - 2
    if rank > 2:
        raise Missing("windows of three dimensions")
    kernel, strides, dilations = w.shape[2:], c.get("strides", [1] * rank), c.get("dilations", [1] * rank)
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    extra = c.get("output_padding", [0] * rank)
    pads = c.get("pads", [0] * 2 * rank)
    full = [(n - 1) * s + k + e for n, s, k, e in zip(x.shape[2:], strides, span, extra)]
    if c.get("output_shape") is not None or c.get("auto_pad", "NOTSET").startswith("SAME"):
        out = c.get("output_shape", [n * s for n, s in zip(x.shape[2:], strides)])
        total = [f - o for f, o in zip(full, out)]
        first = [t // 2 if c.get("auto_pad", "NOTSET") == "SAME_UPPER" else t - t // 2 for t in total]
    else:
        out = [f - a - b for f, a, b in zip(full, pads[:rank], pads[rank:])]
        first = pads[:rank]
    wide = np.zeros((*x.shape[:2], *[(n - 1) * s + 1 for n, s in zip(x.shape[2:], strides)]), x.dtype)
    c.copy(x, wide[(slice(None), slice(None), *[slice(None, None, s) for s in strides])])
    turned = np.flip(w, tuple(range(2, w.ndim))).reshape(groups, -1, *w.shape[1:]).swapaxes(1, 2)
    defines = {f"{name}{axis}": value for name, values in [("K", kernel), ("P", [k - 1 - p for k, p in zip(span, first)]), ("D", dilations)]
               for axis, value in zip("HW"[2 - rank:], values)}
    n, o = x.shape[0], groups * w.shape[1]
    y = np.empty((n, groups, w.shape[1], *([1] * (2 - rank)), *out), x.dtype)
    flat, weights = image(wide), np.ascontiguousarray(turned)
    c.library("nn", "conv2d", T=kind(x), **({"KH": 1} if rank == 1 else {}), **defines)(
        flat.reshape(n, groups, -1, *flat.shape[2:]), weights.reshape(*weights.shape[:3], *([1] * (2 - rank)), *weights.shape[3:]),
        c.input(2, np.zeros(o, x.dtype)).reshape(groups, -1), y)
    return y.reshape(n, o, *out)


ROWS = {
    "Attention": attention,
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DequantizeLinear": dequantize,
    "Gather": gathered,
    "Gemm": gemm,
    "GlobalAveragePool": global_pool("mean_axis"),
    "GlobalMaxPool": global_pool("max_axis"),
    "GroupNormalization": group_norm(lambda c: c.get("num_groups")),
    "InstanceNormalization": group_norm(lambda c: c.x[0].shape[1]),
    "LpPool": lp_pool,
    "MatMul": matmul,
    "MatMulInteger": lambda c: integer_product(c, c.x[0], c.x[1], c.input(2), c.input(3)),
    "MaxPool": max_pool,
    "NegativeLogLikelihoodLoss": nll,
    "QLinearMatMul": quantized_matmul,
    "QuantizeLinear": quantize,
    "RotaryEmbedding": rotary,
    "SoftmaxCrossEntropyLoss": cross_entropy,
    "Trilu": triangle,
}
