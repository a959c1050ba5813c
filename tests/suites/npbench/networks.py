"""The peers of networks.kdl."""

import numpy as np


def convolve(x, w):
    at = np.lib.stride_tricks.sliding_window_view(x, w.shape[:2], axis=(1, 2))
    return np.tensordot(at, w, axes=([4, 5, 3], [0, 1, 2]))


def pool(x):
    n, h, w, c = x.shape
    return x[:, :h // 2 * 2, :w // 2 * 2].reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def lenet(x, c1, b1, c2, b2, w1, d1, w2, d2, w3, d3):
    x = pool(np.maximum(convolve(x, c1) + b1, 0))
    x = pool(np.maximum(convolve(x, c2) + b2, 0))
    x = np.maximum(x.reshape(len(x), -1) @ w1.reshape(-1, w1.shape[-1]) + d1, 0)
    x = np.maximum(x @ w2 + d2, 0)
    return x @ w3 + d3


def norm(x):
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    return (x - mean) / np.sqrt(deviation + x.dtype.type(1e-5))


def resnet(x, c1, c2, c3):
    y = np.pad(convolve(x, c1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = np.maximum(norm(y), 0)
    y = np.maximum(norm(convolve(y, c2)), 0)
    return np.maximum(norm(convolve(y, c3)) + x, 0)
