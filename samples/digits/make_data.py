#!/usr/bin/env python3
"""Creates the .npy files in this folder from digits.csv.gz, each row of which contains 64 pixel counts and a
digit.

Only needed to recreate the committed files: `make_data.py digits.csv.gz` (see README.md for the source). A
fifth of the rows, drawn with a fixed seed, is held out.
"""

import pathlib
import sys

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent


def main():
    rows = np.loadtxt(sys.argv[1], delimiter=",")
    order = np.random.RandomState(0).permutation(len(rows))
    held_out = len(rows) // 5
    for name, part in [("test", order[:held_out]), ("train", order[held_out:])]:
        np.save(FOLDER / f"{name}_images.npy", rows[part, :64].astype(np.float32))
        np.save(FOLDER / f"{name}_labels.npy", rows[part, 64].astype(np.int32))


if __name__ == "__main__":
    main()
