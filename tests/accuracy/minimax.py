#!/usr/bin/env python3
"""Computes minimax polynomials for stdlib/math, the lowest power first: minimax.py FUNCTION DEGREE

Uses Lawson's iteration: weighted least squares of the relative error, with weights that grow with the
remaining errors. It computes in f64, so it is suitable for errors of 2^-44 and above, as in pow_f32, where
rounding a coefficient to f64 loses nothing."""

import sys

import numpy as np

# The functions and intervals to approximate: log2(1 + f) / f, (2^r - 1) / r.
FUNCTIONS = {
    "log2": (lambda f: np.log1p(f) / f / np.log(2), np.sqrt(0.5) - 1, np.sqrt(2) - 1),
    "exp2": (lambda r: np.expm1(r * np.log(2)) / r, -0.5, 0.5),
}


def main():
    function, low, high = FUNCTIONS[sys.argv[1]]
    degree = int(sys.argv[2])
    x = (low + high) / 2 - (high - low) / 2 * np.cos(np.linspace(0, np.pi, 4000))
    want = function(x)
    powers = (x[:, None] / high) ** np.arange(degree + 1) / want[:, None]
    weights = np.ones_like(x)
    best = np.inf
    for _ in range(300):
        root = np.sqrt(weights)
        scaled = np.linalg.lstsq(powers * root[:, None], root, rcond=None)[0]
        error = np.abs(powers @ scaled - 1)
        if error.max() < best:
            best, coefficients = error.max(), scaled / high ** np.arange(degree + 1)
        weights *= error / error.max()
        weights /= weights.max()
    print(*map(repr, map(float, coefficients)), sep="\n")
    print(f"relative error 2^{np.log2(best):.2f}")


if __name__ == "__main__":
    main()
