"""The rows of first.py: a kernel with sizes, inputs and expected results, and torch's own function for the
same work."""

import dataclasses
import typing

HEAD = 128  # size of an attention head


@dataclasses.dataclass
class Row:
    """One measurement. `most_error` bounds the norm of the difference from the reference, divided by the norm
    of the reference."""
    what: str
    level: str
    module: str
    kernel: str
    sizes: dict
    tensors: dict
    out: str
    reference: typing.Callable  # returns f64, for all of `out` or for its first part along dimension 1
    baseline: typing.Callable   # torch's own function; only called if torch is used
    most_error: float
    operations: float = 0       # used to compute the rate; if 0, the rate counts bytes
    bytes: float = 0
    scalars: dict = dataclasses.field(default_factory=dict)
    entry: str = ""             # the kernel's name in PTX, if it contains the values of generics


def matmul_bf16(a, level, m, k, n):
    x, w = a.draw("bf16", m, k), a.draw("bf16", k, n)
    return Row(f"matmul bf16 {m} x {k} x {n} {level}", level, "matmul", "matmul_bf16", {"M": m, "K": k, "N": n},
               {"a": x, "b": w, "c": a.poisoned("bf16", m, n)}, "c", lambda: a.wide(x) @ a.wide(w), lambda: x @ w,
               4e-3, 2 * m * k * n)


def matmul_f32(a, level, n):
    x, w = a.draw("f32", n, n), a.draw("f32", n, n)
    return Row(f"matmul f32 {n} cubed {level}", level, "matmul", "matmul_f32", {"M": n, "K": n, "N": n},
               {"a": x, "b": w, "c": a.poisoned("f32", n, n)}, "c", lambda: a.wide(x) @ a.wide(w), lambda: x @ w,
               1e-5, 2 * n ** 3)


def matmul_i8(a, m, n):
    x, w = a.draw("i8", m, n), a.draw("i8", n, n)
    return Row(f"matmul i8 {m} x {n} x {n}", "sm_90a", "bytes", "signed", {"M": m, "K": n, "N": n},
               {"a": x, "b": w, "c": a.poisoned("i32", m, n)}, "c", lambda: a.wide(x) @ a.wide(w).T,
               lambda: a.xp._int_mm(x, w.t()), 0, 2 * m * n * n)


def matmul_f8(a, m, n):
    x, w, one = a.draw("f8e4m3", m, n), a.draw("f8e4m3", n, n), a.one()

    def by_torch():
        return a.xp._scaled_mm(x, w.t(), scale_a=one, scale_b=one, out_dtype=a.xp.bfloat16)

    return Row(f"matmul f8e4m3 {m} x {n} x {n}", "sm_90a", "bytes", "floats", {"M": m, "K": n, "N": n},
               {"a": x, "b": w, "c": a.poisoned("f32", m, n)}, "c", lambda: a.wide(x) @ a.wide(w).T, by_torch,
               1e-3, 2 * m * n * n, entry="floats_f8e4m3_f8e4m3")


def attention(a, level, batch, heads, length):
    shape = (batch, heads, length, HEAD)
    q, k, v = (a.draw("bf16", *shape) for _ in range(3))
    scale = HEAD ** -0.5

    def first_head():
        wide_q, wide_k, wide_v = (a.wide(each)[:, :1] for each in (q, k, v))
        weights = softmax_of(a, scale * (wide_q @ wide_k.swapaxes(-1, -2)))
        return weights @ wide_v

    def by_torch():
        from torch.nn.attention import SDPBackend, sdpa_kernel
        with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION], set_priority=True):
            return a.xp.nn.functional.scaled_dot_product_attention(q, k, v)

    return Row(f"attention bf16 D {HEAD} {batch} x {heads} x {length} {level}", level, "turns", "attention",
               {"B": batch, "H": heads, "L": length, "S": length}, {"q": q, "k": k, "v": v, "o": a.poisoned("bf16", *shape)}, "o",
               first_head, by_torch, 1e-2, 4 * batch * heads * length ** 2 * HEAD, scalars={"scale": scale}, entry="attention_bf16")


def softmax_of(a, wide):
    weights = a.xp.exp(wide - a.xp.amax(wide, axis=-1, keepdims=True))
    return weights / a.xp.sum(weights, axis=-1, keepdims=True)


def softmax(a, r, c):
    x = a.draw("f32", r, c)
    return Row("softmax", "sm_90a", "softmax", "softmax", {"R": r, "C": c}, {"x": x, "y": a.poisoned("f32", r, c)}, "y",
               lambda: softmax_of(a, a.wide(x)), lambda: a.xp.softmax(x, 1), 1e-5, bytes=8 * r * c)


def layer_norm(a, r, c):
    x, gain, bias = a.draw("f32", r, c), a.draw("f32", c), a.draw("f32", c)
    eps = 1e-5

    def reference():
        wide = a.wide(x)
        centered = wide - wide.mean(-1)[:, None]
        return centered / a.xp.sqrt((centered ** 2).mean(-1)[:, None] + eps) * a.wide(gain) + a.wide(bias)

    return Row("layer_norm", "sm_90a", "memory", "layer_norm", {"R": r, "C": c},
               {"x": x, "gain": gain, "bias": bias, "y": a.poisoned("f32", r, c)}, "y", reference,
               lambda: a.xp.nn.functional.layer_norm(x, (c,), gain, bias, eps), 1e-5, bytes=8 * r * c, scalars={"eps": eps})


def row_sum(a, r, c):
    x = a.draw("f32", r, c)
    return Row("row_sum", "sm_90a", "memory", "row_sum", {"R": r, "C": c}, {"x": x, "y": a.poisoned("f32", r)}, "y",
               lambda: a.wide(x).sum(1), lambda: x.sum(1), 1e-5, bytes=4 * r * c)


def column_sum(a, r, c):
    x = a.draw("f32", r, c)
    return Row("column_sum", "sm_90a", "memory", "column_sum", {"R": r, "C": c}, {"x": x, "y": a.poisoned("f32", c)}, "y",
               lambda: a.wide(x).sum(0), lambda: x.sum(0), 1e-5, bytes=4 * r * c)


def transpose(a, r, c):
    x = a.draw("f32", r, c)
    return Row("transpose", "sm_90a", "memory", "transpose", {"R": r, "C": c}, {"x": x, "y": a.poisoned("f32", c, r)}, "y",
               lambda: a.wide(x).T, lambda: x.t().contiguous(), 0, bytes=8 * r * c)


def matvec(a, r, c):
    w, x = a.draw("f32", r, c), a.draw("f32", c)
    return Row("matvec", "sm_90a", "memory", "matvec", {"R": r, "C": c}, {"a": w, "x": x, "y": a.poisoned("f32", r)}, "y",
               lambda: a.wide(w) @ a.wide(x), lambda: w @ x, 1e-5, bytes=4 * r * c)


def gather(a, r, c):
    table, rows = a.draw("f32", r, c), a.integers("i32", 0, r, r)
    return Row("gather of rows", "sm_90a", "memory", "gather", {"V": r, "C": c, "R": r},
               {"t": table, "ix": rows, "y": a.poisoned("f32", r, c)}, "y",
               lambda: a.wide(table)[a.indices(rows)], lambda: table[rows], 0, bytes=8 * r * c)


def gelu(a, n):
    x = a.draw("f32", n)

    def reference():
        wide = a.wide(x)
        return 0.5 * wide * (1 + a.erf(wide * 0.5 ** 0.5))

    return Row("gelu", "sm_90a", "memory", "gelu", {"N": n}, {"x": x, "y": a.poisoned("f32", n)}, "y", reference,
               lambda: a.xp.nn.functional.gelu(x), 1e-6, bytes=8 * n)


def jacobi(a, h, w):
    x, cross = a.draw("f32", h, w), a.cross()

    def reference():
        wide = a.wide(x)
        total = a.xp.zeros_like(wide)
        total[1:] += wide[:-1]
        total[:-1] += wide[1:]
        total[:, 1:] += wide[:, :-1]
        total[:, :-1] += wide[:, 1:]
        return 0.25 * total

    def by_torch():
        return a.xp.nn.functional.conv2d(x[None, None], cross, padding=1)

    return Row("jacobi", "sm_90a", "memory", "jacobi", {"H": h, "W": w}, {"x": x, "y": a.poisoned("f32", h, w)}, "y", reference,
               by_torch, 1e-6, bytes=8 * h * w)


def copy(a, type_, n):
    x, y = a.draw(type_, n), a.poisoned(type_, n)
    element_bytes = a.place(x)[1]
    return Row(f"copy {type_}", "sm_90a", "memory", f"copy_{type_}", {"N": n}, {"x": x, "y": y}, "y", lambda: a.wide(x),
               lambda: y.copy_(x), 0, bytes=2 * element_bytes * n)


FULL = {"matmul": [(256, 192, 512), (129, 77, 131), (8192, 8192, 8192), (4096, 4096, 4096), (4095, 4088, 4104), (8192, 512, 8192),
                   (16, 4096, 4096)],
        "matmul_sm_80": [(256, 192, 512), (129, 77, 131), (8192, 8192, 8192), (4096, 4096, 4096), (16, 4096, 4096)],
        "matmul_f32": 4096, "bytes": [(200, 4096), (4096, 4096), (8192, 4096)],
        "attention": [(1, 2, 200), (2, 16, 8192), (32, 32, 1024)], "attention_sm_80": [(2, 16, 8192)],
        "matrix": [(16384, 8192)], "gelu": [1 << 27], "copies": {"f32": [1 << 28], "bf16": [1 << 29]}}
# Rows of 648 elements are aligned for vectors of any type, unlike those of 131, and end with an incomplete block.
SMALL = {"matmul": [(129, 77, 131), (70, 136, 264)], "matmul_sm_80": [(129, 72, 131)], "matmul_f32": 70,
         "bytes": [(70, 144)], "attention": [(1, 2, 130)], "attention_sm_80": [(1, 1, 70)],
         "matrix": [(37, 131), (150, 648)], "gelu": [1003, 4264], "copies": {"f32": [1003, 4264], "bf16": [1003, 4264]}}


def makers(a, sizes):
    """Returns functions that make the rows, so that a row's tensors are only generated when it
    runs."""
    def one(function, *arguments):
        return lambda: function(a, *arguments)

    for level, key in (("sm_90a", "matmul"), ("sm_80", "matmul_sm_80")):
        for shape in sizes[key]:
            yield one(matmul_bf16, level, *shape)
        yield one(matmul_f32, level, sizes["matmul_f32"])
    for function in (matmul_i8, matmul_f8):
        for shape in sizes["bytes"]:
            yield one(function, *shape)
    for level, key in (("sm_90a", "attention"), ("sm_80", "attention_sm_80")):
        for shape in sizes[key]:
            yield one(attention, level, *shape)
    for function in (softmax, layer_norm, row_sum, column_sum, transpose, matvec, gather, jacobi):
        for shape in sizes["matrix"]:
            yield one(function, *shape)
    for n in sizes["gelu"]:
        yield one(gelu, n)
    for type_, lengths in sizes["copies"].items():
        for n in lengths:
            yield one(copy, type_, n)
