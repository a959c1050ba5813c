#!/usr/bin/env python3
"""Fails on calls with two arguments that both create ops: C++ does not define in which order arguments are evaluated,
so the order of the ops, and with it the compiler's output, would depend on the C++ compiler.

`argument_order.py [ROOT]` checks the tree at ROOT, by default the project's own. A function that gets a builder creates ops, too,
and so does a function of the same file that returns a value or an op and creates ops. Constants do not count, since they have no
place among the ops. The elements of `{…}` are evaluated in order, and lambdas when they are called.
"""

import pathlib
import re
import sys

BUILDER = pathlib.Path("src/ir/builder.h")
METHOD = re.compile(r"^  (?:Value|Op)\* ([A-Z]\w*)\(", re.MULTILINE)
CONSTANTS = {"Int", "I64", "Bool", "Bits"}
CALL = re.compile(r"[\w\])>]\($")
GETS_BUILDER = re.compile(r"(?:\w+\.)?(?:b|b_|builder|builder_),")
FUNCTION = re.compile(r"^( *)(?:static )?(?:Value|Op)\* (?:\w+::)?([A-Z]\w*)\([^;{}]*\)(?: const)?(?: override)? \{(?:([^\n]*)\}$|\n(.*?)^\1\})",
                      re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def creation(root):
    """Returns a pattern for calls of a builder's methods that create ops: `b_.Add(`, `e.b.Make(`."""
    methods = set(METHOD.findall((root / BUILDER).read_text())) - CONSTANTS
    return rf"\b(?:b|b_|builder|builder_)(?:\.|->)(?:{'|'.join(sorted(methods))})\("


def call_of(names):
    """Returns a pattern for calls of the file's own functions with these names."""
    return rf"(?<![\w.>:])(?:{'|'.join(sorted(names))})\("


def own_creators(text, creates):
    """Returns the names of the file's functions that create ops, also by way of each other."""
    bodies = {}
    for _, name, line, lines in FUNCTION.findall(text):
        bodies[name] = bodies.get(name, "") + line + lines
    pattern, found = rf"{creates}|\({GETS_BUILDER.pattern}", set()
    while more := {name for name, body in bodies.items() if name not in found and re.search(pattern, body)}:
        found |= more
        pattern = call_of(found)
    return found


def calls(text, creates):
    """Yields the position of each call of which two arguments create ops."""
    frames = []  # (opening bracket, position, whether it is a call, arguments that create ops, whether this one does)
    for at, char in enumerate(text):
        if char in "([{":
            before = text[max(0, at - 80):at + 1]
            is_lambda = char == "{" and re.search(r"(\]|\)|mutable|-> [\w:*&<> ]+) \{$", before)
            frames.append([char, at, char == "(" and bool(CALL.search(before)), 0, False, bool(is_lambda),
                           char == "(" and bool(creates.search(before) or GETS_BUILDER.match(text, at + 1))])
        elif char in ")]}" and frames:
            _, start, is_call, count, is_creating, is_lambda, makes = frames.pop()
            if is_call and count + is_creating > 1:
                yield start
            if frames and not is_lambda:
                frames[-1][4] |= is_creating or makes or count > 0
        elif char == "," and frames:
            frames[-1][3] += frames[-1][4]
            frames[-1][4] = False
        elif char == ";" and frames:
            frames[-1][3], frames[-1][4] = 0, False


def complaints(root):
    creates = creation(root)
    for file in sorted(root.glob("src/**/*.cpp")):
        text = COMMENT.sub(blank, file.read_text())
        own = own_creators(text, creates)
        pattern = f"(?:{creates}|{call_of(own)})$" if own else f"{creates}$"
        for at in calls(text, re.compile(pattern)):
            line = text.count("\n", 0, at) + 1
            yield (f"{file.relative_to(root)}:{line}: two arguments of this call create ops, in an order that C++ does not "
                   "define: create one of them in a statement before")


def main():
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    problems = list(complaints(root))
    print("\n".join(problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
