"""The peers of waves.kdl."""

import numpy as np


def adi(u, steps):
    n = len(u)
    mul = u.dtype.type(n * n) / u.dtype.type(steps)
    v, p, q = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)

    def sweep(x, y, a, b, d):
        """The right sides are along the first dimension of x, and the unknowns along that of y."""
        y[0, 1:-1], p[0, 1:-1], q[0, 1:-1] = 1, 0, 1
        for j in range(1, n - 1):
            f = a * p[j - 1, 1:-1] + b
            p[j, 1:-1] = -a / f
            q[j, 1:-1] = (-d * x[:-2, j] + (1 + 2 * d) * x[1:-1, j] - d * x[2:, j] - a * q[j - 1, 1:-1]) / f
        y[-1, 1:-1] = 1
        for j in range(n - 2, 0, -1):
            y[j, 1:-1] = p[j, 1:-1] * y[j + 1, 1:-1] + q[j, 1:-1]

    for step in range(steps):
        sweep(u.T, v, -mul, 1 + mul, -mul / 2)
        sweep(v, u.T, -mul / 2, 1 + mul, -mul)
    return u


def vadv(u, stage, w, pos, tens, dt):
    last = u.shape[2] - 1
    c, d = np.zeros_like(u), np.zeros_like(u)
    half = (w[1:] + w[:-1]) / 8
    for k in range(last + 1):
        change, a, above = 0, 0, 0
        if k > 0:
            a = -half[:, :, k]
            change = change - a * (stage[:, :, k - 1] - stage[:, :, k])
        if k < last:
            above = half[:, :, k + 1]
            change = change - above * (stage[:, :, k + 1] - stage[:, :, k])
        d[:, :, k] = dt * pos[:, :, k] + tens[:, :, k] + u[:, :, k] + change
        f = dt - a - above
        if k > 0:
            f = f - c[:, :, k - 1] * a
            d[:, :, k] -= d[:, :, k - 1] * a
        c[:, :, k] = above / f
        d[:, :, k] /= f
    for k in range(last - 1, -1, -1):
        d[:, :, k] -= c[:, :, k] * d[:, :, k + 1]
    return dt * (d - pos)


def cavity_flow(u, v, p, steps, turns, rho, nu, dt, dx, dy):
    b = np.zeros_like(u)

    def step(w, un, vn, slope):
        m = w[1:-1, 1:-1]
        return (m - un[1:-1, 1:-1] * dt / dx * (m - w[1:-1, :-2]) - vn[1:-1, 1:-1] * dt / dy * (m - w[:-2, 1:-1])
                - dt / (2 * rho) * slope
                + nu * (dt / dx ** 2 * (w[1:-1, 2:] - 2 * m + w[1:-1, :-2]) + dt / dy ** 2 * (w[2:, 1:-1] - 2 * m + w[:-2, 1:-1])))

    for t in range(steps):
        un, vn = u.copy(), v.copy()
        ux, uy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
        vx, vy = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
        b[1:-1, 1:-1] = rho * ((ux + vy) / dt - ux * ux - 2 * uy * vx - vy * vy)
        for s in range(turns):
            q = p.copy()
            p[1:-1, 1:-1] = ((q[1:-1, 2:] + q[1:-1, :-2]) * dy ** 2 + (q[2:, 1:-1] + q[:-2, 1:-1]) * dx ** 2
                             - dx ** 2 * dy ** 2 * b[1:-1, 1:-1]) / (2 * (dx ** 2 + dy ** 2))
            p[:, -1] = p[:, -2]
            p[0] = p[1]
            p[:, 0] = p[:, 1]
            p[-1] = 0
        u[1:-1, 1:-1] = step(un, un, vn, (p[1:-1, 2:] - p[1:-1, :-2]) / dx)
        v[1:-1, 1:-1] = step(vn, un, vn, (p[2:, 1:-1] - p[:-2, 1:-1]) / dy)
        for side in (u[0], u[:, 0], u[:, -1], v[0], v[-1], v[:, 0], v[:, -1]):
            side[...] = 0
        u[-1] = 1
    return u, v, p


def complex_of(x):
    return x[..., 0] + 1j * x[..., 1]


def pairs_of(x):
    return np.stack([x.real, x.imag], axis=-1)


def stockham_fft(x, steps, R):
    y = complex_of(x)
    pi = np.arctan(x.dtype.type(1)) * 4
    table = np.exp(-2j * pi * (np.outer(range(R), range(R)) % R) / R).astype(y.dtype)
    for i in range(steps):
        a = np.arange(R**i)
        twiddle = np.exp(-2j * pi * np.outer(range(R), a) / R**(i + 1)).astype(y.dtype)
        parts = y.reshape(R**i, R, -1).transpose(1, 0, 2) * twiddle[:, :, None]
        y = (table @ parts.reshape(R, -1)).reshape(-1)
    return pairs_of(y)


def eliminated(t, y):
    """Solves t x = y, also for types that np.linalg does not know."""
    m = len(t)
    rows = np.concatenate([t, y], axis=1)
    for k in range(m):
        best = k + np.argmax(np.abs(rows[k:, k]))
        rows[[k, best]] = rows[[best, k]]
        rows[k] /= rows[k, k]
        others = np.arange(m) != k
        rows[others] -= np.outer(rows[others, k], rows[k])
    return rows[:, m:]


def integral(h, z, y, solve):
    h, y = complex_of(h), complex_of(y)
    p0, p1 = np.zeros_like(y), np.zeros_like(y)
    for point in complex_of(z):
        t = sum(point ** (y.real.dtype.type(len(h) - 1) / 2 - n) * part for n, part in enumerate(h))
        x = solve(t, y) * (-1 if abs(point) < 1 else 1)
        p0 += x
        p1 += point * x
    return pairs_of(p0), pairs_of(p1)


def contour_integral(h, z, y):
    return integral(h, z, y, eliminated)


def contour_integral_numpy(h, z, y):
    return integral(h, z, y, np.linalg.solve)


def scatter(neighbour, dh, g, d, s):
    dh, g, d = map(complex_of, (dh, g, d))
    total = complex_of(s)
    for e in range(g.shape[1]):
        for w in range(min(d.shape[1], e + 1)):
            at = g[:, e - w][:, neighbour]
            left = np.einsum("kabmt,abitn->kabimn", at, dh)
            right = np.einsum("abjmn,qabij->abimn", dh, d[:, w])
            total[:, e] += np.einsum("kabimt,abitn->kamn", left, right)
    return pairs_of(total)


def channel_flow(u, v, p, count, turns, rho, nu, force, dt, dx, dy):
    b = np.zeros_like(u)
    change = 1

    def sides(x):
        """The rows between the walls, with their neighbours in both directions."""
        m = x[1:-1]
        return m, np.roll(m, -1, axis=1), np.roll(m, 1, axis=1), x[2:], x[:-2]

    def step(w, un, vn, slope):
        m, right, left, up, down = sides(w)
        return (m - un[1:-1] * dt / dx * (m - left) - vn[1:-1] * dt / dy * (m - down) - dt / (2 * rho) * slope
                + nu * (dt / dx ** 2 * (right - 2 * m + left) + dt / dy ** 2 * (up - 2 * m + down)))

    while change > 0.001:
        un, vn = u.copy(), v.copy()
        (_, ur, ul, uu, ud), (_, vr, vl, vu, vd) = sides(u), sides(v)
        ux, uy, vx, vy = (ur - ul) / (2 * dx), (uu - ud) / (2 * dy), (vr - vl) / (2 * dx), (vu - vd) / (2 * dy)
        b[1:-1] = rho * ((ux + vy) / dt - ux * ux - 2 * uy * vx - vy * vy)
        for s in range(turns):
            _, right, left, up, down = sides(p.copy())
            p[1:-1] = ((right + left) * dy ** 2 + (up + down) * dx ** 2 - dx ** 2 * dy ** 2 * b[1:-1]) / (2 * (dx ** 2 + dy ** 2))
            p[-1] = p[-2]
            p[0] = p[1]
        _, right, left, up, down = sides(p)
        u[1:-1] = step(un, un, vn, (right - left) / dx) + force * dt
        v[1:-1] = step(vn, un, vn, (up - down) / dy)
        for wall in (u[0], u[-1], v[0], v[-1]):
            wall[...] = 0
        change = (u.sum() - un.sum()) / u.sum()
        count[0] += 1
    return u, v, p, count
