#!/usr/bin/env python3
"""Tests that constants with types have the values that the same expressions have at run time.

Random expressions of numbers, casts and operators are the values of consts and elements of lists, and a kernel computes them
again with operations of the target. All bits must be equal.

tests/run/constants.py --files 20    # any number of files; --first SEED repeats one
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

from shared import checks

INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"]
REALS = ["0.0", "0.1", "1.0", "3.25", "1.0e-3", "7.0", "100.0", "3.0e4"]
SPECIAL = ["nan", "inf"]
CONSTANTS = 40


def literal(rng, type_):
    if type_ == "bool":
        return rng.choice(["true", "false"])
    if type_ in FLOATS:
        values = REALS[:-2] if type_.startswith("f8") else REALS + SPECIAL
        return f"({rng.choice(['', '', '-'])}{rng.choice(values)} as {type_})"
    if rng.random() < 0.25:
        return f"{type_}.{rng.choice(['min', 'max'])}"
    return f"({rng.choice([0, 1, 2, 3, 5, 17, 100, 127])} as {type_})"


def expression(rng, type_, depth):
    """Returns an expression of this type, which is in parentheses or a single name."""
    kind = rng.random()
    if depth == 0 or kind < 0.15:
        return literal(rng, type_)
    if kind < 0.45:
        other = rng.choice(INTEGERS + FLOATS + ["bool"])
        return f"({expression(rng, other, depth - 1)} as {type_})"
    if kind < 0.55:
        return f"({'!' if type_ == 'bool' else rng.choice('-~') if type_ in INTEGERS else '-'}{expression(rng, type_, depth - 1)})"
    if type_ == "bool":
        of = rng.choice(INTEGERS + FLOATS)
        operator = rng.choice(["==", "!=", "<", "<=", ">", ">="])
        return f"({expression(rng, of, depth - 1)} {operator} {expression(rng, of, depth - 1)})"
    operator = rng.choice(["+", "-", "*", "*", "/", "%"] + (["<<", ">>", "&", "|", "^"] if type_ in INTEGERS else ["+", "-", "*"]))
    left, right = expression(rng, type_, depth - 1), expression(rng, type_, depth - 1)
    if operator in "/%" and type_ in INTEGERS:
        right = f"({rng.choice([1, 2, 3, 7])} as {type_})"
    # Without parentheses, a product may become part of a fused multiply-add.
    return f"({left} {operator} {right})" if rng.random() < 0.5 or operator not in "+-*" else f"({left} {operator} {right} {rng.choice('+-')} {literal(rng, type_)})"


def file_of(seed):
    rng = random.Random(seed)
    drawn = [(rng.choice(INTEGERS + FLOATS + ["bool"]), n) for n in range(CONSTANTS)]
    drawn = [(type_, n, expression(rng, type_, 4)) for type_, n in drawn]
    types = sorted({type_ for type_, _, _ in drawn})
    of = {type_: [(n, text) for other, n, text in drawn if other == type_] for type_ in types}
    lines = [f"const C{n}: {type_} = {text};" for type_, n, text in drawn]
    params = ", ".join(f"{kind}_{type_}: out {type_}[{len(of[type_])}]" for type_ in types for kind in ["now", "const"])
    lines.append(f"kernel compute({params}) {{\n    spmd for e in 0..1 {{")
    for type_ in types:
        for place, (n, text) in enumerate(of[type_]):
            lines.append(f"        const_{type_}[{place}] = C{n};\n        now_{type_}[{place}] = {text};")
    lines.append("    }\n}")
    listed = ", ".join(f"list_{type_}: out {type_}[{len(of[type_])}]" for type_ in types)
    lines.append(f"export program all({params}, {listed}) {{")
    names = ", ".join(f"{kind}_{type_}" for type_ in types for kind in ["now", "const"])
    lines.append(f"    spmd compute({names});")
    for type_ in types:
        lines.append(f"    let t_{type_}: {type_}[{len(of[type_])}] = [{', '.join(text for _, text in of[type_])}];")
        lines.append(f"    copy(t_{type_}, list_{type_});")
    return "\n".join(lines + ["}"]) + "\n", types


def check(seed, folder):
    source, types = file_of(seed)
    path = folder / f"constants_{seed}.kdl"
    path.write_text(source)
    done = subprocess.run(["kernelc", "run", str(path), "--program", "all", "--target", "reference"], capture_output=True, text=True, timeout=300)
    values = dict(line.split(": ", 1) for line in done.stdout.splitlines() if "_" in line.split(": ")[0])
    checks.expect(f"seed {seed} runs", done.returncode == 0 and len(values) == 3 * len(types), source + done.stdout + done.stderr)
    for type_ in types if done.returncode == 0 else []:
        for kind in ["const", "list"]:
            checks.expect(f"seed {seed}: {kind} of {type_}", values[f"{kind}_{type_}"] == values[f"now_{type_}"],
                          f"{source}\n{values[f'{kind}_{type_}']}\n{values[f'now_{type_}']}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.files):
            check(seed, pathlib.Path(folder))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
