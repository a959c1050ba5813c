"""The peers of solvers.kdl."""

import numpy as np


def cholesky(a):
    for i in range(len(a)):
        a[i:, i] /= np.sqrt(a[i, i])
        for j in range(i + 1, len(a)):
            a[j:, j] -= a[j:, i] * a[j, i]
    return a


def cholesky_library_numpy(a):
    return np.tril(np.linalg.cholesky(a)) + np.triu(a, 1)


def cholesky_library(a):
    return cholesky(a)


def draw_positive(rng, N):
    a = rng.uniform(size=(N, N))
    return {"a": a @ a.T + np.eye(N)}


def floyd_warshall(path):
    for k in range(len(path)):
        path = np.minimum(path, path[:, k:k + 1] + path[k])
    return path


def trisolv(l, x, b):
    for i in range(len(b)):
        x[i] = (b[i] - l[i, :i] @ x[:i]) / l[i, i]
    return x


def draw_triangle(rng, N):
    return {"l": np.tril(rng.uniform(-0.5, 0.5, (N, N))) / N + np.eye(N)}


def lu(a):
    for k in range(len(a)):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a


def ludcmp(a, b, x, y):
    a = lu(a)
    for i in range(len(b)):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(len(b) - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1:] @ x[i + 1:]) / a[i, i]
    return a, x, y


def durbin(r, y):
    alpha, beta = -r[0], 1 + 0 * r[0]
    y[0] = alpha
    for k in range(1, len(r)):
        beta *= 1 - alpha * alpha
        alpha = -(r[k] + r[k - 1::-1] @ y[:k]) / beta
        y[:k] += alpha * y[:k][::-1].copy()
        y[k] = alpha
    return y


def draw_durbin(rng, N):
    return {"r": rng.uniform(-1, 1, N) / (2 * N)}


def gramschmidt(a, q, r):
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(a[:, k] @ a[:, k])
        q[:, k] = a[:, k] / r[k, k]
        r[k, k + 1:] = q[:, k] @ a[:, k + 1:]
        a[:, k + 1:] -= np.outer(q[:, k], r[k, k + 1:])
    return a, q, r


def recursive_filter(x, a1, a2, a3, a4, b1, b2):
    """Along the first dimension, in both directions."""
    y, z = np.zeros_like(x), np.zeros_like(x)
    for i in range(len(x)):
        y[i] = a1 * x[i]
        if i >= 1:
            y[i] += a2 * x[i - 1] + b1 * y[i - 1]
        if i >= 2:
            y[i] += b2 * y[i - 2]
    for i in range(len(x) - 2, -1, -1):
        z[i] = a3 * x[i + 1] + b1 * z[i + 1]
        if i + 2 < len(x):
            z[i] += a4 * x[i + 2] + b2 * z[i + 2]
    return y + z


def deriche(alpha, x):
    e = np.exp(-alpha)
    k = (1 - e) * (1 - e) / (1 + alpha * e - np.exp(2 * alpha))
    coefficients = k, k * e * (alpha - 1), k * e * (alpha + 1), -k * e * e, np.exp2(-alpha), -e * e
    x = recursive_filter(np.ascontiguousarray(x.T), *coefficients).T
    return recursive_filter(x, *coefficients)


def nussinov(base, t):
    n = len(base)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(t[i, j - 1], t[i + 1, j])
            best = max(best, t[i + 1, j - 1] + (1 if base[i] + base[j] == 3 and i < j - 1 else 0))
            for k in range(i + 1, j):
                best = max(best, t[i, k] + t[k + 1, j])
            t[i, j] = best
    return t
