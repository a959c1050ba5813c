#!/usr/bin/env python3
"""Tests the pages of `kernelc explain`. In each file of src/tools/explain/examples, the first program must have the error
that names the file and no other, and the second must have none; the page must show both. The errors of first kernels
and the commonest ones must have such a page. Each word of the language and each title of its reference must have one, too."""

import json
import pathlib
import re
import subprocess
import sys

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "src/tools/explain/examples"
ID = re.compile(r"\[(E\d{4})\]$", re.MULTILINE)


def run(*words, **options):
    return subprocess.run(["kernelc", *words], capture_output=True, text=True, timeout=120, **options)


def ids_in(program):
    return {one["id"] for one in json.loads(run("check", "-", "--json", input=program).stdout)["diagnostics"]}


def check_example(path):
    wrong, right = path.read_text().removeprefix("// wrong\n").split("\n// right\n")
    found = ids_in(wrong)
    checks.expect(f"{path.name}: the first program has this error only", found == {path.stem}, str(found))
    checks.expect(f"{path.name}: the second program has none", ids_in(right) == set(), str(ids_in(right)))
    page = run("explain", path.stem).stdout
    shown = page.replace("\n    ", "\n")
    checks.expect(f"{path.name}: the page shows both", wrong.strip() in shown and right.strip() in shown, page)
    entry = json.loads(run("explain", path.stem, "--json").stdout)["entries"][0]
    checks.expect(f"{path.name}: and so does --json", entry["wrong"].strip() == wrong.strip() and entry["right"].strip() == right.strip())


def check_common(names):
    beginners = {id for path in (ROOT / "tests/golden/beginners").glob("*.kdl") for id in ID.findall(path.read_text())}
    table = (ROOT / "grammar/REFERENCE.md").read_text().split("## The commonest errors")[1]
    for id in sorted(beginners | set(re.findall(r"^\| (E\d{4})", table, re.MULTILINE))):
        checks.expect(f"{id} has a page with programs", id in names)


def check_topics():
    lexer = (ROOT / "grammar/KdlLexer.g4").read_text()
    words = re.findall(r"^[A-Z_0-9]+ : '([a-z]+)' ;", lexer, re.MULTILINE)
    checks.expect("the grammar has words", len(words) > 40)
    for word in words:
        page = run("explain", word)
        checks.expect(f"the word {word} has a page", page.returncode == 0 and len(page.stdout) > 100, page.stderr)
    text = re.sub(r"^```.*?^```$", "", (ROOT / "grammar/LANGUAGE.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        page = run("explain", title.lower())
        checks.expect(f"the section {title} has a page", page.returncode == 0 and title in page.stdout, page.stderr)
    page = run("explain", "builtins").stdout
    for name in ["exp", "sum", "dot", "cumsum", "argmax", "std.nn.relu"]:
        checks.expect(f"`explain builtins` lists {name}", re.search(rf"^{re.escape(name)}  ", page, re.MULTILINE))


def main():
    files = sorted(EXAMPLES.glob("*.kdl"))
    for path in files:
        check_example(path)
    check_common({path.stem for path in files})
    check_topics()
    print(f"{len(files)} diagnostics have a wrong and a right program")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
