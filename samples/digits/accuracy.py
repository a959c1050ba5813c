#!/usr/bin/env python3
"""Compares logits.npy, which the run wrote, with the held-out labels; fails below 95 %."""

import pathlib
import sys

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
NEEDED = 0.95


def main():
    logits = np.load(sys.argv[1])
    labels = np.load(FOLDER / "test_labels.npy")
    if logits.shape != (len(labels), 10):
        sys.exit(f"digits: the logits have the shape {logits.shape}, not ({len(labels)}, 10)")
    right = int((logits.argmax(1) == labels).sum())
    accuracy = right / len(labels)
    print(f"digits: {right} of {len(labels)} held-out images are right, {accuracy:.1%}")
    if not accuracy >= NEEDED:
        sys.exit(f"digits: at least {NEEDED:.0%} is needed")


if __name__ == "__main__":
    main()
