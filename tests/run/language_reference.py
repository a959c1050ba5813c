#!/usr/bin/env python3
"""Tests what grammar/LANGUAGE.md shows: each example must compile, each command must work, links must lead
somewhere, and the lists of builtins and library functions must be complete. Also checks that
grammar/DIAGNOSTICS.md is up to date.

    tests/run/language_reference.py --update    # writes the lists and DIAGNOSTICS.md anew

An example is a whole file in a ```kdl block. It must compile, unless every error says that the compiler does
not support something in it yet. An example that starts with `// NAME.kdl` is saved under that name for the
```sh block that follows and uses it. Examples with a contract or a test are also run by `kernelc test`.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from shared import language_lists

GRAMMAR = pathlib.Path(__file__).resolve().parents[2] / "grammar"
REFERENCE = GRAMMAR / "LANGUAGE.md"
DIAGNOSTICS = GRAMMAR / "DIAGNOSTICS.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"// (\w+\.kdl)\n")
DEVICE = re.compile(r"^device (\w+)", re.MULTILINE)
DIAGNOSTIC = re.compile(r"([A-Z]\d{4}): (\w+): (.*)")
HEAD = """# Diagnostics

The diagnostics of `kernelc`, grouped by phase. `…` is a name, a number or another part of the text that depends on the
source. `kernelc explain E0302` explains one of them, and `kernelc explain --all` explains all of them.

<!-- Written by tests/run/language_reference.py --update from the tables of the compiler; do not edit. -->
"""


def run(command, folder, **options):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, **options)


def example(body, used, folder):
    """Returns what is wrong with an example, or None, and whether the example compiled. `used` says whether a
    command that uses the example follows."""
    named = NAME.match(body)
    name = named.group(1) if named else "example.kdl"
    (folder / name).write_text(body)
    if re.search(r'^(ensures|test "|\} *ensures)', body, re.MULTILINE):
        tested = run(["kernelc", "test", name], folder)
        if tested.returncode != 0:
            return f"exit code {tested.returncode}\n{tested.stdout}{tested.stderr}", False
    if used:
        return None, True
    # The example is compiled for `host`, whatever its devices are.
    devices = [f"--device={device}=host" for device in DEVICE.findall(body)]
    done = run(["kernelc", "build", "--emit", "header", "-o", "out", *devices, name], folder)
    if done.returncode == 0:
        return None, True
    return f"exit code {done.returncode}\n{done.stderr}", False


def script(body, folder):
    """Returns what is wrong with the commands of a block, or None."""
    done = run(["bash", "-euo", "pipefail", "-c", body], folder)
    return None if done.returncode == 0 else f"exit code {done.returncode} from\n{body}{done.stdout}{done.stderr}"


def diagnostics():
    """Returns the page of diagnostics: a section for each phase, with a row for each diagnostic."""
    page = HEAD
    lines = run(["kernelc", "explain", "--all"], None, check=True).stdout.replace("|", "\\|").splitlines()
    for line in lines[1:]:
        diagnostic = DIAGNOSTIC.fullmatch(line)
        if diagnostic:
            page += "| {} | {} | {} |".format(*diagnostic.groups())
        elif line.startswith(" "):
            page += f" {line.strip()} |\n"
        elif line:
            page += f"\n## {line}\n\n| number | severity | text | help |\n|---|---|---|---|\n"
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true")
    update = parser.parse_args().update
    text = REFERENCE.read_text()
    with_lists = language_lists.filled(text)
    if update:
        REFERENCE.write_text(with_lists)
        DIAGNOSTICS.write_text(diagnostics())
        return
    wrong = compiled = examples = 0
    for problem in language_lists.faults(text):
        wrong += 1
        print(f"{REFERENCE.name}: {problem}")
    if with_lists != text:
        wrong += 1
        print(f"{REFERENCE.name}: a list of functions is not that of the tables: {sys.argv[0]} --update")
    if not DIAGNOSTICS.is_file() or DIAGNOSTICS.read_text() != diagnostics():
        wrong += 1
        print(f"{DIAGNOSTICS.name} is not up to date: {sys.argv[0]} --update")
    found = list(BLOCK.finditer(text))
    with tempfile.TemporaryDirectory(prefix="reference-") as scratch:
        for number, block in enumerate(found):
            kind, body = block.groups()
            follows = found[number + 1].group(1) if number + 1 < len(found) else ""
            problem = None
            if kind == "kdl":
                examples += 1
                problem, built = example(body, follows == "sh" and NAME.match(body), pathlib.Path(scratch))
                compiled += built
            elif kind == "sh":
                problem = script(body, pathlib.Path(scratch))
            if problem:
                wrong += 1
                print(f"{REFERENCE.name}:{text[:block.start()].count(chr(10)) + 1}: {problem}")
    print(f"{compiled} of {examples} examples compile, {wrong} are wrong")
    sys.exit(0 if compiled and not wrong else 1)


if __name__ == "__main__":
    main()
