#!/usr/bin/env python3
"""Trains the two-layer network of digits.kdl on the training images, using only NumPy.

Reads train_images.npy and train_labels.npy, and writes w1.npy, b1.npy, w2.npy and b2.npy next to them. The
held-out images are not used: only `accuracy.py` reads them, after the program has run.
"""

import math
import pathlib

import numpy as np

HIDDEN = 64
EPOCHS = 200
BATCH = 64
RATE = 2e-3
DECAY = 1e-2
SEED = 1

FOLDER = pathlib.Path(__file__).resolve().parent
ERF = np.vectorize(math.erf, otypes=[np.float64])


def gelu(z):
    """Returns x * Phi(x) and its derivative."""
    phi = 0.5 * (1.0 + ERF(z * math.sqrt(0.5)))
    return z * phi, phi + z * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


def shifted(images, rng):
    """Returns each image moved by at most one pixel up, down or sideways, which reduces overfitting."""
    padded = np.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    out = np.empty((len(images), 64))
    for n, move in enumerate(rng.choice(5, len(images), p=[0.6, 0.1, 0.1, 0.1, 0.1])):
        y, x = [(1, 1), (0, 1), (2, 1), (1, 0), (1, 2)][move]
        out[n] = padded[n, y:y + 8, x:x + 8].ravel()
    return out


def gradients(x, label, w1, b1, w2, b2):
    """Returns the gradients of the mean cross-entropy of softmax(gelu(x w1 + b1) w2 + b2)."""
    h, slope = gelu(x @ w1 + b1)
    logits = h @ w2 + b2
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(x)), label] -= 1.0
    p /= len(x)
    dz = (p @ w2.T) * slope
    return [x.T @ dz, dz.sum(0), h.T @ p, p.sum(0)]


def train(images, labels):
    rng = np.random.RandomState(SEED)
    x = images.astype(np.float64) / 16.0
    weights = [rng.randn(64, HIDDEN) * math.sqrt(2 / 64), np.zeros(HIDDEN),
               rng.randn(HIDDEN, 10) * math.sqrt(1 / HIDDEN), np.zeros(10)]
    mean = [np.zeros_like(w) for w in weights]
    square = [np.zeros_like(w) for w in weights]
    step = 0
    for epoch in range(EPOCHS):
        rate = RATE * 0.5 * (1.0 + math.cos(math.pi * epoch / EPOCHS))
        order = rng.permutation(len(x))
        for first in range(0, len(x), BATCH):
            batch = order[first:first + BATCH]
            step += 1
            slopes = gradients(shifted(x[batch], rng), labels[batch], *weights)
            for w, g, m, s in zip(weights, slopes, mean, square):  # AdamW
                m += 0.1 * (g - m)
                s += 0.001 * (g * g - s)
                w -= rate * (m / (1 - 0.9 ** step) / (np.sqrt(s / (1 - 0.999 ** step)) + 1e-8)
                             + DECAY * w)
    weights[0] /= 16.0  # the program does not scale the pixel counts 0..16, so the weights do
    return weights


def main():
    weights = train(np.load(FOLDER / "train_images.npy"), np.load(FOLDER / "train_labels.npy"))
    for name, w in zip(["w1", "b1", "w2", "b2"], weights):
        np.save(FOLDER / f"{name}.npy", w.astype(np.float32))


if __name__ == "__main__":
    main()
