"""NumPy functions for the problems of KernelBench: the results to compare with, and baselines. torch_peers.py has the
same functions with PyTorch. Code of our own; see ../README.md."""

import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])


def __getattr__(name):
    """Loads PyTorch, which takes a second, only for its own functions."""
    if not name.endswith("_torch"):
        raise AttributeError(name)
    import torch_peers
    return getattr(torch_peers, name)


# Products.

def matmul(a, b):
    return a @ b


def matmul_ta(a, b):
    return a.T @ b


def matmul_tb(a, b):
    return a @ b.T


def matmul_tt(a, b):
    return a.T @ b.T


def batched(a, b):
    return a @ b


def matrix_by_vector(a, x):
    return a @ x


def diagonal(a, b):
    return a[:, None] * b


def upper(a, b):
    return np.triu(a @ b)


def lower(a, b):
    return np.tril(a @ b)


def draw_symmetric(rng, N):
    a, b = rng.uniform(size=(2, N, N))
    return {"a": (a + a.T) / 2, "b": (b + b.T) / 2}


def draw_upper(rng, N):
    a, b = rng.uniform(size=(2, N, N))
    return {"a": np.triu(a), "b": np.triu(b)}


def draw_lower(rng, N):
    a, b = rng.uniform(size=(2, N, N))
    return {"a": np.tril(a), "b": np.tril(b)}


# Single elements.

def times(x, s):
    return x * s


def relu(x):
    return np.maximum(x, 0)


def leaky_relu(x, slope):
    return np.where(x > 0, x, slope * x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def tanh(x):
    return np.tanh(x)


def swish(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return (x * (1 + erf(x * math.sqrt(0.5)).astype(x.dtype)) / 2).astype(x.dtype)


def selu(x):
    scale, alpha = x.dtype.type(1.0507009873554805), x.dtype.type(1.6732632423543772)
    return np.where(x > 0, scale * x, scale * alpha * np.expm1(np.minimum(x, 0)))


def hard_sigmoid(x):
    return np.clip((x + 3) / 6, 0, 1)


def softplus(x):
    return np.logaddexp(x, x.dtype.type(0))


def softsign(x):
    return x / (1 + np.abs(x))


def elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def hard_tanh(x):
    return np.clip(x, -1, 1)


def gelu_tanh(x):
    return x * (1 + np.tanh(x.dtype.type(math.sqrt(2 / math.pi)) * (x + x.dtype.type(0.044715) * x * x * x))) / 2


# Rows.

def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def log_softmax(x):
    x = x - x.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def normalize(x):
    d = x - x.mean(axis=1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=1, keepdims=True) + x.dtype.type(1e-5))


def batch_norm(x):
    d = x - x.mean(axis=(0, 2), keepdims=True)
    return d / np.sqrt((d * d).mean(axis=(0, 2), keepdims=True) + x.dtype.type(1e-5))


def rms_norm(x):
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + x.dtype.type(1e-5))


def frobenius(x):
    return x / np.sqrt((x * x).sum())


def l1_norm(x):
    return x / np.abs(x).mean(axis=1, keepdims=True)


def l2_norm(x):
    return x / np.sqrt((x * x).sum(axis=1, keepdims=True))


def sums(x):
    return x.sum(axis=1)


def means(x):
    return x.mean(axis=1)


def maxima(x):
    return x.max(axis=1)


def minima(x):
    return x.min(axis=1)


def places_of_maxima(x):
    return x.argmax(axis=1)


def places_of_minima(x):
    return x.argmin(axis=1)


def cumsum(x):
    return x.cumsum(axis=1, dtype=x.dtype)


def cumprod(x):
    return x.cumprod(axis=1, dtype=x.dtype)


def cumsum_reverse(x):
    return np.ascontiguousarray(x[:, ::-1].cumsum(axis=1, dtype=x.dtype)[:, ::-1])


def cumsum_exclusive(x):
    y = np.zeros_like(x)
    y[:, 1:] = x[:, :-1].cumsum(axis=1, dtype=x.dtype)
    return y


def masked_cumsum(x, mask):
    return (x * mask).cumsum(axis=1, dtype=x.dtype)


# Pooling.

def padded(x, sizes, value):
    return np.pad(x, [(0, 0)] * (x.ndim - len(sizes)) + [(p, p) for p in sizes], constant_values=value)


def windows(x, kernel, stride, dilation):
    """Views of the windows over the last dimensions: first all dimensions of the result, then those of the window."""
    at = np.lib.stride_tricks.sliding_window_view(x, tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation)),
                                                  axis=tuple(range(x.ndim - len(kernel), x.ndim)))
    rest = x.ndim - len(kernel)
    return at[(slice(None),) * rest + tuple(slice(None, None, s) for s in stride) + tuple(slice(None, None, d) for d in dilation)]


def max_pool_1d(x, K, P, D):
    return windows(padded(x, [P], -np.inf), [K], [1], [D]).max(axis=-1)


def max_pool_2d(x, K, P):
    return windows(padded(x, [P, P], -np.inf), [K, K], [1, 1], [1, 1]).max(axis=(-2, -1))


def max_pool_3d(x, K, S, P, D):
    return windows(padded(x, [P] * 3, -np.inf), [K] * 3, [S] * 3, [D] * 3).max(axis=(-3, -2, -1))


def mean_pool_1d(x, K, P):
    return windows(padded(x, [P], 0), [K], [1], [1]).mean(axis=-1)


def mean_pool_2d(x, K):
    return windows(x, [K, K], [K, K], [1, 1]).mean(axis=(-2, -1))


def mean_pool_3d(x, K, S, P):
    return windows(padded(x, [P] * 3, 0), [K] * 3, [S] * 3, [1] * 3).mean(axis=(-3, -2, -1))


# Losses.

def mean_square(x, t):
    return np.mean((x - t) ** 2).reshape(1)


def cross_entropy(x, t):
    return -log_softmax(x)[np.arange(len(t)), t].mean().reshape(1)


def huber(x, t):
    d = np.abs(x - t)
    return np.where(d < 1, d * d / 2, d - x.dtype.type(0.5)).mean().reshape(1)


def divergence(x, t):
    return (t * (np.log(t) - np.log(x))).sum().reshape(1) / x.dtype.type(x.shape[0])


def draw_divergence(rng, R, C):
    return {"x": softmax(rng.uniform(size=(R, C)) * rng.uniform()), "t": softmax(rng.uniform(size=(R, C)))}


def triplet(a, p, n):
    near, far = (np.sqrt(((a - other + a.dtype.type(1e-6)) ** 2).sum(axis=1)) for other in (p, n))
    return np.maximum(near - far + 1, 0).mean().reshape(1)


def hinge(x, t):
    return np.maximum(1 - x * t, 0).mean().reshape(1)


def draw_hinge(rng, R, C):
    """Labels, of which one sign is more frequent. With as many of both, the loss is so close to 1 that half of its digits suffice."""
    return {"t": np.where(rng.uniform(size=C) < 0.7, 1.0, -1.0)}


# Convolutions.

def convolve(x, w, stride, padding, dilation):
    """x[N, C, ...] by w[O, C, ...]."""
    rank = w.ndim - 2
    at = windows(padded(x, padding, 0), w.shape[2:], stride, dilation)
    y = np.tensordot(at, w, axes=([1, *range(2 + rank, 2 + 2 * rank)], range(1, 2 + rank)))
    return np.ascontiguousarray(np.moveaxis(y, -1, 1))


def conv_1d(x, w, S, D):
    return convolve(x, w, [S], [0], [D])


def conv_2d(x, w, S, PH, PW, DH, DW):
    return convolve(x, w, [S, S], [PH, PW], [DH, DW])


def conv_3d(x, w):
    return convolve(x, w, [1] * 3, [0] * 3, [1] * 3)


def depthwise(x, w, P):
    return np.einsum("ncijrs,crs->ncij", windows(padded(x, [P, P], 0), w.shape[1:], [1, 1], [1, 1]), w)


def pointwise(x, w):
    return w @ x


def separable(x, w, v):
    t = depthwise(x, w, 1)
    return (v @ t.reshape(*t.shape[:2], -1)).reshape(t.shape[0], -1, *t.shape[2:])


# Attention.

def attention(q, k, v, scale):
    s = scale * (q @ k.swapaxes(-1, -2))
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return (p @ v) / p.sum(axis=-1, keepdims=True)


# Transposed convolutions. x[N, G, C, ...] and w[G, C, O, ...], where G is the number of groups.

def transpose_convolve(x, w, stride, padding, dilation, added):
    sizes, taps = x.shape[3:], w.shape[3:]
    full = [(n - 1) * s + d * (k - 1) + 1 + added for n, s, d, k in zip(sizes, stride, dilation, taps)]
    y = np.zeros((x.shape[0], w.shape[0], w.shape[2], *full), x.dtype)
    for tap in np.ndindex(*taps):
        at = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, sizes, stride))
        part = np.einsum("ngc...,gco->ngo...", x, w[(slice(None),) * 3 + tap])
        y[(slice(None),) * 3 + at] += part
    return np.ascontiguousarray(y[(slice(None),) * 3 + tuple(slice(p, n - p) for p, n in zip(padding, full))])


def transposed_2d(x, w, P0, P1, D0, D1):
    return transpose_convolve(x, w, [1, 1], [P0, P1], [D0, D1], 0)


def strided_2d(x, w, S0, S1, P0, P1, D0, D1):
    return transpose_convolve(x, w, [S0, S1], [P0, P1], [D0, D1], 0)


def transposed_3d(x, w):
    return transpose_convolve(x, w, [1] * 3, [0] * 3, [1] * 3, 0)


def strided_3d(x, w, S, P0, P1, P2, D, A):
    return transpose_convolve(x, w, [S] * 3, [P0, P1, P2], [D] * 3, A)
