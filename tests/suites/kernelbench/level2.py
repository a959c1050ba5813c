"""NumPy functions for level 2 of KernelBench: the results to compare with, and baselines. Code of our own; see ../README.md."""

import numpy as np
from peers import convolve, gelu, mean_pool_3d, normalize, sigmoid, softplus, transpose_convolve


def number(x, value):
    return x.dtype.type(value)


def mish(x):
    return x * np.tanh(softplus(x))


def hard_swish(x):
    return x * np.clip(x / 6 + number(x, 0.5), 0, 1)


def leaky_relu(x, slope):
    return np.where(x > 0, x, number(x, slope) * x)


def channels(p, x):
    """Returns one value per channel of x[N, C, ...], to be added to x."""
    return p.reshape(-1, *[1] * (x.ndim - 2))


def softmax_of_channels(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def max_pool(x, size):
    """The maximum of each window of the dimensions after the channels; windows do not overlap."""
    for axis in range(2, x.ndim):
        count = x.shape[axis] // size
        x = np.take(x, range(count * size), axis=axis)
        x = x.reshape(*x.shape[:axis], count, size, *x.shape[axis + 1:]).max(axis=axis + 1)
    return x


def group_norm(x, scale, shift):
    """x[N, G, D, ...], with a scale and a shift for each channel of each group."""
    y = normalize(x.reshape(x.shape[0] * x.shape[1], -1)).reshape(x.shape)
    shape = (*scale.shape, *[1] * (x.ndim - 3))
    return y * scale.reshape(shape) + shift.reshape(shape)


def batch_norm(x, scale, shift):
    by_channel = np.moveaxis(x, 1, 0)
    y = np.moveaxis(normalize(by_channel.reshape(x.shape[1], -1)).reshape(by_channel.shape), 0, 1)
    return y * channels(scale, x) + channels(shift, x)


# Products.

def linear(x, w, b):
    return x @ w.T + b


def subtract_multiply_relu(x, w, b):
    return np.maximum((linear(x, w, b) - 2) * number(x, 1.5), 0)


def multiply_leaky_relu(x, w, b):
    return leaky_relu(2 * linear(x, w, b), 0.1)


def linear_mish_twice(x, w, b):
    return mish(mish(linear(x, w, b)))


def halved_sums(x, w):
    return number(x, 1.5) * (x @ w.T / 2).sum(axis=1)


def sums(x, w, b):
    return linear(x, w, b).sum(axis=1)


def log_sum_exp(x, w, b):
    v = np.clip(4 * linear(x, w, b), -10, 10)
    most = v.max(axis=1)
    s = most + np.log(np.exp(v - most[:, None]).sum(axis=1))
    return s * mish(s)


def normalized(x, w, b, z):
    return (normalize(linear(x, w, b)) + z) * z


def normalized_groups(x, w, b, scale, shift):
    v = linear(x, w.reshape(-1, w.shape[2]), b.reshape(-1)).reshape(x.shape[0], *b.shape)
    return np.clip(group_norm(v, scale, shift), -2, 2)


# Convolutions.

def conv(x, w, b):
    """Without anything around the images, in steps of 1."""
    rank = w.ndim - 2
    y = convolve(x, w, [1] * rank, [0] * rank, [1] * rank)
    return y + channels(b, y)


def grouped_conv(x, w, b):
    """w[G, D, C, ...] gives y[N, G, D, ...]."""
    y = conv(x, w.reshape(-1, *w.shape[2:]), b.reshape(-1))
    return y.reshape(y.shape[0], *b.shape, *y.shape[2:])


def conv_relu_plus(x, w, b, p):
    y = conv(x, w, b)
    return np.maximum(y, 0) + channels(p, y)


def conv_mish_twice(x, w, b):
    return mish(mish(conv(x, w, b)))


def conv_softmax_pool(x, w, b):
    return max_pool(max_pool(softmax_of_channels(conv(x, w, b)), 2), 2)


def conv_activations_plus(x, w, b, p):
    y = conv(x, w, b)
    return sigmoid(gelu(leaky_relu(np.maximum(y, 0), 0.01))) + channels(p, y)


def conv_pooled_sum(x, w, b, p):
    return (max_pool(conv(x, w, b) / 2, 2).mean(axis=(2, 3, 4)) + p).sum(axis=1)


def conv_instance_norm(x, w, b):
    y = conv(x, w, b)
    return normalize(y.reshape(y.shape[0] * y.shape[1], -1)).reshape(y.shape) / 2


def conv_group_norm(x, w, b, p, q, scale, shift):
    y = grouped_conv(x, w, b)
    return group_norm(sigmoid((y + p[:, :, None, None]) * q[:, :, None, None]), scale, shift)


def conv_means(x, w, b, scale, shift):
    return group_norm(grouped_conv(x, w, b), scale, shift).mean(axis=(1, 2, 3, 4, 5))


def conv_minimum_softmax(x, w, b):
    return softmax_of_channels(conv(x, w, b).min(axis=2))


def conv_minimum(x, w, b):
    return np.tanh(np.tanh(conv(x, w, b).min(axis=1)))


def conv_channel_means(x, w, b, scale, shift):
    return group_norm(hard_swish(grouped_conv(x, w, b)), scale, shift).mean(axis=(3, 4, 5))


# Transposed convolutions: S is the step, P what is cut off at each side, A what is added at the end.

def transposed(x, w, b, S, P, A):
    rank = w.ndim - 2
    y = transpose_convolve(x[:, None], w[None], [S] * rank, [P] * rank, [1] * rank, A)[:, 0]
    return y + channels(b, y)


def transposed_clamped(x, w, b, p):
    y = transposed(x, w, b, 2, 1, 1)
    return np.clip(2 * np.clip(y + channels(p, y), 0, 1), 0, 1) / 2


def transposed_row_norm_pool(x, w, b, added, scale, shift):
    y = transposed(x, w, b, 2, 1, 1) + added
    rows = normalize(y.reshape(-1, y.shape[-1])).reshape(y.shape) * scale + shift
    return gelu(mean_pool_3d(rows, 2, 2, 0))


def transposed_tanh(x, w, b, p):
    y = transposed(x, w, b, 2, 1, 1)
    return np.tanh(y - channels(p, y))


def transposed_pooled_mean(x, w, b):
    return np.tanh(np.clip(max_pool(transposed(x, w, b, 1, 1, 0), 2), -1, 1).mean(axis=(2, 3)))


def transposed_batch_and_group_norm(x, w, b, scale, shift, group_scale, group_shift, D):
    y = max_pool(np.tanh(batch_norm(transposed(x, w, b, 1, 1, 0), scale, shift)), 2)
    groups = group_norm(y.reshape(y.shape[0], -1, D, *y.shape[2:]), group_scale.reshape(-1, D), group_shift.reshape(-1, D))
    return groups.reshape(y.shape)


def transposed_mean_softmax(x, w, b, p):
    y = transposed(x, w, b, 1, 1, 0).mean(axis=2)
    return 2 * np.tanh(softmax_of_channels(y + channels(p, y)))


def transposed_centered(x, w, b, scale, shift):
    y = batch_norm(transposed(x, w, b, 2, 1, 0), scale, shift)
    return y - y.mean(axis=(2, 3, 4), keepdims=True)


def transposed_mish_plus(x, w, b):
    return 2 * np.clip(mish(transposed(x, w, b, 2, 1, 1)) + number(x, 0.5), -1, 1)


def transposed_gelu_group_norm(x, w, b, scale, shift):
    y = transposed(x, w.reshape(w.shape[0], -1, *w.shape[3:]), b.reshape(-1), 1, 0, 0)
    return group_norm(gelu(y.reshape(y.shape[0], *b.shape, *y.shape[2:])), scale, shift)


def transposed_residual(x, w, b, p):
    y = transposed(x, w, b, 2, 1, 1)
    return (y + channels(p, y) + y) * y + y


def transposed_hard_swish(x, w, b, m):
    y = transposed(x, w, b, 2, 1, 1) + m
    return y * hard_swish(y)
