"""How an operator of ONNX is computed by the library: one row for each."""

import numpy as np
import onnx

import operators_data
import operators_graphs
import operators_image
import operators_linear
import operators_narrow
import operators_nn
import operators_signal
import operators_steps
from library import Missing, kind, product


def unary(function):
    return lambda c: c.map(function, c.x[0])


def binary(function):
    return lambda c: c.map2(function, c.x[0], c.x[1])


def variadic(function):
    def row(c):
        y = c.map("identity", c.x[0])
        for x in c.x[1:]:
            y = c.map2(function, y, x)
        return y
    return row


def compare(function):
    return lambda c: c.compare(function, c.x[0], c.x[1])


def numbers(function, **defaults):
    """A function whose numbers are attributes."""
    return lambda c: c.map(function, c.x[0], *(c.get(name, value) for name, value in defaults.items()))


def reduced(kernel, **functions):
    def row(c):
        x = c.x[0]
        axes = c.get("axes") if c.get("axes") is not None else c.input(1)
        if axes is None or len(axes) == 0:
            axes = [] if c.get("noop_with_empty_axes", 0) else range(x.ndim)
        return c.reduce(kernel, x, list(axes), bool(c.get("keepdims", 1)), **functions)
    return row


def arg(function):
    def row(c):
        x, axis = c.x[0], c.get("axis", 0)
        y = c.library("reduce", "arg_axis", T=kind(x), F=function)(x, bool(c.get("select_last_index", 0)), rank_A=axis % x.ndim)
        return np.expand_dims(y, axis) if c.get("keepdims", 1) else y
    return row


def cumulative(kernel):
    def row(c):
        x, axis = c.x[0], int(c.x[1])
        return c.library("reduce", kernel, T=kind(x))(x, bool(c.get("reverse", 0)), bool(c.get("exclusive", 0)), rank_A=axis % x.ndim)
    return row


def rows(kernel):
    """A kernel on the rows of an axis."""
    def row(c):
        x, axis = c.x[0], c.get("axis", -1 if c.version >= 13 else 1)
        y = np.empty_like(x)
        c.library("nn", kernel, T=kind(x))(np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1))
        return y
    return row


def cast(c):
    to = c.get("to")
    dtype = onnx.helper.tensor_dtype_to_np_dtype(to) if to is not None else c.x[1].dtype
    saturates = bool(c.get("saturate", 1)) and dtype not in operators_narrow.INTEGERS  # integers wrap
    return operators_narrow.converted(c, c.x[0], dtype, saturates, c.get("round_mode", "up") == "up")


def copied(view):
    """An operator that only moves elements, so that its result is a copy of a view."""
    return lambda c: c.copy(view(c))


def sliced(c):
    x = c.x[0]
    starts, ends = c.input(1, c.get("starts")), c.input(2, c.get("ends"))
    axes = c.input(3, c.get("axes", range(len(starts))))
    steps = c.input(4, [1] * len(starts))
    for start, end, axis, step in zip(starts, ends, axes, steps):
        part = range(*slice(int(start), int(end), int(step)).indices(x.shape[axis]))
        if step < 0:
            x = c.take(x, np.array(part), axis)
        else:
            x = x[(slice(None),) * (axis % x.ndim) + (slice(part.start, part.stop, step),)]
    return x


def split(c):
    x, axis = c.x[0], c.get("axis", 0)
    count = len(c.node.output)
    size = -(-x.shape[axis] // count)
    sizes = c.input(1, c.get("split", [size] * (count - 1) + [x.shape[axis] - size * (count - 1)]))
    return [c.copy(part) for part in np.split(x, np.cumsum(sizes)[:-1], axis)]


def concat(c):
    axis = c.get("axis")
    shape = list(c.x[0].shape)
    shape[axis] = sum(x.shape[axis] for x in c.x)
    y = np.empty(shape, c.x[0].dtype)
    for x, part in zip(c.x, np.split(y, np.cumsum([x.shape[axis] for x in c.x])[:-1], axis)):
        c.copy(x, part)
    return y


def reshaped(c):
    x, shape = c.x[0], [int(n) for n in c.x[1]]
    if not c.get("allowzero", 0):
        shape = [x.shape[i] if n == 0 else n for i, n in enumerate(shape)]
    return x.reshape(shape)


def squeezed(c):
    axes = c.input(1, c.get("axes"))
    return np.squeeze(c.x[0], None if axes is None else tuple(int(axis) for axis in axes))


def unsqueezed(c):
    return np.expand_dims(c.x[0], tuple(int(axis) for axis in c.input(1, c.get("axes"))))


def flattened(c):
    axis = c.get("axis", 1)
    axis += c.x[0].ndim if axis < 0 else 0
    return c.x[0].reshape(product(c.x[0].shape[:axis]), -1)


def tiled(c):
    x = c.x[0]
    for axis, count in enumerate(int(n) for n in c.x[1]):
        before, after = x.shape[:axis], x.shape[axis:]
        repeated = np.broadcast_to(x.reshape(*before, 1, *after), (*before, count, *after))
        x = c.copy(repeated).reshape(*before, count * after[0], *after[1:])
    return x


def depth_to_space(c):
    (n, d, h, w), b = c.x[0].shape, c.get("blocksize")
    if c.get("mode", "DCR") == "DCR":
        view = c.x[0].reshape(n, b, b, d // b // b, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        view = c.x[0].reshape(n, d // b // b, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return c.copy(view).reshape(n, -1, h * b, w * b)


def space_to_depth(c):
    (n, d, h, w), b = c.x[0].shape, c.get("blocksize")
    order = (0, 3, 5, 1, 2, 4) if c.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return c.copy(c.x[0].reshape(n, d, h // b, b, w // b, b).transpose(order)).reshape(n, -1, h // b, w // b)


def layer_norm(c):
    x, axis = c.x[0], c.get("axis", -1) % c.x[0].ndim
    rows, row = x.shape[:axis], x.shape[axis:]
    bias = None if c.input(2) is None else c.copy(np.broadcast_to(c.x[2], row))
    y, mean, inverse = np.empty_like(x), np.empty(rows, "f4"), np.empty(rows, "f4")
    c.library("nn", "layer_norm", T=kind(x))(x, c.copy(np.broadcast_to(c.x[1], row)), bias, c.get("epsilon", 1e-5), y, mean, inverse)
    kept = rows + (1,) * len(row)
    return [y, mean.reshape(kept), inverse.reshape(kept)]


def rms_norm(c):
    x, axis = c.x[0], c.get("axis", -1) % c.x[0].ndim
    return c.library("nn", "rms_norm", T=kind(x))(x, c.copy(np.broadcast_to(c.x[1], x.shape[axis:])), c.get("epsilon", 1e-5))


def clip(c):
    x = c.x[0]
    if c.input(1) is not None:
        x = c.map2("max", x, c.input(1))
    if c.input(2) is not None:
        x = c.map2("min", x, c.input(2))
    return x


def modulo(c):
    return c.map2("remainder" if c.get("fmod", 0) else "modulo", c.x[0], c.x[1])


def mean(c):
    total = variadic("add")(c)
    return c.map2("divide", total, np.array(len(c.x), total.dtype))


def is_inf(c):
    if not c.get("detect_negative", 1):
        return c.test("is_positive_infinity", c.x[0])
    return c.test("is_infinite" if c.get("detect_positive", 1) else "is_negative_infinity", c.x[0])


def gelu(c):
    return c.map("nn.gelu_tanh" if c.get("approximate", "none") == "tanh" else "nn.gelu", c.x[0])


UNARY = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh",
    "BitwiseNot": "bit_not", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor",
    "HardSwish": "nn.hard_swish", "Log": "log", "Mish": "nn.mish", "Neg": "negate", "Reciprocal": "reciprocal", "Relu": "nn.relu",
    "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Softplus": "nn.softplus",
    "Softsign": "nn.softsign", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
}
BINARY = {
    "Add": "add", "BitwiseAnd": "bit_and", "BitwiseOr": "bit_or", "BitwiseXor": "bit_xor", "Div": "divide", "Mul": "multiply",
    "PRelu": "nn.leaky_relu", "Sub": "subtract",
}
COMPARISONS = {
    "And": "both", "Equal": "equal", "Greater": "greater", "GreaterOrEqual": "greater_or_equal", "Less": "less",
    "LessOrEqual": "less_or_equal", "Or": "either", "Xor": "one_of",
}
ROWS = {
    **operators_data.ROWS,
    **operators_graphs.rows(lambda case: result_of(case)),
    **operators_image.ROWS,
    **operators_linear.ROWS,
    **operators_nn.ROWS,
    **operators_signal.ROWS,
    **operators_steps.ROWS,
    **{name: unary(function) for name, function in UNARY.items()},
    **{name: binary(function) for name, function in BINARY.items()},
    **{name: compare(function) for name, function in COMPARISONS.items()},
    "ArgMax": arg("elementwise.greater"),
    "ArgMin": arg("elementwise.less"),
    "BitShift": lambda c: c.map2("shift_left" if c.get("direction") == "LEFT" else "shift_right", c.x[0], c.x[1]),
    "Cast": cast,
    "CastLike": cast,
    "Celu": numbers("nn.celu", alpha=1.0),
    "Clip": clip,
    "Concat": concat,
    "CumProd": cumulative("cumulative_product"),
    "CumSum": cumulative("cumulative_sum"),
    "DepthToSpace": depth_to_space,
    "Elu": numbers("nn.elu", alpha=1.0),
    "Expand": copied(lambda c: np.broadcast_to(c.x[0], np.broadcast_shapes(c.x[0].shape, tuple(int(n) for n in c.x[1])))),
    "Flatten": copied(flattened),
    "Gelu": gelu,
    "HardSigmoid": numbers("nn.hard_sigmoid", alpha=0.2, beta=0.5),
    "Identity": copied(lambda c: c.x[0]),
    "IsInf": is_inf,
    "IsNaN": lambda c: c.test("is_nan", c.x[0]),
    "LayerNormalization": layer_norm,
    "LeakyRelu": numbers("nn.leaky_relu", alpha=0.01),
    "LogSoftmax": rows("log_softmax"),
    "Max": variadic("max"),
    "Mean": mean,
    "Min": variadic("min"),
    "Mod": modulo,
    "Not": lambda c: c.compare("equal", c.x[0], np.array(False)),
    "Pow": lambda c: c.map2("power", c.x[0], c.convert(c.x[1], c.x[0].dtype)),
    "RMSNormalization": rms_norm,
    "ReduceL1": reduced("sum_axis", F="abs"),
    "ReduceL2": reduced("sum_axis", F="elementwise.square", G="sqrt"),
    "ReduceLogSum": reduced("sum_axis", G="log"),
    "ReduceLogSumExp": reduced("log_sum_exp_axis"),
    "ReduceMax": reduced("max_axis"),
    "ReduceMean": reduced("mean_axis"),
    "ReduceMin": reduced("min_axis"),
    "ReduceProd": reduced("product_axis"),
    "ReduceSum": reduced("sum_axis"),
    "ReduceSumSquare": reduced("sum_axis", F="elementwise.square"),
    "Reshape": copied(reshaped),
    "Selu": numbers("nn.selu", alpha=1.67326319217681884765625, gamma=1.05070102214813232421875),
    "Shrink": numbers("nn.shrink", bias=0.0, lambd=0.5),
    "Slice": copied(sliced),
    "Softmax": rows("softmax"),
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": copied(squeezed),
    "Sum": variadic("add"),
    "Swish": numbers("nn.swish", alpha=1.0),
    "ThresholdedRelu": numbers("nn.thresholded_relu", alpha=1.0),
    "Tile": tiled,
    "Transpose": copied(lambda c: c.x[0].transpose(c.get("perm"))),
    "Unsqueeze": copied(unsqueezed),
    "Where": lambda c: c.select(*c.x),
}


def result_of(case):
    """Returns the outputs of a case as a list."""
    if case.node.op_type not in ROWS:
        raise Missing("no row")
    got = ROWS[case.node.op_type](case)
    return got if isinstance(got, list) else [got]
