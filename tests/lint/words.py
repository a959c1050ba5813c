#!/usr/bin/env python3
"""Fails if words come back that this project replaces with standard terms, or with common words in their
common order.

Each word has a limit: how often it may still occur in comments, or as a part of names, of src/, runtime/ and
include/. Limits may only become smaller. `words.py --counts` prints the current counts.

`words.py [ROOT]` checks the tree at ROOT, by default the project's own.
"""

import pathlib
import re
import sys

FOLDERS = ["src", "runtime", "include"]
# For comments: the limit and what to write instead.
PROSE = {
    r"\bbehind\b": (22, "after"),
    r"\bin front of\b": (1, "before"),
    r"\bstands?\b": (319, "is, or the verb that is meant"),
    r"\bbeside\b": (0, "next to, or with"),
    r"\bis no (?!more|longer)": (83, "is not a"),
    r"^Of ": (254, "a sentence about the thing that is documented"),
}
# For names: the limit and the term to use.
NAMES = {
    "TileBuffer": (830, "TileBuffer"), "Nest": (674, "Elementwise"), "Turn": (730, "Iteration"), "Deal": (98, "Distribute"),
    "Block": (888, "Block"), "Gate": (294, "Mbarrier"), "Box": (305, "TensorTile"), "Square": (80, "RegisterTranspose"),
    "Spread": (103, "Splat"), "Piece": (615, "Chunk"), "Near": (344, "Workgroup"), "Far": (80, "Global"),
}
NAMELESS = re.compile(r"^(?!\s*(?:return|//))[\w:<>,*& ]*[\w>&*] [&*]?(Of|Is|Run|Step|Within|Plain)\(", re.MULTILINE)
MOST_NAMELESS = 191


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".hpp", ".cpp", ".c", ".def"):
                yield path.read_text()


def comments(text):
    return [match[1].lstrip("/<! ") for match in re.finditer(r"//(.*)", text)]


def code(text):
    return re.sub(r"//.*", "", text)


def counted(root):
    """Returns {what: (count, limit, what to write)}."""
    found = {}
    texts = list(sources(root))
    lines = [line for text in texts for line in comments(text)]
    for pattern, (most, instead) in PROSE.items():
        found[f"'{pattern}' in comments"] = (sum(len(re.findall(pattern, line)) for line in lines), most, instead)
    words = "\n".join(code(text) for text in texts)
    for name, (most, instead) in NAMES.items():
        pattern = rf"(?:(?<![A-Za-z])|(?<=[a-z]))(?:{name}|(?<![A-Za-z]){name.lower()})s?(?![a-z])"
        found[f"'{name}' in names"] = (len(re.findall(pattern, words)), most, instead)
    nameless = sum(len(NAMELESS.findall(code(text))) for text in texts)
    found["functions named Of, Is, Run, Step, Within or Plain"] = (nameless, MOST_NAMELESS, "what it returns or does")
    return found


def complaints(root):
    for what, (count, most, instead) in counted(root).items():
        if count > most:
            yield f"{what}: {count} times, {most} are left over; write: {instead}"


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--counts"]
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    if "--counts" in sys.argv:
        for what, (count, most, _) in counted(root).items():
            print(f"{count:6} of {most:6}  {what}")
        sys.exit(0)
    problems = list(complaints(root.resolve()))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
