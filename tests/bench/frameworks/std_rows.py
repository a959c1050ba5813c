"""The rows of the table of the library: a kernel of std, its sizes and arguments, and the same computation in PyTorch, if it has one."""

import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as nn

aten = torch.ops.aten


@dataclasses.dataclass(frozen=True)
class Row:
    kernel: str  # such as "nn.softmax"
    sizes: dict  # a pack of dimensions has one dimension
    peer: Callable | None = None  # gets the arguments by name, and returns the outputs in the order of the parameters; None: no counterpart
    defines: str = "T=f32"
    scalars: dict = dataclasses.field(default_factory=dict)
    draw: dict = dataclasses.field(default_factory=dict)  # how to draw a tensor from its shape, unless its elements are normal floats
    random: bool = False  # whether results of the two differ, because their random numbers do


def below(limit):
    return lambda shape: torch.randint(0, limit, shape)


def uniform(low, high):
    return lambda shape: torch.empty(shape).uniform_(low, high)


def bytes_(low, high, dtype=torch.uint8):
    return lambda shape: torch.randint(low, high, shape, dtype=dtype)


def bools(shape):
    return torch.rand(shape) < 0.5


def distinct(limit):
    """Indices that differ within each row of the second dimension."""
    return lambda shape: torch.rand(shape[0], limit).argsort(1)[:, :shape[1], None].expand(shape).contiguous()


def logarithms(shape):
    return torch.log_softmax(torch.randn(shape), -1)


def ones(shape):
    return torch.ones(shape)


MANY = {"N": 1 << 20}
ROWS = {"R": 4096, "C": 1024}
CHANNELS = {"N": 8, "C": 64, "P": 3136}
COLUMNS = {"A": 16, "R": 256, "B": 256}
IMAGES = {"N": 2, "G": 1, "C": 32, "O": 32, "D": 1, "H": 56, "W": 56, "OD": 1, "OH": 56, "OW": 56}
POOLS = {"N": 64, "D": 1, "H": 112, "W": 112, "OD": 1, "OH": 55, "OW": 55}
WINDOWS = "KD=1,KH=3,KW=3,SD=1,SH=1,SW=1,PD=0,PH=1,PW=1,DID=1,DIH=1,DIW=1,T=f32"
HALVES = "KD=1,KH=3,KW=3,SD=1,SH=2,SW=2,PD=0,PH=0,PW=0,DID=1,DIH=1,DIW=1,T=f32"
SQUARE = {"M": 512, "K": 512, "N": 512}
INDEXED = {"A": 64, "R": 4096, "N": 4096, "B": 4}
STEP = {"B": 32, "I": 256, "H": 256}
FOLDS = {"sum": lambda x: x.sum(1), "mean": lambda x: x.mean(1), "product": lambda x: x.prod(1), "max": lambda x: x.amax(1),
         "min": lambda x: x.amin(1), "log_sum_exp": lambda x: x.logsumexp(1)}
SCANS = {"sum": torch.cumsum, "product": torch.cumprod}
UNARY = {"exp": torch.exp, "log1p": torch.log1p, "sin": torch.sin, "tanh": torch.tanh, "erf": torch.erf, "sqrt": torch.sqrt,
         "nn.relu": nn.relu, "nn.gelu": nn.gelu, "nn.silu": nn.silu, "nn.softplus": nn.softplus, "nn.hard_swish": nn.hardswish, "nn.mish": nn.mish}


def flat(x):
    """Returns images without their groups, if there is only one, and without a dimension D of 1."""
    return x.squeeze(2).flatten(0, 1) if x.dim() == 4 else x[:, 0].squeeze(2)


def scattered(reduce):
    return lambda t: t.y.scatter_reduce_(1, t.index, t.x, reduce)


def pooled(x, kernel, **options):
    return kernel(x.squeeze(1)[:, None], 3, 2, **options)


def rotated(t):
    x0, x1 = t.x[:, :, :, 0], t.x[:, :, :, 1]
    c, s = t.cosine[:, :, None], t.sine[:, :, None]
    return torch.stack((x0 * c - x1 * s, x0 * s + x1 * c), 3)


def rotated_pairs(t):
    x0, x1 = t.x[..., 0], t.x[..., 1]
    c, s = t.cosine[:, :, None], t.sine[:, :, None]
    return torch.stack((x0 * c - x1 * s, x0 * s + x1 * c), -1)


def attended_backward(t):
    y, l, *_ = aten._scaled_dot_product_flash_attention_for_cpu(t.q[None], t.k[None], t.v[None], scale=0.125)
    return aten._scaled_dot_product_flash_attention_for_cpu_backward(t.g[None], t.q[None], t.k[None], t.v[None], y, l, 0.0, False, scale=0.125)


def cell(t, gates):
    """Returns the parts of the gates of a recurrent step."""
    return torch.addmm(t.w_bias.flatten(), t.x, t.w.flatten(0, 1).T).chunk(gates, 1), torch.addmm(t.r_bias.flatten(), t.h, t.r.flatten(0, 1).T).chunk(gates, 1)


def lstm(t):
    i, o, f, g = torch.addmm(t.bias.flatten(), torch.cat((t.x, t.h), 1), torch.cat((t.w, t.r), 2).flatten(0, 1).T).chunk(4, 1)
    c = torch.sigmoid(f) * t.c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def gru(t):
    (wz, wr, wh), (rz, rr, rh) = cell(t, 3)
    z, r = torch.sigmoid(wz + rz), torch.sigmoid(wr + rr)
    return z * t.h + (1 - z) * torch.tanh(wh + r * rh)


ELEMENTS = [
    *(Row("elementwise.map", MANY, lambda t, f=f: f(t.x), f"F={name},T=f32", draw={"x": uniform(0, 4)}) for name, f in UNARY.items()),
    Row("elementwise.map", MANY, lambda t: torch.exp(t.x), "F=exp,T=f64"),
    Row("elementwise.map", MANY, lambda t: nn.gelu(t.x), "F=nn.gelu,T=bf16"),
    Row("elementwise.map_with", MANY, lambda t: nn.leaky_relu(t.x, 0.1), "F=nn.leaky_relu,T=f32", {"a": 0.1}),
    Row("elementwise.map_with2", MANY, lambda t: torch.clamp(t.x, 0, 1), "F=clamp,T=f32", {"a": 0.0, "b": 1.0}),
    *(Row("elementwise.map2", MANY, lambda t, f=f: f(t.x, t.y), f"F={name},T=f32")
      for name, f in {"add": torch.add, "multiply": torch.mul, "divide": torch.div, "max": torch.maximum, "power": torch.pow}.items()),
    Row("elementwise.map2", MANY, lambda t: t.x + t.y, "F=add,T=i32"),
    Row("elementwise.test", MANY, lambda t: torch.isnan(t.x), "F=is_nan,T=f32"),
    Row("elementwise.compare", MANY, lambda t: t.x < t.y, "F=less,T=f32"),
    Row("elementwise.select", MANY, lambda t: torch.where(t.c, t.x, t.y), draw={"c": bools}),
    Row("elementwise.copied", MANY, lambda t: t.x.clone()),
    *(Row("convert.convert", MANY, lambda t, to=to: t.x.to(to), f"T={source},U={name}")
      for source, name, to in [("f32", "bf16", torch.bfloat16), ("bf16", "f32", torch.float32), ("f32", "i32", torch.int32),
                               ("i32", "f32", torch.float32), ("f32", "f16", torch.float16)]),
]

REDUCTIONS = [
    *(Row(f"reduce.{name}_rows", {"R": 1024, "C": 1024}, lambda t, f=f: f(t.x)) for name, f in FOLDS.items()),
    *(Row(f"reduce.{name}_axis", COLUMNS, lambda t, f=f: f(t.x)) for name, f in FOLDS.items()),
    Row("reduce.argmax_rows", {"R": 1024, "C": 1024}, lambda t: t.x.argmax(1)),
    Row("reduce.argmin_rows", {"R": 1024, "C": 1024}, lambda t: t.x.argmin(1)),
    Row("reduce.arg_axis", COLUMNS, lambda t: t.x.argmax(1), "F=elementwise.greater,T=f32", {"last": False}),
    *(Row(f"reduce.cumulative_{name}_rows", {"R": 1024, "C": 1024}, lambda t, f=f: f(t.x, 1)) for name, f in SCANS.items()),
    *(Row(f"reduce.cumulative_{name}", COLUMNS, lambda t, f=f: f(t.x, 1), "T=f32", {"reversed": False, "exclusive": False})
      for name, f in SCANS.items()),
    Row("sort.top_k", {"A": 64, "R": 4096, "K": 8, "B": 1}, lambda t: t.x.topk(8, 1), "F=elementwise.greater,T=f32"),
    Row("sort.unique", {"N": 1024, "R": 4}, None, "T=f32", {"ordered": True}, {"x": lambda shape: torch.randint(0, 4, shape).float()}),
]

PRODUCTS = [
    Row("linalg.matmul", SQUARE, lambda t: t.a @ t.b),
    Row("linalg.matmul", {"M": 1, "K": 2048, "N": 2048}, lambda t: t.a @ t.b),
    Row("linalg.matmul", SQUARE, lambda t: t.a @ t.b, "T=f64"),
    Row("linalg.batched_matmul", {"B": 64, "M": 128, "K": 128, "N": 128}, lambda t: torch.bmm(t.a, t.b)),
    *(Row(f"linalg.{name}", SQUARE, lambda t, f=f: torch.addmm(t.c, *f(t.a, t.b), beta=0.5, alpha=2.0), "T=f32", {"alpha": 2.0, "beta": 0.5})
      for name, f in {"gemm": lambda a, b: (a, b), "gemm_nt": lambda a, b: (a, b.T), "gemm_tn": lambda a, b: (a.T, b),
                      "gemm_tt": lambda a, b: (a.T, b.T)}.items()),
    Row("linalg.integer_matmul", SQUARE, None, "A=u8,B=i8", draw={"a": bytes_(0, 256), "b": bytes_(-128, 128, torch.int8), "a_zero": bytes_(0, 256),
                                                                  "b_zero": bytes_(-128, 128, torch.int8)}),
    *(Row(f"linalg.{name}", {"M": m, "K": 2048, "N": 512, "C": 64}, None, "T=f32", draw={
        "w": bytes_(0, 256), "zero": bytes_(0, 16), **({"scale": lambda shape: bytes_(120, 130)(shape).view(torch.float8_e8m0fnu)} if name == "matmul_mxfp4" else {})})
      for name in ("matmul_packed", "matmul_int4", "matmul_mxfp4") for m in (1, 64)),
    Row("linalg.triangle", {"C": 16, "M": 256, "N": 256}, lambda t: torch.tril(t.x), "T=f32", {"upper": False, "shift": 0}),
    Row("linalg.diagonal", {"M": 1024, "N": 1024}, lambda t: torch.eye(1024), "T=f32", {"shift": 0}),
    Row("linalg.quantize", MANY, None, "T=f32,Q=u8", draw={"scale": uniform(0.2, 2), "zero": bytes_(0, 20)}),
    Row("linalg.dequantize", MANY, lambda t: t.scale * (t.x.float() - t.zero), "T=f32,Q=u8", draw={"x": bytes_(0, 256), "zero": bytes_(0, 20)}),
    Row("linalg.quantization_of_range", MANY, None, "", draw={"least": uniform(-2, -1), "most": uniform(1, 2)}),
    Row("linalg.factorize", {"B": 16, "N": 128}, lambda t: torch.linalg.lu_factor(t.x)[0]),
    Row("linalg.solve_triangular", {"B": 16, "N": 128, "M": 128}, lambda t: torch.linalg.solve_triangular(t.a, t.x, upper=False), "T=f32",
        {"upper": False, "unit": False}, {"a": lambda shape: torch.randn(shape) * 0.1 + 2 * torch.eye(shape[-1])}),
]

NETWORKS = [
    Row("nn.softmax", ROWS, lambda t: torch.softmax(t.x, 1)),
    Row("nn.log_softmax", ROWS, lambda t: torch.log_softmax(t.x, 1)),
    Row("nn.layer_norm", ROWS, lambda t: torch.native_layer_norm(t.x, (1024,), t.scale, t.bias, 1e-5)[0], "T=f32", {"epsilon": 1e-5}),
    Row("nn.rms_norm", ROWS, lambda t: nn.rms_norm(t.x, (1024,), t.scale, 1e-5), "T=f32", {"epsilon": 1e-5}),
    Row("nn.batch_norm", CHANNELS, lambda t: nn.batch_norm(t.x, t.mean, t.variance, t.scale, t.bias, False, 0.1, 1e-5), "T=f32", {"epsilon": 1e-5},
        {"variance": uniform(0.5, 2)}),
    Row("nn.channel_moments", CHANNELS, lambda t: torch.var_mean(t.x, (0, 2), correction=0)[::-1]),
    Row("nn.local_response_norm", CHANNELS, lambda t: nn.local_response_norm(t.x, 5, 0.5, 0.75, 1.0), "SIZE=5,T=f32", {"alpha": 0.5, "beta": 0.75, "bias": 1.0}),
    Row("nn.nll_loss", CHANNELS, lambda t: nn.nll_loss(t.x, t.label, t.weight, reduction="none"), "T=f32,L=i64", {"ignored": -100}, {"label": below(64)}),
    Row("nn.attention", {"B": 1, "H": 8, "G": 8, "S": 512, "L": 512, "D": 64, "E": 64},
        lambda t: nn.scaled_dot_product_attention(t.q, t.k, t.v, t.mask, scale=0.125), "T=f32", {"scale": 0.125, "cap": 0.0, "causal": False}, {"offset": below(1)}),
    Row("nn.rotary", {"B": 4, "S": 512, "H": 8, "P": 32}, rotated),
    Row("nn.rotary_interleaved", {"B": 4, "S": 512, "H": 8, "P": 32}, rotated_pairs),
    Row("nn.gather", {"A": 1, "R": 30000, "N": 4096, "B": 512}, lambda t: t.x.index_select(1, t.index), "T=f32,I=i64", draw={"index": below(30000)}),
    Row("nn.conv2d", {"N": 2, "G": 1, "C": 64, "O": 64, "H": 56, "W": 56, "OH": 56, "OW": 56},
        lambda t: nn.conv2d(t.x[:, 0], t.w[0], t.bias[0], padding=1), "KH=3,KW=3,SH=1,SW=1,PH=1,PW=1,DH=1,DW=1,T=f32"),
    Row("windows.conv3d", IMAGES | {"D": 8, "OD": 8}, lambda t: nn.conv3d(t.x[:, 0], t.w[0], t.bias[0], padding=1),
        WINDOWS.replace("KD=1", "KD=3").replace("PD=0", "PD=1")),
    Row("windows.conv_transpose3d", IMAGES | {"OH": 113, "OW": 113}, lambda t: nn.conv_transpose2d(t.x[:, 0, :, 0], t.w[0, :, :, 0], t.bias[0], stride=2),
        HALVES),
    Row("windows.max_pool3d", POOLS, lambda t: nn.max_pool2d(t.x, 3, 2, return_indices=True), HALVES),
    Row("windows.average_pool3d", POOLS, lambda t: nn.avg_pool2d(t.x, 3, 2), HALVES, {"border": False, "after_d": 0, "after_h": 0, "after_w": 0}),
    Row("windows.power_pool3d", POOLS, lambda t: nn.lp_pool2d(t.x.abs(), 2, 3, 2), HALVES, {"p": 2.0}),
    Row("windows.col2im", {"N": 64, "D": 1, "H": 56, "W": 56, "KD": 1, "KH": 3, "KW": 3, "LD": 1, "LH": 54, "LW": 54},
        lambda t: nn.fold(t.x.reshape(64, 9, 2916), (56, 56), 3), "SD=1,SH=1,SW=1,PD=0,PH=0,PW=0,DID=1,DIH=1,DIW=1,T=f32"),
    Row("windows.deformable_conv2d", {"N": 1, "G": 1, "C": 16, "O": 16, "M": 1, "H": 28, "W": 28, "OH": 26, "OW": 26}, None,
        "KH=3,KW=3,SH=1,SW=1,PH=0,PW=0,DIH=1,DIW=1,T=f32"),
]

GRADIENTS = [
    *(Row("gradients.map_backward", MANY, f, f"F={name},T=f32") for name, f in {
        "relu": lambda t: aten.threshold_backward(t.g, t.x, 0), "gelu": lambda t: aten.gelu_backward(t.g, t.x),
        "silu": lambda t: aten.silu_backward(t.g, t.x)}.items()),
    Row("gradients.softmax_backward", ROWS, lambda t: aten._softmax_backward_data(t.g, t.y, 1, torch.float32)),
    Row("gradients.log_softmax_backward", ROWS, lambda t: aten._log_softmax_backward_data(t.g, t.y, 1, torch.float32), draw={"y": logarithms}),
    Row("gradients.layer_norm_backward", ROWS, lambda t: aten.native_layer_norm_backward(
        t.g, t.x, (1024,), t.mean[:, None], t.inverse[:, None], t.scale, t.scale, (True, True, True)), draw={"inverse": uniform(0.5, 2)}),
    Row("gradients.rms_norm_backward", ROWS, None, "T=f32", {"epsilon": 1e-5}),
    Row("gradients.batch_norm_backward", CHANNELS, lambda t: aten.native_batch_norm_backward(
        t.g, t.x, t.scale, None, None, t.mean, torch.rsqrt(t.variance + 1e-5), True, 1e-5, (True, True, True)), "T=f32", {"epsilon": 1e-5},
        {"variance": uniform(0.5, 2)}),
    Row("gradients.cross_entropy_backward", ROWS, None, "T=f32,L=i64", {"ignored": -100}, {"label": below(1024), "y": logarithms}),
    Row("gradients.conv3d_backward", IMAGES, lambda t: aten.convolution_backward(
        t.g[:, 0, :, 0], t.x[:, 0, :, 0], torch.empty(32, 32, 3, 3), (32,), (1, 1), (1, 1), (1, 1), False, (0, 0), 1, (False, True, True))[1:], WINDOWS),
    Row("gradients.attention_backward", {"N": 8, "S": 256, "L": 256, "D": 64, "E": 64}, None, "T=f32", {"scale": 0.125, "causal": False}),
]

OTHERS = [
    Row("index.gather_elements", INDEXED, lambda t: t.x.gather(1, t.index), "T=f32,I=i64", draw={"index": below(4096)}),
    Row("index.one_hot", {"A": 8192, "N": 64, "B": 1}, lambda t: nn.one_hot(t.index, 64), "T=i64", {"on": 1, "off": 0}, {"index": below(64)}),
    Row("index.scatter_elements", INDEXED, lambda t: t.y.scatter_(1, t.index, t.x), "T=f32,I=i64", draw={"index": distinct(4096)}),
    Row("index.scatter_add", INDEXED, lambda t: t.y.scatter_add_(1, t.index, t.x), "T=f32,I=i64", draw={"index": below(4096)}, random=True),
    *(Row(f"index.scatter_{name}", INDEXED, scattered(how), "T=f32,I=i64", draw={"index": below(4096)}, random=True)
      for name, how in {"max": "amax", "min": "amin", "multiply": "prod"}.items()),
    Row("index.positions", MANY, lambda t: t.x.nonzero(), "", draw={"x": bools}),
    Row("index.nonzero", MANY, lambda t: t.x.nonzero(), draw={"x": lambda shape: nn.relu(torch.randn(shape))}),
    Row("index.compress", MANY, lambda t: t.x[t.keep], draw={"keep": bools}),
    Row("index.sequence", MANY, lambda t: torch.arange(1.0, 1.0 + (1 << 20)), "T=f32", {"start": 1.0, "step": 1.0}),
    Row("random.uniform", MANY, lambda t: torch.rand(1 << 20), "T=f32", {"seed": 1, "first": 0, "low": 0.0, "high": 1.0}, random=True),
    Row("random.normal", MANY, lambda t: torch.randn(1 << 20), "T=f32", {"seed": 1, "first": 0, "mean": 0.0, "deviation": 1.0}, random=True),
    Row("random.dropout", MANY, lambda t: torch.native_dropout(t.x, 0.5, True), "T=f32", {"seed": 1, "first": 0, "share": 0.5}, random=True),
    Row("random.words", MANY, None, "", {"seed": 1, "first": 0}),
    Row("image.grid_sample", {"N": 2, "C": 16, "D": 1, "H": 56, "W": 56, "OD": 1, "OH": 56, "OW": 56},
        lambda t: nn.grid_sample(t.x[:, :, 0], t.grid[:, 0, :, :, :2], align_corners=False), "F=linear,P=zeros,KD=1,K=2,T=f32", {"aligned": False},
        {"grid": uniform(-1, 1)}),
    Row("image.affine_grid", {"N": 4, "D": 16, "H": 64, "W": 64}, lambda t: nn.affine_grid(t.theta, (4, 1, 16, 64, 64), align_corners=False), "T=f32",
        {"aligned": False}),
    Row("resize.resize_nearest", {"A": 256, "N": 128, "B": 64, "M": 256}, lambda t: nn.interpolate(t.x[:, None], (256, 64), mode="nearest"),
        "C=asymmetric,Q=floor,T=f32", {"scale": 2.0, "first": 0.0, "last": 0.0, "bounded": False, "outside": 0.0}),
    Row("resize.resize", {"A": 64, "N": 128, "B": 64, "M": 256}, lambda t: nn.interpolate(t.x[:, None], (256, 64), mode="bilinear"), "RADIUS=1,T=f32",
        {"scale": 2.0, "first": 0.0, "last": 0.0, "slope": -0.5, "smooth": False, "inside": False, "bounded": False, "outside": 0.0}),
    Row("signal.fft", {"A": 64, "R": 32, "S": 32}, lambda t: torch.view_as_real(torch.fft.fft(torch.view_as_complex(t.x.flatten(1, 2)))), "T=f32", {"inverse": False}),
    Row("recurrent.rnn_cell", STEP, lambda t: torch.tanh(torch.addmm(t.bias, t.x, t.w.T) + t.h @ t.r.T), "F=tanh,T=f32"),
    Row("recurrent.lstm_cell", STEP, lstm, draw={"p": lambda shape: torch.zeros(shape)}),
    Row("recurrent.gru_cell", STEP, gru, "T=f32", {"linear": True}),
    Row("recurrent.linear_attention", {"B": 2, "S": 128, "G": 2, "H": 2, "D": 64, "E": 64}, None, "T=f32", {"scale": 0.125, "delta": True},
        {"decay": uniform(-0.5, 0), "k": uniform(-0.2, 0.2), "rate": uniform(0, 0.5)}),
]

STD_ROWS = ELEMENTS + REDUCTIONS + PRODUCTS + NETWORKS + GRADIENTS + OTHERS
