"""The rows of the comparison: a kernel, its sizes and arrays, and NumPy's result."""
import dataclasses
from collections.abc import Callable

import numpy

# NumPy has no bf16 type, so bf16 values are stored as 16-bit integers.
STORAGE = {"f32": numpy.float32, "f16": numpy.float16, "bf16": numpy.uint16, "i8": numpy.int8, "i32": numpy.int32}


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    dtype: str
    size: str
    work: str  # the name that the peers use for this work
    file: str
    function: str
    sizes: dict
    shapes: dict  # a shape for each array; the output is last
    reference: Callable  # computed from the arrays in float64
    out_dtype: str = "f32"
    tolerance: float = 2e-5
    defines: tuple = ()
    scalars: dict = dataclasses.field(default_factory=dict)

    @property
    def output(self):
        return list(self.shapes)[-1]

    def arrays(self, random):
        """Returns random inputs, and an uninitialized output."""
        made = {name: drawn(random, self.dtype, shape) for name, shape in self.shapes.items() if name != self.output}
        return made | {self.output: room(STORAGE[self.out_dtype], self.shapes[self.output])}

    def expected(self, arrays):
        inputs = [as_float64(array, self.dtype) for name, array in arrays.items() if name != self.output]
        return self.reference(*inputs)


def room(storage, shape):
    """Returns an array that starts at a cache line, like PyTorch's arrays."""
    count = int(numpy.prod(shape)) * numpy.dtype(storage).itemsize
    bytes_ = numpy.empty(count + 64, numpy.uint8)
    start = -bytes_.ctypes.data % 64
    return bytes_[start:start + count].view(storage).reshape(shape)


def drawn(random, dtype, shape):
    array = room(STORAGE[dtype], shape)
    if dtype == "i8":
        array[...] = random.integers(-128, 128, shape)
    elif dtype == "bf16":
        array[...] = (random.standard_normal(shape, numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
    else:
        array[...] = random.standard_normal(shape, numpy.float32)
    return array


def as_float64(array, dtype):
    if dtype == "bf16":
        array = (array.astype(numpy.uint32) << 16).view(numpy.float32)
    return array.astype(numpy.float64)


def attended(q, k, v):
    scores = q @ numpy.swapaxes(k, -1, -2) / numpy.sqrt(q.shape[-1])
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    return weights @ v / weights.sum(-1, keepdims=True)


def convolved(x, w):
    """Convolves with 3 x 3 weights, and pads with one row and column of zeros on each side."""
    padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return numpy.moveaxis(numpy.tensordot(windows, w, ((1, 4, 5), (1, 2, 3))), 3, 1)


def softmax(x):
    weights = numpy.exp(x - x.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def layernorm(x, scale, shift):
    return (x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + 1e-5) * scale + shift


def product(dtype, m, n, k):
    shared = {"name": "matmul", "dtype": dtype, "size": f"{m}x{n}x{k}", "sizes": {"M": m, "N": n, "K": k}, "work": "product",
              "shapes": {"a": (m, k), "b": (k, n), "c": (m, n)}, "reference": numpy.matmul}
    if dtype == "i8":
        return Row(file="matmul_types.kdl", function="matmul_bytes_i8", out_dtype="i32", tolerance=0, **shared)
    if dtype == "f32":
        return Row(file="matmul.kdl", function="matmul", **shared)
    return Row(file="matmul_types.kdl", function=f"matmul_half_{dtype}", **shared)


def matvec(m, k):
    return Row("matvec", "f32", f"{m}x{k}", "matvec", "matmul_operands.kdl", "matvec", {"M": m, "K": k},
               {"a": (m, k), "x": (k,), "y": (m,)}, numpy.matmul)


def attention(b, h, l, d, keys=None):
    keys = keys or l
    size = f"{b}x{h}x{l}x{d}" + (f", {keys} keys" if keys != l else "")
    queries, cache = (b, h, l, d), (b, h, keys, d)
    return Row("attention", "f32", size, "attention", "attention.kdl", "attention", {"B": b, "H": h, "L": l, "S": keys},
               {"q": queries, "k": cache, "v": cache, "o": queries}, attended, defines=(f"D={d}",), scalars={"scale": d ** -0.5})


def decode(h, s, d):
    return Row("decode", "f32", f"{h}x{s}x{d}", "decode", "attention.kdl", "decode", {"H": h, "S": s},
               {"q": (h, d), "k": (h, s, d), "v": (h, s, d), "o": (h, d)}, lambda q, k, v: attended(q[:, None], k, v)[:, 0],
               defines=(f"D={d}",), scalars={"scale": d ** -0.5})


def conv(n, c, o, h):
    return Row("conv 3x3", "f32", f"{n}x{c}x{h}, {o} out", "conv", "conv.kdl", "conv",
               {"N": n, "C": c, "H": h, "W": h, "O": o, "OH": h, "OW": h},
               {"x": (n, c, h, h), "w": (o, c, 3, 3), "y": (n, o, h, h)}, convolved, defines=("S=1", "P=1", "KH=3", "KW=3"))


def rows(name, work, r, c, output, reference, more=()):
    return Row(name, "f32", f"{r}x{c}", work, "rows.kdl", work, {"R": r, "C": c},
               {"x": (r, c), **{vector: (c,) for vector in more}, "y": output}, reference)


ROWS = [
    *(product("f32", n, n, n) for n in (64, 96, 128, 256, 512, 1024)),
    product("f32", 1, 4096, 4096),
    *(product("bf16", n, n, n) for n in (256, 1024)),
    product("bf16", 128, 4096, 4096),
    product("bf16", 1, 4096, 4096),
    product("i8", 1024, 1024, 1024),
    matvec(4096, 4096),
    attention(1, 8, 1024, 64),
    attention(4, 8, 256, 64),
    *(attention(1, 32, l, d, 1024) for d in (64, 128) for l in (1, 2, 7)),
    decode(32, 1024, 64),
    decode(32, 1024, 128),
    conv(1, 64, 64, 56),
    conv(8, 128, 128, 28),
    conv(1, 3, 64, 224),
    rows("row sum", "row_sum", 8192, 8192, (8192,), lambda x: x.sum(1)),
    rows("row sum", "row_sum", 4096, 1024, (4096,), lambda x: x.sum(1)),
    rows("column sum", "column_sum", 256, 512, (512,), lambda x: x.sum(0)),
    *(rows("softmax", "softmax", r, c, (r, c), softmax) for r, c in ((256, 512), (4096, 1024))),
    *(rows("layernorm", "layernorm", r, c, (r, c), layernorm, ("scale", "shift")) for r, c in ((256, 512), (256, 4096))),
]
