"""Rows for operators that take several steps: einsum, recurrent networks, optimizers and others."""

import numpy as np

from library import Missing, kind, product
from operators_linear import product_of


def causal_conv(c):
    """A depthwise convolution of the old state and x, and the new state."""
    x, w = c.x[:2]
    channels, size = x.shape[1], w.shape[-1]
    state = c.input(3, np.zeros((x.shape[0], channels, size - 1), x.dtype))
    whole = np.concatenate([state, x], 2)
    y = np.empty((x.shape[0], channels, 1, 1, x.shape[2]), x.dtype)
    c.library("nn", "conv2d", T=kind(x), KH=1, KW=size)(
        whole[:, :, None, None], w.reshape(channels, 1, 1, 1, size), c.input(2, np.zeros(channels, x.dtype)).reshape(channels, 1), y)
    y = y.reshape(x.shape)
    if c.get("activation", "none") != "none":
        y = c.map("nn.silu", y)
    return [y, whole[:, :, whole.shape[2] - (size - 1):]]


def lp_norm(c):
    functions = {"F": "abs"} if c.get("p", 2) == 1 else {"F": "elementwise.square", "G": "sqrt"}
    norm = c.reduce("sum_axis", c.x[0], [c.get("axis", -1)], **functions)
    return c.map2("divide", c.x[0], c.select(c.compare("equal", norm, np.zeros((), norm.dtype)), np.ones((), norm.dtype), norm))


def dropout(c):
    if bool(c.input(2, np.array(False))) and float(c.input(1, np.array(0.5))) != 0.0:
        raise Missing("random numbers")
    y = c.copy(c.x[0])
    return [y, np.ones(y.shape, bool)]


def mean_variance(c):
    x, axes = c.x[0], c.get("axes", [0, 2, 3])
    centred = c.map2("subtract", x, c.reduce("mean_axis", x, axes))
    deviation = c.map("sqrt", c.reduce("mean_axis", c.map("square", centred), axes))
    return c.map2("divide", centred, c.map2("add", deviation, np.array(1e-9, x.dtype)))


def einsum(c):
    """A sum of products, one factor after the other, each as a batch of matrix products."""
    inputs, _, output = c.get("equation").replace(" ", "").partition("->")
    terms = inputs.split(",")
    dots = max((x.ndim - len(t) + 3 for x, t in zip(c.x, terms) if "..." in t), default=0)
    more = "ABCDEFGH"[:dots]
    terms = [t.replace("...", more[len(more) - (x.ndim - len(t) + 3):] if "..." in t else "") for t, x in zip(terms, c.x)]
    letters = "".join(terms)
    if "->" not in c.get("equation"):
        output = more + "".join(sorted(i for i in set(letters) - set(more) if letters.count(i) == 1))
    output = output.replace("...", more)
    x, left = c.x[0], terms[0]
    for number in range(len(terms)):
        x, left = diagonal(x, left) if number == 0 else (x, left)
        later = set("".join(terms[number + 1:])) | set(output)
        if number > 0:
            y, right = diagonal(c.x[number], terms[number])
            batch = [i for i in left if i in right and i in later]
            inner = [i for i in left if i in right and i not in later]
            rows, columns = [i for i in left if i not in right], [i for i in right if i not in left]
            sizes = {**dict(zip(left, x.shape)), **dict(zip(right, y.shape))}
            flat = [np.ascontiguousarray(t.transpose([names.index(i) for i in order])).reshape(
                [product(sizes[i] for i in batch), *[product(sizes[i] for i in part) for part in parts]])
                for t, names, order, parts in [(x, left, batch + rows + inner, (rows, inner)), (y, right, batch + inner + columns, (inner, columns))]]
            left = "".join(batch + rows + columns)
            x = product_of(c, *flat).reshape([sizes[i] for i in left])
        gone = [i for i, name in enumerate(left) if name not in later]
        if gone:
            x, left = c.reduce("sum_axis", x, gone, keep=False), "".join(name for name in left if name in later)
    return c.copy(x.transpose([left.index(i) for i in output]))


def diagonal(x, names):
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first, second = names.index(name), names.rindex(name)
            x = np.diagonal(x, 0, first, second)
            names = "".join(n for i, n in enumerate(names) if i not in (first, second)) + name
    return x, names


def activations(c, d, names, *defaults):
    """Returns defines for the functions of direction d."""
    given = c.get("activations", []) or list(defaults)
    given = [one.decode() if isinstance(one, bytes) else one for one in given][d * len(names):][:len(names)] or list(defaults)
    return {name: {"Relu": "nn.relu", "Softplus": "nn.softplus"}.get(one, one.lower()) for name, one in zip(names, given)}


def rnn_step(c, d, x, h, _, w, r, b, p):
    y = np.empty_like(h)
    bias = c.map2("add", b[:len(w)], b[len(w):])
    c.library("recurrent", "rnn_cell", T=kind(x), **activations(c, d, "F", "Tanh"))(x, h, w, r, bias, y)
    return y, None


def gru_step(c, d, x, h, _, w, r, b, p):
    y, n = np.empty_like(h), h.shape[1]
    parts = w.reshape(3, n, -1), r.reshape(3, n, n), b[:3 * n].reshape(3, n), b[3 * n:].reshape(3, n)
    c.library("recurrent", "gru_cell", T=kind(x), **activations(c, d, "FG", "Sigmoid", "Tanh"))(x, h, *parts, bool(c.get("linear_before_reset", 0)), y)
    return y, None


def lstm_step(c, d, x, h, cell, w, r, b, p):
    y, new, n = np.empty_like(h), np.empty_like(cell), h.shape[1]
    bias = c.map2("add", b[:4 * n], b[4 * n:]).reshape(4, n)
    peephole = np.zeros((3, n), x.dtype) if p is None else p.reshape(3, n)
    c.library("recurrent", "lstm_cell", T=kind(x), **activations(c, d, "FGE", "Sigmoid", "Tanh", "Tanh"))(
        x, h, cell, w.reshape(4, n, -1), r.reshape(4, n, n), bias, peephole, y, new)
    return y, new


def recurrent(step):
    """A network whose steps read the elements of a sequence in order, or in reverse order."""
    def row(c):
        c.only("clip", None)
        flips = bool(c.get("layout", 0))
        x = c.x[0].swapaxes(0, 1) if flips else c.x[0]
        w, r, p, size = c.x[1], c.x[2], c.input(7), c.get("hidden_size")
        b = c.input(3, np.zeros((len(w), 2 * w.shape[1]), x.dtype))
        results, hs, cells = [], [], []
        for d in range(len(w)):
            h, cell = (np.zeros((x.shape[1], size), x.dtype) if c.input(k) is None else np.ascontiguousarray(c.input(k)[:, d] if flips else c.input(k)[d])
                       for k in (5, 6))
            steps = [None] * len(x)
            for t in range(len(x))[::-1] if d == 1 or c.get("direction", "forward") == "reverse" else range(len(x)):
                y, new = step(c, d, np.ascontiguousarray(x[t]), h, cell, w[d], r[d], b[d], None if p is None else p[d])
                steps[t] = y
                if c.input(4) is not None:  # after the end of a sequence, the state remains
                    runs = c.compare("less", np.array(t, "i4"), c.input(4)[:, None])
                    steps[t], y = c.select(runs, y, np.zeros((), y.dtype)), c.select(runs, y, h)
                    new = None if new is None else c.select(runs, new, cell)
                h, cell = y, new
            results.append(np.stack(steps))
            hs.append(h)
            cells.append(cell)
        y, h, cell = np.stack(results, 1), np.stack(hs), cells if cells[0] is None else np.stack(cells)
        if flips:
            y, h, cell = y.transpose(2, 0, 1, 3), h.swapaxes(0, 1), cell if isinstance(cell, list) else cell.swapaxes(0, 1)
        return [y, h, cell]
    return row


def linear_attention(c):
    rule, groups = c.get("update_rule", "gated_delta"), c.get("kv_num_heads")
    b, s, d = *c.x[0].shape[:2], c.x[0].shape[2] // c.get("q_num_heads")
    q, k, v = c.x[0].reshape(b, s, groups, -1, d), c.x[1].reshape(b, s, groups, d), c.x[2].reshape(b, s, groups, -1)
    e = v.shape[3]
    state = c.convert(c.input(3, np.zeros((b, groups, d, e), q.dtype)), q.dtype)
    decay = np.broadcast_to(c.input(4, np.zeros((b, s, groups), q.dtype)).reshape(b, s, groups, -1), k.shape)
    rate = np.broadcast_to(c.input(5, np.ones((b, s, 1), q.dtype)), (b, s, groups))
    y, u, new = np.empty((*q.shape[:4], e), q.dtype), np.empty((b, s, groups, e), "f4"), np.empty(state.shape, q.dtype)
    c.library("recurrent", "linear_attention", T=kind(q))(
        q, k, v, state, np.ascontiguousarray(decay), np.ascontiguousarray(rate), c.get("scale", 0.0) or d**-0.5, "delta" in rule, y, new, u)
    return [y.reshape(b, s, -1), new]


def window(*coefficients):
    """The sum of coefficients[k] * cos(2 pi k n / N)."""
    def row(c):
        size = int(c.x[0])
        angle = np.empty(size, "f4")
        c.library("index", "sequence", T="f32")(0.0, 2 * np.pi / (size if c.get("periodic", 1) else size - 1), angle)
        y = c.copy(np.broadcast_to(np.float32(coefficients[0]), size))
        for k, factor in enumerate(coefficients[1:], 1):
            wave = c.map("cos", c.map2("multiply", angle, np.float32(k)))
            y = c.map2("add", y, c.map2("multiply", wave, np.float32(factor)))
        return y
    return row


def local_norm(c):
    x, size = c.x[0], c.get("size")
    y = np.empty_like(x)
    flat = [t.reshape(*x.shape[:2], -1) for t in (x, y)]
    c.library("nn", "local_response_norm", T=kind(x), SIZE=size)(
        flat[0], c.get("alpha", 1e-4), c.get("beta", 0.75), c.get("bias", 1.0), flat[1])
    return y


def training(step, states):
    """An optimizer: after a rate and a count, there are all tensors, all gradients, and all tensors of each state."""
    def row(c):
        count = (len(c.x) - 2) // (2 + states)
        parts = [c.x[2 + k * count:2 + (k + 1) * count] for k in range(2 + states)]
        results = [step(c, c.x[0].reshape(1), int(c.x[1]), *tensors) for tensors in zip(*parts)]
        return [result[k] for k in range(1 + states) for result in results]
    return row


def scaled(c, x, factor):
    return c.map2("multiply", x, np.array(factor, x.dtype))


def regular(c, x, gradient):
    return c.map2("add", gradient, scaled(c, x, c.get("norm_coefficient", 0.0)))


def momentum(c, rate, count, x, gradient, v):
    g = regular(c, x, gradient)
    v = c.map2("add", scaled(c, v, c.get("alpha")), scaled(c, g, c.get("beta") if count > 0 else 1.0))
    step = c.map2("add", g, scaled(c, v, c.get("alpha"))) if c.get("mode") == "nesterov" else v
    return c.map2("subtract", x, c.map2("multiply", rate, step)), v


def adagrad(c, rate, count, x, gradient, h):
    g = regular(c, x, gradient)
    h = c.map2("add", h, c.map("square", g))
    rate = scaled(c, rate, 1 / (1 + count * c.get("decay_factor", 0.0)))
    root = c.map2("add", c.map("sqrt", h), np.array(c.get("epsilon", 1e-6), x.dtype))
    return c.map2("subtract", x, c.map2("divide", c.map2("multiply", rate, g), root)), h


def adam(c, rate, count, x, gradient, v, h):
    alpha, beta = c.get("alpha", 0.9), c.get("beta", 0.999)
    g = regular(c, x, gradient)
    v = c.map2("add", scaled(c, v, alpha), scaled(c, g, 1 - alpha))
    h = c.map2("add", scaled(c, h, beta), scaled(c, c.map("square", g), 1 - beta))
    rate = scaled(c, rate, (1 - beta**count) ** 0.5 / (1 - alpha**count) if count > 0 else 1.0)
    root = c.map2("add", c.map("sqrt", h), np.array(c.get("epsilon", 1e-6), x.dtype))
    x = c.map2("subtract", x, c.map2("divide", c.map2("multiply", rate, v), root))
    return scaled(c, x, 1 - c.get("norm_coefficient_post", 0.0)), v, h


def tensor_scatter(c):
    y, updates = c.copy(c.x[0]), c.x[1]
    axis = c.get("axis", -2) % y.ndim
    for number, first in enumerate(c.input(2, np.zeros(len(y), "i8"))):
        for k in range(updates.shape[axis]):
            place = (int(first) + k) % y.shape[axis]
            at, of = [slice(number, number + 1)] + [slice(None)] * (y.ndim - 1), [slice(number, number + 1)] + [slice(None)] * (y.ndim - 1)
            at[axis], of[axis] = slice(place, place + 1), slice(k, k + 1)
            c.copy(updates[tuple(of)], y[tuple(at)])
    return y


ROWS = {
    "Adagrad": training(adagrad, 1),
    "Adam": training(adam, 2),
    "Binarizer": lambda c: c.convert(c.compare("greater", c.x[0], np.array(c.get("threshold", 0.0), c.x[0].dtype)), c.x[0].dtype),
    "BlackmanWindow": window(0.42, -0.5, 0.08),
    "HammingWindow": window(25 / 46, -21 / 46),
    "HannWindow": window(0.5, -0.5),
    "LRN": local_norm,
    "LinearAttention": linear_attention,
    "Momentum": training(momentum, 1),
    "SwiGLU": lambda c: c.map2("multiply", c.map("nn.swish", c.x[0], c.get("alpha", 1.0)), c.x[1]),
    "TensorScatter": tensor_scatter,
    "CausalConvWithState": causal_conv,
    "Dropout": dropout,
    "Einsum": einsum,
    "GRU": recurrent(gru_step),
    "LSTM": recurrent(lstm_step),
    "LpNormalization": lp_norm,
    "MeanVarianceNormalization": mean_variance,
    "RNN": recurrent(rnn_step),
}
