#!/usr/bin/env python3
"""Fails if comments or identifiers of src/, runtime/ and include/ contain words that this project has
replaced with standard terms, or with common words in their usual order.

`words.py [ROOT]` checks the tree at ROOT, by default the project's own. `words.py --counts` prints how often each
of these words occurs.
"""

import collections
import pathlib
import re
import sys

FOLDERS = ["src", "runtime", "include"]
# Words in comments, and what to write instead.
PROSE = {
    r"(?<!left )(?<!leaves )\bbehind\b": "after",
    r"\bin front of\b": "before",
    r"\bstands?\b(?! for)": "is, or the verb that is meant",
    r"\bbeside\b": "next to, or with",
    r"(?<![Tt]here )\bis no (?!more|longer)": "is not a",
    r"^Of ": "a sentence about the thing that is documented",
}
# Words in identifiers, and the term to use instead.
NAMES = {
    "home": "tile_buffer, or the owner of a tensor", "nest": "elementwise", "turn": "iteration", "deal": "distribute",
    "dealt": "distributed", "blk": "block", "gate": "mbarrier", "box": "tensor_tile", "square": "register_transpose",
    "spread": "splat", "near": "workgroup memory, a cluster's scratchpad, or a cache", "far": "global memory",
    "team": "workgroup", "slide": "sliding_window", "edge": "bounds_mode", "unit": "instruction, or engine",
    "claim": "dynamic_counter", "cut": "split", "behind": "after", "stands": "is", "beside": "next_to",
}
# Identifiers in which such a word has another meaning.
HOMONYMS = {
    "the user's folder": ["home"],
    "a stage's turn on its core": ["turn", "NoteTurn", "kdl_turn_fn", "TurnFunction", "TellTurn", "GiveTurn"],
    "loops in loops, expressions in expressions": ["GenLoopNest", "MayNest"],
    "a thread claims work": ["Claim"],
    "close to": ["near", "IntegersNear", "HelpNear", "NearItemWord", "near_names"],
    "until now": ["so_far"],
    "the box of CUDA's tensor maps": ["box", "kMostBox"],
    "a box of elements that a rank owns or receives": [
        "Box", "BoxSet", "BoxTest", "BoxValues", "CopyBox", "CountBox", "CountNoBoxes", "MakeNeededBox", "NeededBox",
        "OwnedBox", "WholeBox", "is_box",
        "boxes", "boxes_",
    ],
    "how far values lie apart": ["Spread", "spread", "kSpreads", "RoundSpread", "against_spread"],
    "an extreme value or size": ["edge", "edges", "Edge", "Edges"],
    "what something is counted in": ["unit", "units", "kUnit"],
    "names of OpenCL and LLVM": ["kComputeUnits", "DICompileUnit", "createCompileUnit"],
    "a part of a number or name that was cut off": ["cut"],
}
# Function names that do not say what the function does.
NAMELESS = re.compile(r"^(?!\s*(?:return|//))[\w:<>,*& ]*[\w>&*] [&*]?(Of|Is|Run|Step|Within|Plain)\(", re.MULTILINE)
TEXTS = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
COMPONENT = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".hpp", ".cpp", ".c", ".def"):
                yield path.relative_to(root), path.read_text()


def prose(text):
    """Returns the comments of a file, one on each line: consecutive lines of comment are joined."""
    blocks = re.findall(r"(?:^[ \t]*//.*\n)+|//.*", text, re.MULTILINE)
    return "\n".join(re.sub(r"\s*\n?[ \t]*//[/<!]*[ \t]*", " ", block).strip() for block in blocks)


def odd_names(code, meant):
    """Yields (identifier, word) for each identifier that has a word of NAMES as a component."""
    for identifier in set(re.findall(r"[A-Za-z_]\w*", code)) - meant:
        for component in COMPONENT.findall(identifier):
            word = component.lower()
            for name in (word, word.removesuffix("s"), word.removesuffix("es")):
                if name in NAMES:
                    yield identifier, name
                    break


def findings(root):
    """Yields (finding, number of occurrences, what to write instead) for each file and word."""
    meant = {identifier for identifiers in HOMONYMS.values() for identifier in identifiers}
    for path, text in sources(root):
        comments = prose(text)
        for pattern, instead in PROSE.items():
            count = len(re.findall(pattern, comments, re.MULTILINE))
            if count:
                yield f"{path}: '{pattern}' in a comment", count, instead
        code = TEXTS.sub(" ", text)
        for identifier, name in sorted(odd_names(code, meant)):
            yield f"{path}: '{identifier}'", len(re.findall(rf"\b{identifier}\b", code)), NAMES[name]
        for name in NAMELESS.findall(code) if path.parts[0] != "include" else []:
            yield f"{path}: function '{name}'", 1, "a name that says what it returns or does"


def complaints(root):
    for what, count, instead in findings(root):
        yield f"{what}, {count} times; write: {instead}"


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--counts"]
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    if "--counts" in sys.argv:
        counts = collections.Counter()
        for what, count, _ in findings(root.resolve()):
            counts[what.split(": ", 1)[1]] += count
        for what, count in counts.most_common():
            print(f"{count:6}  {what}")
        sys.exit(0)
    problems = list(complaints(root.resolve()))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
