"""NumPy functions for level 3 of KernelBench: the results to compare with, and baselines. Code of our own; see ../README.md."""

import math

import numpy as np
from level2 import conv, linear, max_pool
from peers import gelu_tanh, normalize


def relu(x):
    return np.maximum(x, 0)


def mlp(x, w1, b1, w2, b2, w3, b3):
    return linear(relu(linear(relu(linear(x, w1, b1)), w2, b2)), w3, b3)


def lenet(x, w1, b1, w2, b2, w3, b3, w4, b4, w5, b5):
    x = max_pool(relu(conv(x, w1, b1)), 2)
    x = max_pool(relu(conv(x, w2, b2)), 2)
    x = relu(linear(x.reshape(len(x), -1), w3.reshape(len(w3), -1), b3))
    return linear(relu(linear(x, w4, b4)), w5, b5)


def layer_norm(x, scale, shift):
    return normalize(x.reshape(-1, x.shape[-1])).reshape(x.shape) * scale + shift


def gpt_block(x, scale1, shift1, w1, b1, w2, b2, scale2, shift2, w3, b3, w4, b4):
    q, k, v = (np.einsum("btc,gdc->bgtd", layer_norm(x, scale1, shift1), w) + b[:, None] for w, b in zip(w1, b1))
    a = q @ k.swapaxes(-1, -2) / x.dtype.type(math.sqrt(q.shape[-1]))
    a = np.where(np.tri(x.shape[1], dtype=bool), a, -np.inf)
    p = np.exp(a - a.max(axis=-1, keepdims=True))
    heads = (p / p.sum(axis=-1, keepdims=True)) @ v
    z = x + np.einsum("bgtd,cgd->btc", heads, w2) + b2
    return z + linear(gelu_tanh(linear(layer_norm(z, scale2, shift2), w3, b3)), w4, b4)
