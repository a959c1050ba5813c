#!/usr/bin/env python3
"""Tests what grammar/LANGUAGE.md shows: each example must compile, each command must work, links must lead
somewhere, and the lists of builtins and library functions must be complete. Also checks the examples and the
table of errors of grammar/REFERENCE.md, and that grammar/DIAGNOSTICS.md and stdlib/KERNELS.md are up to date.

    tests/run/language_reference.py --update    # writes the lists, DIAGNOSTICS.md and KERNELS.md anew

An example is a whole file in a ```kdl block. It must compile, unless every error says that the compiler does
not support something in it yet. An example that starts with `// NAME.kdl` is saved under that name for the
```sh block that follows and uses it. Examples with a contract or a test are also run by `kernelc test`.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from shared import language_lists

GRAMMAR = pathlib.Path(__file__).resolve().parents[2] / "grammar"
REFERENCE = GRAMMAR / "LANGUAGE.md"
PAGE = GRAMMAR / "REFERENCE.md"
DIAGNOSTICS = GRAMMAR / "DIAGNOSTICS.md"
KERNELS = GRAMMAR.parent / "stdlib/KERNELS.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"// (\w+\.kdl)\n")
# A row of the table of errors: a body of a loop that has the error, and one that has not. The parameters precede the table.
MISTAKE = re.compile(r"^\| (E\d{4}) \| `(.*)` \| `(.*)` \|$", re.MULTILINE)
PARAMETERS = re.compile(r"kernel with these parameters:\n\n```text\n(.*)\n```")
DEVICE = re.compile(r"^device (\w+)", re.MULTILINE)
DIAGNOSTIC = re.compile(r"([A-Z]\d{4}): (\w+): (.*)")
HEAD = """# Diagnostics

The diagnostics of `kernelc`, grouped by phase. `…` is a name, a number or another part of the text that depends on the
source. `kernelc explain E0302` explains one of them, and `kernelc explain --all` explains all of them.

<!-- Written by tests/run/language_reference.py --update from the tables of the compiler; do not edit. -->
"""

KERNELS_HEAD = """# Kernels of the library

`kernelc explain std.nn.softmax` shows the parameters of a kernel. Python compiles it by its name:
`kernelc.compile("std.nn", kernel="softmax").softmax`; the command line in the same way: `kernelc build std.nn --kernel softmax`.
The [functions of the library](../grammar/LANGUAGE.md#library-functions) can be the values of function parameters.

<!-- Written by tests/run/language_reference.py --update from `kernelc explain library`; do not edit. -->
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


def kernels():
    """Returns the page of the library's kernels: a section for each file, with a row for each kernel."""
    page = KERNELS_HEAD
    file = ""
    shown = json.loads(run(["kernelc", "explain", "library", "--json"], None, check=True).stdout)
    for entry in shown["entries"]:
        module, _, name = entry["name"].rpartition(".")
        if module != file:
            page += f"\n## {module}\n\n| kernel | result |\n|---|---|\n"
            file = module
        page += f"| `{name}` | {entry['text'].replace('|', chr(92) + '|')} |\n"
    return page


def mistakes(text):
    """Returns what is wrong with the table of errors of a page, and the number of its rows."""
    problems = []
    parameters = PARAMETERS.search(text).group(1)
    rows = MISTAKE.findall(text)
    for number, wrong, right in rows:
        for body, expected in ((wrong, [number]), (right, [])):
            source = f"export kernel f({parameters}) {{ spmd for i in N by 64 {{ {body} }} }}"
            done = run(["kernelc", "check", "-W", "no-unused", "--json", "-"], None, input=source)
            found = sorted({one["id"] for one in json.loads(done.stdout)["diagnostics"]})
            if found != expected:
                problems.append(f"{body}: expected {expected}, found {found}")
    return problems, len(rows)


def blocks(path, scratch):
    """Tests the blocks of a page. Returns what is wrong, how many examples compile, and how many there are."""
    text = path.read_text()
    problems = []
    compiled = examples = 0
    found = list(BLOCK.finditer(text))
    for number, block in enumerate(found):
        kind, body = block.groups()
        follows = found[number + 1].group(1) if number + 1 < len(found) else ""
        problem = None
        if kind == "kdl":
            examples += 1
            problem, built = example(body, follows == "sh" and NAME.match(body), scratch)
            compiled += built
        elif kind == "sh":
            problem = script(body, scratch)
        if problem:
            problems.append(f"{path.name}:{text[:block.start()].count(chr(10)) + 1}: {problem}")
    return problems, compiled, examples


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true")
    update = parser.parse_args().update
    text = REFERENCE.read_text()
    with_lists = language_lists.filled(text)
    if update:
        REFERENCE.write_text(with_lists)
        DIAGNOSTICS.write_text(diagnostics())
        KERNELS.write_text(kernels())
        return
    problems = [f"{REFERENCE.name}: {problem}" for problem in language_lists.faults(text)]
    if with_lists != text:
        problems.append(f"{REFERENCE.name}: a list of functions is not that of the tables: {sys.argv[0]} --update")
    if not DIAGNOSTICS.is_file() or DIAGNOSTICS.read_text() != diagnostics():
        problems.append(f"{DIAGNOSTICS.name} is not up to date: {sys.argv[0]} --update")
    if not KERNELS.is_file() or KERNELS.read_text() != kernels():
        problems.append(f"{KERNELS.name} is not up to date: {sys.argv[0]} --update")
    compiled = examples = 0
    for path in (REFERENCE, PAGE):
        with tempfile.TemporaryDirectory(prefix="reference-") as scratch:
            of_page, built, shown = blocks(path, pathlib.Path(scratch))
        problems += of_page
        compiled += built
        examples += shown
    of_table, rows = mistakes(PAGE.read_text())
    problems += [f"{PAGE.name}: {problem}" for problem in of_table]
    for problem in problems:
        print(problem)
    print(f"{compiled} of {examples} examples compile, {rows} mistakes were tried, {len(problems)} are wrong")
    sys.exit(0 if compiled and rows and not problems else 1)


if __name__ == "__main__":
    main()
