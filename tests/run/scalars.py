#!/usr/bin/env python3
"""Tests every conversion between two scalar types, and every operator on every type, for edge cases.

The operations run on vectors and on single values, at -O0 and -O3. Results are compared with the interpreter,
bit for bit, and with exact arithmetic in Python.

tests/run/scalars.py --type f16    # only one type
"""

import argparse
import concurrent.futures
import itertools
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy as np

LIMIT_S = 120
INTEGERS = {f"{sign}{bits}": (sign == "i", bits) for sign in "iu" for bits in (8, 16, 32, 64)}
FLOATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
TYPES = ["bool", *INTEGERS, *FLOATS]
NUMPY = {"bool": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64,
         **{name: np.dtype(("int" if signed else "uint") + str(bits)) for name, (signed, bits) in INTEGERS.items()}}


# ---- Values: bool, int, or a float that is exact in the type


def wrapped(value, name):
    signed, bits = INTEGERS[name]
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def limits(name):
    signed, bits = INTEGERS[name]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def rounded(value, name):
    """Rounds to the nearest value of the type, ties to even; `value` is an int, a Fraction or a float."""
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value) or value == 0):
        return value
    exact = Fraction(value)
    if exact == 0:
        return 0.0
    digits, least, most = FLOATS[name]
    sign = -1 if exact < 0 else 1
    exact = abs(exact)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if Fraction(2) ** exponent > exact:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    count = exact / unit
    whole = count.numerator // count.denominator
    rest = count - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1):
        whole += 1
    result = whole * unit
    if result >= Fraction(2) ** (most + 1):
        return sign * math.inf
    return math.copysign(float(result), sign)


def converted(value, source, target):
    if target == "bool":
        return value != 0
    if target in FLOATS:
        return rounded(value if source in FLOATS else int(value), target)
    if source not in FLOATS:
        return wrapped(int(value), target)
    if math.isnan(value):
        return 0
    low, high = limits(target)
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


def edges(name):
    if name == "bool":
        return [False, True]
    if name in INTEGERS:
        low, high = limits(name)
        near = [low, low + 1, high - 1, high, 0, 1, 2, 3, 7, 8, 31, 100, high // 2, high // 3]
        big = [(1 << 24) + 1, (1 << 53) + 1, (1 << 62) + 1, 2049, 0x1080]  # ties of f32, f64, f16, bf16
        more = [-1, -2, -3, -8] if low < 0 else []
        return sorted({value for value in near + big + more if low <= value <= high})
    digits, least, most = FLOATS[name]
    largest = (2 - 2.0 ** (1 - digits)) * 2.0 ** most
    values = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.5, 0.1, 7.75, 127.5, 128.0, 255.5, 32767.5, 65504.0, 2147483648.0, 4294967296.0,
              9223372036854775808.0, 18446744073709551616.0, 1e30, largest, 2.0 ** least,
              2.0 ** (least - digits + 1), 1 + 2.0 ** (1 - digits), math.inf]
    fitting = {rounded(value, name) for value in values}
    return [sign * value for value in sorted(fitting) for sign in (1, -1)] + [math.nan]


# ---- Operators: name -> (text over a and b, Python function)


def of_f32(name, result):
    """Rounds an f32 result to the type. Operations on narrow floats are computed in f32."""
    return rounded(float(np.float32(result)), name) if name in ("f16", "bf16") else float(result)


def computed(name, operation):
    def run(a, b):
        wide = np.float64 if name == "f64" else np.float32
        with np.errstate(all="ignore"):
            return of_f32(name, operation(wide(a), wide(b)))
    return run


def extreme(sign):
    def run(a, b):
        if math.isnan(a) or math.isnan(b):
            return math.nan
        if a == b == 0:
            negative = math.copysign(1, a) < 0 or math.copysign(1, b) < 0 if sign < 0 else \
                math.copysign(1, a) < 0 and math.copysign(1, b) < 0
            return -0.0 if negative else 0.0
        return max(a, b) if sign > 0 else min(a, b)
    return run


def remainder(a, b):
    """Computes C's fmod."""
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    return math.fmod(a, b)


def sign(a, _):
    return a if a == 0 or math.isnan(a) else math.copysign(1.0, a)


def trunc(a, _):
    return a if math.isnan(a) or math.isinf(a) else math.copysign(float(math.trunc(a)), a)


def of_bits(name):
    """Returns the operators that depend on the width of an integer type."""
    bits = INTEGERS[name][1]
    pattern = lambda a: a & (1 << bits) - 1
    turn = lambda a, count: pattern(a << count % bits) | pattern(a) >> bits - count % bits
    return {"~a": lambda a, b: wrapped(~a, name), "popcount(a)": lambda a, b: pattern(a).bit_count(),
            "clz(a)": lambda a, b: bits - pattern(a).bit_length(),
            "ctz(a)": lambda a, b: (pattern(a) & -pattern(a)).bit_length() - 1 if a else bits,
            "rotl(a, b)": lambda a, b: wrapped(turn(a, b), name), "rotr(a, b)": lambda a, b: wrapped(turn(a, -b), name),
            "mul_high(a, b)": lambda a, b: a * b >> bits}


def towards_zero(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


COMPARISONS = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
               ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


def operators(name):
    if name == "bool":
        rows = {"a & b": lambda a, b: a and b, "a | b": lambda a, b: a or b, "a ^ b": lambda a, b: a != b,
                "a && b": lambda a, b: a and b, "a || b": lambda a, b: a or b, "!a": lambda a, b: not a,
                "if a then b else !b": lambda a, b: b if a else not b}
    elif name in INTEGERS:
        bits = INTEGERS[name][1]
        rows = {f"a {sign} b": (lambda run: lambda a, b: wrapped(run(a, b), name))(run) for sign, run in {
            "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "&": lambda a, b: a & b,
            "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "<<": lambda a, b: a << b % bits,
            ">>": lambda a, b: a >> b % bits}.items()}
        rows |= {"min(a, b)": min, "max(a, b)": max, "-a": lambda a, b: wrapped(-a, name),
                 "if b != 0 then a / b else a": lambda a, b: wrapped(a // b, name) if b else a,
                 "if b != 0 then a % b else a": lambda a, b: a % b if b else a,
                 "if b != 0 then trunc_div(a, b) else a": lambda a, b: wrapped(towards_zero(a, b), name) if b else a,
                 "if b != 0 then trunc_rem(a, b) else a": lambda a, b: a - towards_zero(a, b) * b if b else a,
                 **of_bits(name),
                 "a / 3": lambda a, b: a // 3, "a % 8": lambda a, b: a % 8}
        if INTEGERS[name][0]:
            rows["abs(a)"] = lambda a, b: wrapped(abs(a), name)
            rows["sign(a)"] = lambda a, b: (a > 0) - (a < 0)
    else:
        rows = {"a + b": computed(name, lambda a, b: a + b), "a - b": computed(name, lambda a, b: a - b),
                "a * b": computed(name, lambda a, b: a * b), "a / b": computed(name, lambda a, b: a / b),
                "min(a, b)": extreme(-1), "max(a, b)": extreme(1), "-a": lambda a, b: -a, "abs(a)": lambda a, b: abs(a),
                "a % b": remainder, "sign(a)": sign, "trunc(a)": trunc,
                "floor(a)": computed(name, lambda a, b: np.floor(a)), "ceil(a)": computed(name, lambda a, b: np.ceil(a)),
                "round(a)": computed(name, lambda a, b: np.rint(a)), "sqrt(a)": computed(name, lambda a, b: np.sqrt(a))}
    signs = {f"a {sign} b": run for sign, run in COMPARISONS.items() if name != "bool" or sign in ("==", "!=")}
    return [(text, name, run) for text, run in rows.items()] + [(text, "bool", run) for text, run in signs.items()]


def program(name):
    """Returns the text and its columns: (output, type, Python function)."""
    stored = "f32" if name == "bf16" else name  # .npy files have no bf16
    load = f" as {name}" if name == "bf16" else ""
    columns = [*operators(name), *((f"a as {to}", to, lambda a, b, to=to: converted(a, name, to)) for to in TYPES)]
    outputs, tiles, scalars = [], [], []
    for number, (text, to, _) in enumerate(columns):
        held = "f32" if to == "bf16" else to
        store = f"v{number} as f32" if to == "bf16" else f"v{number}"  # the `let` has rounded the value
        outputs += [f"t{number}: out {held}[N]", f"s{number}: out {held}[N]"]
        tiles.append(f"        let v{number} = {text};\n        t{number}[i] = {store};")
        scalars.append(f"        let v{number} = {text};\n        s{number}[r] = {store};")
    text = (f"export kernel k(x: in {stored}[N], y: in {stored}[N], {', '.join(outputs)}) {{\n"
            f"    spmd for i in N by 64 {{\n        let a = x[i]{load};\n        let b = y[i]{load};\n" + "\n".join(tiles)
            + f"\n    }}\n    spmd for r in 0..N {{\n        let a = x[r]{load};\n        let b = y[r]{load};\n"
            + "\n".join(scalars) + "\n    }\n}\n")
    return text, columns


def same(found, expected):
    if isinstance(expected, float):
        if math.isnan(expected):
            return math.isnan(found)
        return struct.pack("d", found) == struct.pack("d", expected)
    return found == expected


def check(folder, name, level):
    folder = folder / f"{name}{level}"
    folder.mkdir()
    text, columns = program(name)
    (folder / "k.kdl").write_text(text)
    pairs = list(itertools.product(edges(name), repeat=2))
    stored = np.float32 if name == "bf16" else NUMPY[name]
    command = ["kernelc", "run", str(folder / "k.kdl"), "--verify", "-O", level, "--core-num", "3"]
    for place, arg in enumerate("xy"):
        np.save(folder / f"{arg}.npy", np.array([pair[place] for pair in pairs], dtype=stored))
        command += ["--arg", f"{arg}=@{folder / arg}.npy"]
    for number in range(len(columns)):
        for kind in "ts":
            command += ["--out", f"{kind}{number}=@{folder / f'{kind}{number}'}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        return [f"{done.stderr}{text}"]
    wrong = []
    for number, (column, _, run) in enumerate(columns):
        for kind in "ts":
            found = np.load(folder / f"{kind}{number}.npy").tolist()
            for value, (a, b) in zip(found, pairs):
                expected = run(a, b)
                if not same(value, expected):
                    wrong.append(f"{name} -O{level} {kind}: {column} with a = {a}, b = {b} is {value}, not {expected}")
                    break
    return wrong


def check_division(folder, name):
    """Checks that a division by zero stops the core, at any place in a vector."""
    wrong = []
    folder = folder / f"{name}_division"
    folder.mkdir()
    (folder / "k.kdl").write_text(f"export kernel k(x: in {name}[N], y: out {name}[N]) {{\n"
                                  f"    spmd for i in N by 64 {{ y[i] = 7 / x[i] + 7 % x[i]; }}\n}}\n")
    for place in (None, 0, 17, 36):
        values = np.ones(37, dtype=NUMPY[name])
        if place is not None:
            values[place] = 0
        np.save(folder / "x.npy", values)
        done = subprocess.run(["kernelc", "run", str(folder / "k.kdl"), "--arg", f"x=@{folder / 'x'}.npy"],
                              capture_output=True, text=True, timeout=LIMIT_S)
        if (done.returncode == 0) != (place is None) or (place is not None and "division by zero" not in done.stderr):
            wrong.append(f"{name}: 7 / x with a zero at {place}: exit code {done.returncode}, {done.stderr}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--type", choices=TYPES, action="append", help="only this one")
    options = parser.parse_args()
    jobs = []
    failed = 0
    with tempfile.TemporaryDirectory() as name, \
            concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        folder = pathlib.Path(name)
        for type_name in options.type or TYPES:
            jobs += [pool.submit(check, folder, type_name, level) for level in "03"]
            if type_name in INTEGERS:
                jobs.append(pool.submit(check_division, folder, type_name))
        for job in jobs:
            wrong = job.result()
            failed += 1 if wrong else 0
            for line in wrong[:6]:
                print(line)
    print(f"{len(jobs) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
