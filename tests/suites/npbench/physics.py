"""The peers of physics.kdl."""

import numpy as np


def hdiff(x, coeff):
    lap = 4 * x[1:-1, 1:-1] - (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    m = x[2:-2, 2:-2]
    along = lap[1:, 1:-1] - lap[:-1, 1:-1]
    along = np.where(along * (x[2:-1, 2:-2] - x[1:-2, 2:-2]) > 0, 0, along)
    across = lap[1:-1, 1:] - lap[1:-1, :-1]
    across = np.where(across * (x[2:-2, 2:-1] - x[2:-2, 1:-2]) > 0, 0, across)
    return m - coeff * (along[1:] - along[:-1] + across[:, 1:] - across[:, :-1])


def spmv(start, column, a, x):
    y = np.zeros(len(start) - 1, a.dtype)
    for i in range(len(y)):
        part = slice(start[i], start[i + 1])
        y[i] = (a[part] * x[column[part]]).sum()
    return y


def draw_spmv(rng, M, N, Z):
    start = np.zeros(M + 1, np.int64)
    start[1:] = np.sort(rng.integers(0, Z + 1, M))
    start[-1] = Z
    return {"start": start}


def mandelbrot1(cx, cy, most, horizon):
    c = cx + cy[:, None] * 1j
    n, z = np.zeros(c.shape, np.int64), np.zeros_like(c)
    for turn in range(most):
        inside = np.abs(z) < horizon
        n[inside] = turn
        z[inside] = z[inside] ** 2 + c[inside]
    n[n == most - 1] = 0
    return np.stack([z.real, z.imag], axis=-1), n


def mandelbrot2(cx, cy, most, horizon):
    c = cx + cy[:, None] * 1j
    n, last, z = np.zeros(c.shape, np.int64), np.zeros_like(c), np.zeros_like(c)
    open_ = np.ones(c.shape, bool)
    for turn in range(most):
        z[open_] = z[open_] ** 2 + c[open_]
        leaves = open_ & (np.abs(z) > horizon)
        n[leaves] = turn + 1
        last[leaves] = z[leaves]
        open_ &= ~leaves
    return np.stack([last.real, last.imag], axis=-1), n


def azimint_hist(x, r, B):
    low, top = r.min(), r.max()
    bins = np.minimum(np.floor((r - low) / (top - low) * B).astype(np.int64), B - 1)
    total = np.zeros(B, x.dtype)
    np.add.at(total, bins, x)
    return total / np.bincount(bins, minlength=B)


def azimint_hist_numpy(x, r, B):
    return np.histogram(r, B, weights=x)[0] / np.histogram(r, B)[0]


def crc16(x, y):
    crc = 0xFFFF
    for byte in x:
        byte = int(byte)
        for _ in range(8):
            crc = crc >> 1 ^ (0x8408 if (crc ^ byte) & 1 else 0)
            byte >>= 1
    crc = ~crc & 0xFFFF
    y[0] = (crc << 8 | crc >> 8) & 0xFFFF
    return y


def energies(mass, pos, vel, g):
    d = pos[None] - pos[:, None]
    r = np.sqrt((d * d).sum(axis=2))
    pairs = np.triu(np.ones(r.shape, bool), 1) & (r > 0)
    kinetic = (mass[:, None] * vel * vel).sum() / 2
    return kinetic, -g * (np.outer(mass, mass)[pairs] / r[pairs]).sum()


def acceleration(mass, pos, g, softening):
    d = pos[None] - pos[:, None]
    q = (d * d).sum(axis=2) + softening * softening
    return g * ((mass / (q * np.sqrt(q)))[:, :, None] * d).sum(axis=1)


def nbody(mass, pos, vel, dt, g, softening, ke, pe):
    vel -= (mass[:, None] * vel).sum(axis=0) / mass.sum()
    acc = acceleration(mass, pos, g, softening)
    ke[0], pe[0] = energies(mass, pos, vel, g)
    for t in range(1, len(ke)):
        vel += acc * dt / 2
        pos += vel * dt
        acc = acceleration(mass, pos, g, softening)
        vel += acc * dt / 2
        ke[t], pe[t] = energies(mass, pos, vel, g)
    return pos, vel, ke, pe
