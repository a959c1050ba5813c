#!/usr/bin/env python3
"""Computes coefficients of erf_f32: erf(x) / x - 1 / 4 as p(x²) / q(x²), the lowest power first, up to |x| =
LIMIT.

Uses Lawson's iteration on p - q * want, with weights that follow q. Then simulated annealing moves the
rounded coefficients by a few units in the last place, because rounding in the polynomials matters more than
the approximation's error. The bound itself is measured by tests/run/math_accuracy.py --all --only erf."""

import math

import numpy as np

DEGREE = 5
LIMIT = 3.8
PART = 0.25  # added to the quotient; x * PART is exact
STEPS = 8000


def fitted():
    u = LIMIT**2 * (0.5 - 0.5 * np.cos(np.linspace(0.001, np.pi, 3000)))
    want = np.array([math.erf(x) / x for x in np.sqrt(u)])
    powers = (u[:, None] / LIMIT**2) ** np.arange(DEGREE + 1)
    weights = np.ones_like(u)
    q = np.ones_like(u)
    best = np.inf
    for turn in range(200):
        scale = np.sqrt(weights) / np.abs(q) / want
        columns = np.hstack([powers, -powers[:, 1:] * (want - PART)[:, None]])
        found = np.linalg.lstsq(columns * scale[:, None], (want - PART) * scale, rcond=1e-16)[0]
        p, q = powers @ found[: DEGREE + 1], 1 + powers[:, 1:] @ found[DEGREE + 1 :]
        error = np.abs(p / q + PART - want) / want
        if error.max() < best:
            best, kept = error.max(), found
        weights *= (error / error.max()) ** (0.5 if turn < 20 else 1)
        weights = np.maximum(weights / weights.max(), 1e-12)
    scales = LIMIT ** (2.0 * np.arange(DEGREE + 1))
    print(f"relative error 2^{np.log2(best):.2f}")
    return np.concatenate([kept[: DEGREE + 1] / scales, [1], kept[DEGREE + 1 :] / scales[1:]]).astype(np.float32)


def fma(a, b, c):
    """Returns a * b + c. It is rounded twice, which almost never changes the result."""
    return (a.astype(np.float64) * b + c).astype(np.float32)


def erf(x, coefficients):
    u = x * x
    quotient = []
    for half in (coefficients[: DEGREE + 1], coefficients[DEGREE + 1 :]):
        value = np.full_like(x, half[-1])
        for coefficient in half[-2::-1]:
            value = fma(value, u, coefficient)
        quotient.append(value)
    return fma(x, quotient[0] / quotient[1], np.float32(PART) * x)


class Judge:
    """Computes a score from the largest error in ulps and from the 8th-power mean of the errors. A higher
    score is worse. Results above 1 are penalized, and so are polynomials that never reach 1."""

    def __init__(self):
        first, last = np.array([0.05, LIMIT], np.float32).view(np.int32)
        self.x = np.arange(first, last, 1009, dtype=np.int32).view(np.float32)
        self.want = np.array([math.erf(x) for x in self.x])
        self.ulp = np.ldexp(1.0, np.frexp(self.want)[1] - 24)

    def __call__(self, coefficients):
        got = erf(self.x, coefficients)
        error = np.abs(got - self.want) / self.ulp + 3 * (got > 1)
        reaches = np.any(got[len(got) * 9 // 10 :] == 1)
        return error.max() + 0.3 * np.mean(error**8) ** 0.125 + 0.2 * (not reaches)


def annealed(coefficients):
    random = np.random.RandomState(5)
    judge = Judge()
    moves = [i for i in range(len(coefficients)) if i != DEGREE + 1]  # the constant term of q stays 1
    now, score = coefficients, judge(coefficients)
    best, best_score = now, score
    for step in range(STEPS):
        other = now.copy()
        bits = other.view(np.int32)
        for i in random.choice(moves, random.randint(1, 4)):
            bits[i] += random.choice([-1, 1]) * random.randint(1, 2 ** random.randint(0, 6) + 1)
        heat = 0.06 * (1 - step / STEPS)
        if (new := judge(other)) < score + heat * random.exponential():
            now, score = other, new
        if score < best_score:
            best, best_score = now, score
    print(f"score {best_score:.3f}")
    return best


if __name__ == "__main__":
    print(*annealed(fitted()), sep="\n")
