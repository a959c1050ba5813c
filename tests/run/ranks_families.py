#!/usr/bin/env python3
"""Runs programs of several fields over ranks: stencils, matrix products, a Fourier transform, attention, bodies, a sparse matrix and training.

Their results must be those of one host, bit for bit, on 1, 2, 3, 5 and more ranks and in processes of Open MPI and MPICH, for
sizes that change every day. Half of the shapes of the grid are drawn each day for each program. What is sent must be what
`kernelc explain --communication` says, and the least that is possible where the kernels read complete boxes. If one of the fetches
is removed from a program, its results must change.

tests/run/ranks_families.py
tests/run/ranks_families.py --all            # with all shapes
tests/run/ranks_families.py --removals 100   # removes so many fetches of each program, one after another
"""

import argparse
import math
import re
import shutil
import sys

import numpy as np
from shared import checks, seeds
from shared.rank_families import PROGRAMS, SOURCE
from shared.rank_removals import without_fetches
from shared.rank_runs import LAUNCHERS, on_shape, outputs, run
from shared.rank_traffic import compare_traffic

SHAPES = [(1, 1), (2, 1), (1, 3), (5, 1), (2, 4), (13, 1)]
DIGITS = SOURCE.parents[2] / "samples" / "digits"


def draw_arguments(draw):
    """Returns the arguments of each program, with sizes up to 19."""
    arguments = {}
    for program, (sizes, numbers, _) in PROGRAMS.items():
        words = [word for size in sizes for word in ("--set", f"{size}={draw.randint(1, 19)}")]
        words += [word for name, value in numbers.items() for word in ("--arg", f"{name}={value}")]
        arguments[program] = words
        print(program, *words)
    return arguments


def words_of(program, arguments, file):
    outs = [word for name in PROGRAMS[program][2] for word in ("--out", f"{name}=@{name}.npy")]
    return ["kernelc", "run", str(file), "--program", program, *arguments[program], *outs]


def on_grid(shape, folder):
    file = folder / "grid.kdl"
    file.write_text(on_shape(SOURCE, shape))
    return file


def of_one_host(program, arguments, folder):
    """Returns the results of the same text without `by`."""
    file = folder / "one.kdl"
    file.write_text(re.sub(r" on grid by \([^)]*\)|^device grid.*", "", SOURCE.read_text(), flags=re.MULTILINE))
    one = outputs(words_of(program, arguments, file), folder)
    checks.expect(f"{program} fails without ranks: {one}", isinstance(one, dict) and len(one) == len(PROGRAMS[program][2]))
    return one


def in_one_process(program, arguments, one, folder):
    for shape in seeds.half(program, SHAPES):
        file, count = on_grid(shape, folder), math.prod(shape)
        words = words_of(program, arguments, file)
        got = outputs([*words, "--device", f"grid=ranks?count={count}"], folder)
        checks.expect(f"{program} differs on a grid of {shape}: {got if isinstance(got, str) else ''}", got == one)
        if count > 1:
            # A partial result that happens to be zero need not be sent.
            compare_traffic(file, words[3:words.index("--out")], count, folder, program not in ("train", "digits"))
    sent = run(["kernelc", "explain", "--communication", str(on_grid((8, 1), folder)), "--ranks", "8", "--program", program, *arguments[program]], folder)
    if program == "attention":
        checks.expect(f"attention sends something: {sent.stdout}{sent.stderr}", "nothing is sent" in sent.stdout)


def in_processes(program, arguments, one, folder):
    for library, launcher in LAUNCHERS.items():
        if not shutil.which(launcher[0]):
            checks.expect(f"{launcher[0]} is missing: tests/install.sh tests", False)
            continue
        for shape in seeds.half(f"{program} {library}", [(2, 1), (1, 3)]):
            got = outputs([*launcher, str(math.prod(shape)), *words_of(program, arguments, on_grid(shape, folder))], folder)
            checks.expect(f"{program} differs on a grid of {shape} in processes of {library}: {got if isinstance(got, str) else ''}",
                          got == one)


def removals(draw, program, arguments, most, folder):
    """Removes some of the fetches, one after another."""
    shape = draw.choice([(2, 1), (2, 4)])
    words = [*words_of(program, arguments, None)[5:], "--device", f"grid=ranks?count={math.prod(shape)}"]
    removed = without_fetches(on_grid(shape, folder), program, words, folder, draw, most)
    print(f"{program}: {removed} fetches removed")


def powers(rows, columns, of):
    """Returns the real and imaginary parts of exp(-2 pi i row column / of)."""
    angle = -2 * np.pi * (np.outer(np.arange(rows), np.arange(columns)) % of) / of
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def transform(draw, folder):
    """The Fourier transform is that of NumPy, up to rounding."""
    m, n = draw.randint(2, 19), draw.randint(2, 19)
    numbers = np.random.default_rng(draw.randint(0, 1000))
    x = numbers.standard_normal(m * n) + 1j * numbers.standard_normal(m * n)
    arrays = {"re": x.real.reshape(m, n), "im": x.imag.reshape(m, n)}
    arrays["mr"], arrays["mi"] = powers(m, m, m)
    arrays["nr"], arrays["ni"] = powers(n, n, n)
    arrays["tr"], arrays["ti"] = powers(m, n, m * n)
    inputs = folder / "inputs"
    inputs.mkdir()
    words = ["kernelc", "run", str(on_grid((3, 1), folder)), "--program", "fourier", "--device", "grid=ranks?count=3",
             "--out", "yr=@yr.npy", "--out", "yi=@yi.npy"]
    for name, array in arrays.items():
        np.save(inputs / f"{name}.npy", array.astype(np.float32))
        words += ["--arg", f"{name}=@inputs/{name}.npy"]
    done = run(words, folder)
    checks.expect(f"the Fourier transform fails: {done.stderr}", done.returncode == 0)
    if done.returncode == 0:
        y = np.load(folder / "yr.npy") + 1j * np.load(folder / "yi.npy")
        wanted = np.fft.fft(x).reshape(n, m).T  # element k1 + m * k2 is at [k1, k2]
        worst = np.abs(y - wanted).max()
        checks.expect(f"the Fourier transform of {m} * {n} numbers differs by {worst}", worst < 1e-5 * np.abs(wanted).max() * 10)


def learn_digits(folder):
    """Three ranks train the network of samples/digits, which then knows most of the images that it has not seen."""
    images = {name: np.load(DIGITS / f"{name}_images.npy").astype(np.float32) for name in ("train", "test")}
    scale = images["train"].max()
    labels = {name: np.load(DIGITS / f"{name}_labels.npy").astype(np.int64) for name in ("train", "test")}
    numbers = np.random.default_rng(1)
    arrays = {"images": images["train"] / scale, "label": labels["train"], "b1": np.zeros(32), "b2": np.zeros(10),
              "w1": 0.2 * numbers.standard_normal((64, 32)), "w2": 0.2 * numbers.standard_normal((32, 10))}
    words = ["kernelc", "run", str(on_grid((3, 1), folder)), "--program", "digits", "--device", "grid=ranks?count=3",
             "--arg", "steps=150"]
    for name, array in arrays.items():
        np.save(folder / f"digits_{name}.npy", array if name == "label" else array.astype(np.float32))
        words += ["--arg", f"{name}=@digits_{name}.npy"]
    weights = ["w1", "b1", "w2", "b2"]
    done = run([*words, *[word for name in weights for word in ("--out", f"{name}=@{name}.npy")]], folder)
    checks.expect(f"learning digits fails: {done.stderr}", done.returncode == 0)
    if done.returncode == 0:
        w1, b1, w2, b2 = (np.load(folder / f"{name}.npy") for name in weights)
        z = images["test"] / scale @ w1 + b1
        found = (0.5 * z * (1 + np.tanh(0.79788456 * (z + 0.044715 * z ** 3))) @ w2 + b2).argmax(axis=1)
        right = (found == labels["test"]).mean()
        print(f"digits: {right:.1%} of the held-out images are right")
        checks.expect(f"only {right:.1%} of the held-out images are right", right > 0.85)


def check_all(draw, folder):
    parser = argparse.ArgumentParser()
    parser.add_argument("--removals", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="with all shapes")
    options = parser.parse_args()
    arguments = draw_arguments(draw)
    for program in PROGRAMS:
        one = of_one_host(program, arguments, folder)
        in_one_process(program, arguments, one, folder)
        in_processes(program, arguments, one, folder)
        removals(draw, program, arguments, options.removals, folder)
    transform(draw, folder)
    learn_digits(folder)


if __name__ == "__main__":
    sys.exit(seeds.check_drawn(check_all))
