"""The programs of ranks_families.kdl."""

import pathlib

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "ranks_families.kdl"
# The sizes, the arguments that are numbers, and the outputs of a program.
PROGRAMS = {
    "jacobi3": ("MNK", {"steps": 3}, ["y"]),
    "red_black": ("MN", {"steps": 2}, ["y"]),
    "matmul": ("MNK", {}, ["c", "d"]),
    "fourier": ("MN", {}, ["yr", "yi"]),
    "attention": ("HSD", {}, ["o"]),
    "bodies": ("N", {"steps": 2}, ["x", "y", "u", "v"]),
    "sparse": ("MK", {"steps": 2}, ["x"]),
    "train": ("NDK", {"steps": 2}, ["w", "v"]),
    "whole_rows": ("MN", {"steps": 2}, ["y", "mean"]),
    "digits": ("NDKC", {"steps": 2}, ["w1", "b1", "w2", "b2"]),
}
