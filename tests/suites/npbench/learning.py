"""The peers of learning.kdl."""

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def mlp(x, w1, b1, w2, b2, w3, b3):
    x = np.maximum(x @ w1 + b1, 0)
    x = np.maximum(x @ w2 + b2, 0)
    return softmax(x @ w3 + b3)


def conv2d_bias(x, w, b):
    at = np.lib.stride_tricks.sliding_window_view(x, w.shape[:2], axis=(1, 2))
    return np.tensordot(at, w, axes=([4, 5, 3], [0, 1, 2])) + b


def compute(x, y, a, b, c):
    return np.clip(x, 2, 10) * a + y * b + c


def arc_distance(theta1, phi1, theta2, phi2):
    h = np.sin((theta2 - theta1) / 2) ** 2 + np.cos(theta1) * np.cos(theta2) * np.sin((phi2 - phi1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(h), np.sqrt(1 - h))


def go_fast(a):
    s = a.dtype.type(0)
    for i in range(a.shape[0]):
        s += np.tanh(a[i, i])
    return a + s


def covariance(x):
    x = x - x.mean(axis=0)
    return (x.T @ x) / (len(x) - 1)


def correlation(x):
    mean = x.mean(axis=0)
    deviation = np.sqrt(((x - mean) ** 2).mean(axis=0))
    deviation = np.where(deviation <= 0.1, 1, deviation)
    x = (x - mean) / (np.sqrt(x.dtype.type(len(x))) * deviation)
    c = x.T @ x
    np.fill_diagonal(c, 1)
    return c
