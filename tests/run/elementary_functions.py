#!/usr/bin/env python3
"""The elementary functions of stdlib/math, compiled, against NumPy in a wider type: each stays within the bound
that the comment above it states, and special arguments give what the language says. Equal bits in the
interpreter are checked by the same run (--check)."""

import math
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MATH = HERE.parents[1] / "stdlib/math"
BOUND = re.compile(r"^///[^\n]*error below ([\d.]+) ulp[^\n]*\nfn (\w+)_(f32|f64)\(", re.MULTILINE)
FLUSHED = {"exp", "exp2", "sigmoid", "pow"}  # powers of e and 2: no subnormal results

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


REFERENCES = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "erf": lambda x: erf(x.astype(np.float64)),
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": sigmoid, "pow": np.power,
}


def bounds():
    """{(name, type): ulp} from the comments."""
    text = "\n".join(p.read_text() for p in sorted(MATH.glob("*.kdl")))
    return {(name, kind): float(ulp) for ulp, name, kind in BOUND.findall(text)}


def arguments(kind):
    """Numbers where results vary, all exponents, the neighbours of special ones."""
    random = np.random.RandomState(7)
    info = np.finfo(kind)
    parts = [random.uniform(-limit, limit, 1000) for limit in (1, 3, 20, 100, 1100, 1e5, 1e9)]
    exponents = np.arange(info.minexp - info.nmant, info.maxexp)
    parts.append(np.ldexp(random.uniform(1, 2, len(exponents)), exponents))
    parts.append(np.arange(500) * (math.pi / 2))
    special = np.array([0, 1, 2, 0.5, math.e, math.sqrt(0.5), math.sqrt(2), info.tiny, info.smallest_subnormal,
                        info.max, math.log(info.max), math.log(info.tiny), np.inf, np.nan])
    with np.errstate(over="ignore"):
        parts += [special, *(np.nextafter(special.astype(kind), kind(to)) for to in (-np.inf, np.inf))]
        x = np.concatenate([p.astype(kind) for p in parts])
    return np.concatenate([x, -x])


def complaints(name, kind, bound, got, *inputs):
    """What is wrong with a function's results; the reference is computed in the next wider type."""
    wide = np.float64 if kind is np.float32 else np.longdouble
    slack = 1 if name == "erf" and kind is np.float64 else 0.01  # NumPy has no erf; math.erf is an f64
    info = np.finfo(kind)
    with np.errstate(all="ignore"):
        want = REFERENCES[name](*(x.astype(wide) for x in inputs)).astype(wide)
        if name in FLUSHED:
            want = np.where(np.abs(want) < info.tiny, np.copysign(wide(0), want), want)
        rounded = want.astype(kind)
        exact = ~np.isfinite(rounded) | (want == 0)
        ulp = np.maximum(np.abs(np.spacing(np.where(exact, 1, rounded))), info.smallest_subnormal).astype(wide)
        wrong = np.where(exact, (got != rounded) & ~(np.isnan(got) & np.isnan(rounded)),
                         ~(np.abs(got.astype(wide) - want) <= (bound + slack) * ulp))
        if name == "exp2":
            whole = (inputs[0] == np.floor(inputs[0])) & np.isfinite(inputs[0])
            wrong |= whole & (got != rounded)
    return [f"{name}_{kind.__name__}({', '.join(repr(x[n]) for x in inputs)}) is {got[n]!r}, not {want[n]!r}"
            for n in np.flatnonzero(wrong)[:5]]


def run(folder, kernel, inputs, outputs):
    """Results by name, or an exit with what kernelc said."""
    command = ["kernelc", "run", str(HERE / "elementary.kdl"), "--kernel", kernel, "--check"]
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        command += ["--arg", f"{name}=@{folder / name}.npy"]
    for name in outputs:
        command += ["--out", f"{name}=@{folder / name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return {name: np.load(folder / f"{name}.npy") for name in outputs}


def main():
    stated = bounds()
    missing = {(n, k) for n in REFERENCES for k in ("f32", "f64")} - stated.keys()
    problems = [f"stdlib/math states no bound for {n}_{k}" for n, k in sorted(missing)]
    names = [n for n in REFERENCES if n != "pow"]
    with tempfile.TemporaryDirectory(prefix="elementary-") as scratch:
        folder = pathlib.Path(scratch)
        for kind, short in ((np.float32, "f32"), (np.float64, "f64")):
            x = arguments(kind)
            results = run(folder, "every", {"x": x}, [f"{n}_x" for n in names])
            for name in names:
                problems += complaints(name, kind, stated.get((name, short), 0), results[f"{name}_x"], x)
            y = np.random.RandomState(8).permutation(x)
            base = np.concatenate([x, np.abs(x), x])
            power = np.concatenate([y, y / 50, np.round(y)]).astype(kind)
            results = run(folder, "powers", {"x": base, "y": power}, ["pow_xy"])
            problems += complaints("pow", kind, stated.get(("pow", short), 0), results["pow_xy"], base, power)
    print("\n".join(problems) or f"{len(stated)} functions are within their bounds")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
