"""Products of bf16 as BFDOT and BFMMLA have them, which rounds to odd: what is not exact becomes the neighbour whose last bit is set."""

import numpy as np

DROPPED = np.uint64((1 << 29) - 1)  # the digits of f64 behind those of f32
LEAST, MOST = 2.0 ** -126, 2.0 ** 128


def to_f32(exact):
    """Of f64, exact or rounded to odd: f32, of which what is subnormal is zero."""
    bits = exact.view(np.uint64)
    rounded = np.where(bits & DROPPED, bits & ~DROPPED | (DROPPED + np.uint64(1)), bits).view(np.float64)
    rounded = np.where(np.abs(exact) < LEAST, np.copysign(0.0, exact), rounded)
    rounded = np.where(np.abs(exact) >= MOST, np.copysign(np.inf, exact), rounded)
    return np.where(np.isnan(exact), np.nan, rounded)


def add(a, b):
    """Of f32 as f64: what is lost in the sum is exact, and says to which side its last bit may be set."""
    total = a + b
    of_b = total - a
    lost = np.where(np.isfinite(total), (a - (total - of_b)) + (b - of_b), 0.0)
    even = total.view(np.uint64) & np.uint64(1) == 0
    toward = np.nextafter(total, np.copysign(np.inf, lost))
    return to_f32(np.where((lost != 0) & even, toward, total))


def product(a, b, terms):
    """The f32 of a [M, K] by b [K, N], bits of bf16 as u16; what fills no step of so many terms has +0 times +0 behind it."""
    behind = (0, -a.shape[1] % terms)
    a, b = np.pad(a, ((0, 0), behind)), np.pad(b, (behind, (0, 0)))
    a, b = ((x.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for x in (a, b))
    a, b = (np.where(np.abs(x) < LEAST, np.copysign(0.0, x), x) for x in (a, b))
    total = np.zeros((a.shape[0], b.shape[1]))
    with np.errstate(all="ignore"):
        for k in range(0, a.shape[1], 2):
            first, second = (to_f32(np.multiply.outer(a[:, k + i], b[k + i])) for i in (0, 1))
            total = add(total, add(first, second))
        return total.astype(np.float32)


def drawn(random, shape):
    """Bits of bf16 of all sizes: most near one, some subnormal, some whose products overflow."""
    exponents = random.choice([0, 1, 60, 64, 118, 124, 127, 128, 131, 190], shape, p=[.02, .01, .02, .02, .1, .2, .3, .2, .12, .01])
    return (random.integers(0, 2, shape) << 15 | exponents << 7 | random.integers(0, 128, shape)).astype(np.uint16)


def same(bits, wanted):
    """Whether bytes of f32 are those, or NaNs as they are."""
    got = np.frombuffer(bits, np.float32).reshape(wanted.shape)
    return np.array_equal(np.where(np.isnan(got), np.float32(np.nan), got).view(np.uint32),
                          np.where(np.isnan(wanted), np.float32(np.nan), wanted).view(np.uint32))
