#!/usr/bin/env python3
"""Spoils the results of problems of the suites in tests/suites, in six ways each. `kernelc test` must find every one.

A program around the problem's own kernel or program runs it, then changes one output. Each day draws a problem of each suite
for each way.

    tests/run/suites_wrong.py [--all]      # --all: all problems in all ways
"""

import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import yaml
from shared import checks, seeds

SUITES = pathlib.Path(__file__).resolve().parents[1] / "suites"
NAMES = ("npbench", "kernelbench", "kernelbench_level2", "kernelbench_level3")

# What an element of a floating-point or an integer output becomes.
WAYS = {
    "zeros": ("0.0", "0"),
    "ones": ("1.0", "1"),
    "few_digits": ("(v as bf16) as T", "v + 1"),
    "negative": ("-v", "0 - v - 1"),
    "twice": ("v + v", "v + v + 1"),
    "first_element": ("if iota(a) == 0 then v + v + 1.0 else v", "if iota(a) == 0 then v + 1 else v"),
}

SPOIL = """
types Spoiled = f16 | bf16 | f32 | f64 | i8 | u8 | i16 | u16 | i32 | u32 | i64 | u64;

kernel spoil<T: Spoiled>(values: inout T[A..]) {
    spmd for a in A.. by 64 {
        let v = values[a];
        if T is float { values[a] = (FLOAT) as T; } else { values[a] = (INTEGER) as T; }
    }
}
"""


def header_of(text, name):
    """Returns the keyword, the compile-time parameters, the parameters and the conditions of a kernel or program."""
    found = re.search(rf"^(?:export )?(kernel|program) {name}(?:<([^>]*(?:->[^>]*)*)>)?\((.*?)\)\s*(where [^{{]*?)?\s*\{{", text,
                      re.MULTILINE | re.DOTALL)
    return found.groups()


def spoiled_file(text, problem, way):
    """Returns the text of the problem's file with a program that spoils the first output, and the program's name."""
    name = problem.get("kernel") or problem.get("program")
    keyword, constants, parameters, conditions = header_of(text, name)
    sizes = problem.get("check") or problem["scaled"]
    chosen = {key: sizes.get(value, value) for key, value in problem.get("defines", {}).items()}
    defaults = dict(re.findall(r"(\w+): int = (\d+)", constants or ""))
    for key, value in (defaults | chosen).items():
        parameters = re.sub(rf"\b{key}\b(?!:)", str(value), parameters)
        conditions = re.sub(rf"\b{key}\b", str(value), conditions or "")
    names = re.findall(r"(?:^|,)\s*(\w+)\s*:", parameters)
    output = next(key for key, kind in problem["arguments"].items() if kind.split()[0] in ("out", "inout"))
    choices = f"<{', '.join(f'{key} = {value}' for key, value in chosen.items())}>" if chosen else ""
    call = f"{'spmd ' if keyword == 'kernel' else ''}{name}{choices}({', '.join(names)});"
    spoil = SPOIL.replace("FLOAT", WAYS[way][0]).replace("INTEGER", WAYS[way][1])
    return f"{text}\n{spoil}\nexport program spoiled({parameters}) {conditions or ''} {{\n    {call}\n    spmd spoil({output});\n}}\n"


def write_suite(folder, name, chosen):
    """Writes a suite of spoiled problems: a list of (problem, way). The peers are the suite's own."""
    suite = yaml.safe_load((SUITES / f"{name}.yaml").read_text())
    problems = []
    for problem, way in chosen:
        file = folder / f"{problem['name']}_{way}.kdl"
        file.write_text(spoiled_file((SUITES / problem["file"]).read_text(), problem, way))
        own = {key: value for key, value in problem.items() if key not in ("kernel", "defines")}
        peer = problem.get("peer") or problem.get("kernel") or problem.get("program")
        problems.append(own | {"name": f"{problem['name']}_{way}", "file": file.name, "program": "spoiled", "peer": peer})
    path = folder / f"{name}.yaml"
    shutil.copytree(SUITES / pathlib.Path(suite["peers"]).parent, folder / pathlib.Path(suite["peers"]).parent, dirs_exist_ok=True)
    path.write_text(yaml.safe_dump(suite | {"problems": problems}, sort_keys=False, width=200))
    return path


def check_suite(folder, name, draw, everything):
    problems = yaml.safe_load((SUITES / f"{name}.yaml").read_text())["problems"]
    chosen = [(problem, way) for problem in problems for way in WAYS] if everything else \
        [(draw.choice(problems), way) for way in WAYS]
    suite = write_suite(folder, name, chosen)
    words = ["kernelc", "test", "--suite", str(suite), f"--json={folder}/rows.json", "--seed", str(draw.randint(1, 999))]
    ran = subprocess.run(words, capture_output=True, text=True)
    checks.expect(f"{name}: the exit code is 1", ran.returncode == 1, ran.stdout + ran.stderr)
    rows = {row["problem"]: row for row in json.loads((folder / "rows.json").read_text())["rows"]}
    for problem, way in chosen:
        row = rows[f"{problem['name']}_{way}"]
        checks.expect(f"{name}: {row['problem']} is found to be wrong", row["verdict"] == "WRONG", row)


def main():
    draw = random.Random(seeds.of_today())
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            check_suite(pathlib.Path(folder), name, draw, "--all" in sys.argv[1:])
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
