"""The peers of products.kdl."""

import numpy as np


def gemm(alpha, beta, c, a, b):
    return alpha * (a @ b) + beta * c


def k2mm(alpha, beta, a, b, c, d):
    return alpha * (a @ b @ c) + beta * d


def k3mm(a, b, c, d):
    return (a @ b) @ (c @ d)


def atax(a, x):
    return (a @ x) @ a


def bicg(a, p, r):
    return r @ a, a @ p


def mvt(x1, x2, y1, y2, a):
    return x1 + a @ y1, x2 + y2 @ a


def gesummv(alpha, beta, a, b, x):
    return alpha * (a @ x) + beta * (b @ x)


def gemver(alpha, beta, a, u1, v1, u2, v2, w, x, y, z):
    a = a + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * (y @ a) + z
    w = w + alpha * (a @ x)
    return a, w, x


def doitgen(a, c):
    return (a.reshape((-1, a.shape[2])) @ c).reshape(a.shape)


def symm(alpha, beta, c, a, b):
    lower = np.tril(a)
    full = lower + np.tril(a, -1).T
    return beta * c + alpha * (full @ b)


def syrk(alpha, beta, c, a):
    return np.tril(beta * c + alpha * (a @ a.T)) + np.triu(c, 1)


def syr2k(alpha, beta, c, a, b):
    return np.tril(beta * c + alpha * (a @ b.T + b @ a.T)) + np.triu(c, 1)


def trmm(alpha, a, b):
    return alpha * (b + np.tril(a, -1).T @ b)
