"""The peers of stencils.kdl."""

import numpy as np


def jacobi_1d(a, b, steps):
    for t in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a, b


def jacobi_2d(a, b, steps):
    for t in range(1, steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a, b


def heat_step(x, y):
    m = x[1:-1, 1:-1, 1:-1]
    y[1:-1, 1:-1, 1:-1] = (0.125 * (x[2:, 1:-1, 1:-1] - 2 * m + x[:-2, 1:-1, 1:-1])
                           + 0.125 * (x[1:-1, 2:, 1:-1] - 2 * m + x[1:-1, :-2, 1:-1])
                           + 0.125 * (x[1:-1, 1:-1, 2:] - 2 * m + x[1:-1, 1:-1, :-2]) + m)


def heat_3d(a, b, steps):
    for t in range(1, steps):
        heat_step(a, b)
        heat_step(b, a)
    return a, b


def draw_heat_3d(rng, N, T):
    i, j, k = np.indices((N, N, N))
    a = (i + j + (N - k)) * 10.0 / N
    return {"a": a, "b": a + rng.uniform(0, 1, a.shape)}


def fdtd_2d(ex, ey, hz, source):
    for t in range(len(source)):
        ey[0] = source[t]
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def seidel_2d(a, steps):
    for t in range(1, steps):
        for i in range(1, len(a) - 1):
            a[i, 1:-1] += a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            for j in range(1, len(a) - 1):
                a[i, j] = (a[i, j] + a[i, j - 1]) / 9
    return a
