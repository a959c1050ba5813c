#!/usr/bin/env python3
"""Tests the messages for mistakes of first kernels. Each file of tests/golden/beginners contains one mistake, and the file
of the same name in right/ is what a reader of the messages makes of it. The first message must be on a line that has to
change, and its help must contain text of the right program, or be one of PROSE. The right program must compile."""

import difflib
import json
import pathlib
import re
import subprocess
import sys

from shared import checks

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "golden/beginners"
LANGUAGES = ["all", "c", "cuda", "halide", "ispc", "numpy", "opencl", "openmp", "python", "triton"]
# Helps that say to remove or to move something, so that nothing is typed.
PROSE = ["remove ", "end the loop before it"]
# Helps that show an example for other names, or the first of two steps.
EXAMPLES = ["write `var t: f32[i, j] = 0.0;`", "declare it first: `var acc = 0.0;`", "write `atomic h[k] += 1;`",
            "choose element by element with `if c then a else b`"]
GAP = re.compile(r"…|\.\.\.")
QUOTED = re.compile(r"`([^`]+)`|'([^']+)'")
PLAIN = re.compile(r"braces: (.*)|(?:write|ranges:|it:) ([^,]+?)(?:: |,| for |$)|for example (.*\))")


def code_lines(path):
    """Returns the lines of a golden file without those that the compiler does not read."""
    return [line for line in path.read_text().splitlines() if not line.startswith(("//!", "//~", "//|", "//="))]


def messages_for(lines):
    run = subprocess.run(["kernelc", "check", "-", "--json"], input="\n".join(lines) + "\n", capture_output=True, text=True,
                         timeout=120)
    checks.expect("the compiler ends", run.returncode in (0, 1), run.stderr)
    return json.loads(run.stdout)["diagnostics"]


def packed(text):
    return re.sub(r"\s+", "", text)


def shows_code_of(message, right):
    """Returns whether one of the texts to type in a help is in the right program, whatever stands in its gaps."""
    whole = packed("".join(right))
    texts = ["".join(groups) for groups in [*QUOTED.findall(message), *PLAIN.findall(message)]]
    for text in texts:
        pieces = [packed(piece).rstrip(";}.,") for piece in GAP.split(text)]
        if any(pieces) and all(piece in whole for piece in pieces):
            return True
    return False


def is_about(found, wrong, numbers):
    """Returns whether a message is on one of the lines, or names something that one of them declares."""
    names = set(re.findall(r"'(\w+)'", f"{found['message']} {found.get('help')}"))
    return found["line"] in numbers or any(re.search(rf"\b{name}\b", wrong[number - 1])
                                           for number in numbers if number <= len(wrong) for name in names)


def changed_lines(wrong, right):
    """Returns the numbers of the lines of the wrong program that have to change, and of those around insertions."""
    numbers = set()
    for kind, begin, end, _, _ in difflib.SequenceMatcher(None, wrong, right, autojunk=False).get_opcodes():
        if kind != "equal":
            numbers |= set(range(begin + 1, end + 1)) or {begin, begin + 1}
    return numbers


def check_mistake(path):
    wrong, right = code_lines(path), code_lines(path.parent / "right" / path.name)
    found = messages_for(wrong)
    checks.expect(f"{path.name}: a message", found != [])
    if not found:
        return
    first = found[0]
    message = first.get("help") or ""
    checks.expect(f"{path.name}: the first message is about a line that has to change",
                  is_about(first, wrong, changed_lines(wrong, right)), f"line {first['line']}: {first['message']}")
    checks.expect(f"{path.name}: its help says what to write", message.startswith((*PROSE, *EXAMPLES))
                  or shows_code_of(message, right) or first["message"].startswith("expected ';' after"),
                  f"{first['message']}\nhelp: {message}")
    rest = messages_for(right)
    checks.expect(f"{path.name}: the right program compiles", rest == [], str(rest))


def main():
    files = sorted(FOLDER.glob("*.kdl"))
    checks.expect("at least forty mistakes, from every language", len(files) >= 40
                  and {path.stem.split("_")[0] for path in files} == set(LANGUAGES))
    checks.expect("each has a right program", {p.name for p in files} == {p.name for p in (FOLDER / "right").glob("*.kdl")})
    for path in files:
        check_mistake(path)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
