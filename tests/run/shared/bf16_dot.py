"""Products of bf16 as BFDOT and BFMMLA compute them, with rounding to odd: an inexact result becomes the
neighbour whose last bit is set."""

import numpy as np

DROPPED = np.uint64((1 << 29) - 1)  # the bits of an f64 after those of an f32
LEAST, MOST = 2.0 ** -126, 2.0 ** 128


def to_f32(exact):
    """Converts an f64, which is exact or rounded to odd, to f32. Subnormal results are flushed to zero."""
    bits = exact.view(np.uint64)
    rounded = np.where(bits & DROPPED, bits & ~DROPPED | (DROPPED + np.uint64(1)), bits).view(np.float64)
    rounded = np.where(np.abs(exact) < LEAST, np.copysign(0.0, exact), rounded)
    rounded = np.where(np.abs(exact) >= MOST, np.copysign(np.inf, exact), rounded)
    return np.where(np.isnan(exact), np.nan, rounded)


def add(a, b):
    """Adds f32 values that are given as f64, and rounds the sum to odd. The rounding error of the sum is
    computed exactly; its sign shows in which direction the last bit may be set."""
    total = a + b
    of_b = total - a
    lost = np.where(np.isfinite(total), (a - (total - of_b)) + (b - of_b), 0.0)
    even = total.view(np.uint64) & np.uint64(1) == 0
    toward = np.nextafter(total, np.copysign(np.inf, lost))
    return to_f32(np.where((lost != 0) & even, toward, total))


def product(a, b, terms):
    """Returns the f32 product of a [M, K] and b [K, N], given as bf16 bits in u16. The last step is padded to
    `terms` with +0 times +0."""
    after = (0, -a.shape[1] % terms)
    a, b = np.pad(a, ((0, 0), after)), np.pad(b, (after, (0, 0)))
    a, b = ((x.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for x in (a, b))
    a, b = (np.where(np.abs(x) < LEAST, np.copysign(0.0, x), x) for x in (a, b))
    total = np.zeros((a.shape[0], b.shape[1]))
    with np.errstate(all="ignore"):
        for k in range(0, a.shape[1], 2):
            first, second = (to_f32(np.multiply.outer(a[:, k + i], b[k + i])) for i in (0, 1))
            total = add(total, add(first, second))
        return total.astype(np.float32)


def drawn(random, shape):
    """Returns random bf16 bits of all magnitudes: mostly near one, some subnormal, some whose products
    overflow."""
    exponents = random.choice([0, 1, 60, 64, 118, 124, 127, 128, 131, 190], shape, p=[.02, .01, .02, .02, .1, .2, .3, .2, .12, .01])
    return (random.integers(0, 2, shape) << 15 | exponents << 7 | random.integers(0, 128, shape)).astype(np.uint16)


def same(bits, wanted):
    """Returns whether the bytes are the wanted f32 numbers. Any NaN equals any other NaN."""
    got = np.frombuffer(bits, np.float32).reshape(wanted.shape)
    return np.array_equal(np.where(np.isnan(got), np.float32(np.nan), got).view(np.uint32),
                          np.where(np.isnan(wanted), np.float32(np.nan), wanted).view(np.uint32))
