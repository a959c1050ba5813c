#!/usr/bin/env python3
"""Counts the tokens of the programs of NPBench in KDL and in NumPy.

    tests/suites/tokens.py

Each file of npbench/*.kdl is compared with the Python file of the same name. Tokens do not depend on line breaks and
spaces, so no formatter matters. Comments, documentation and imports do not count, and in Python neither do functions
that draw arguments or that are only baselines.
"""

import ast
import io
import pathlib
import re
import tokenize

SUITE = pathlib.Path(__file__).resolve().parent / "npbench"
KDL_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\d[\w.]*(?:(?<=[eE])[+-]\d+)?|\.\.|->|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||::|\S')
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}


def kdl_tokens(text):
    text = re.sub(r"//.*", "", text)
    return len(KDL_TOKEN.findall(re.sub(r"^import .*;$", "", text, flags=re.MULTILINE)))


def left_out(node):
    """Whether a statement at the top of a Python file is none of the programs."""
    name = getattr(node, "name", "")
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, (ast.Import, ast.ImportFrom)) or name.startswith("draw_") or name.endswith(("_numpy", "_numba"))


def python_tokens(text):
    tree = ast.parse(text)
    skipped = {line for node in tree.body if left_out(node) for line in range(node.lineno, node.end_lineno + 1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            skipped |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type not in LAYOUT and token.start[0] not in skipped for token in tokens)


def main():
    total = [0, 0]
    print(f"{'programs':<12} {'KDL':>6} {'NumPy':>6} {'ratio':>6}")
    for file in sorted(SUITE.glob("*.kdl")):
        counts = kdl_tokens(file.read_text()), python_tokens(file.with_suffix(".py").read_text())
        total = [a + b for a, b in zip(total, counts)]
        print(f"{file.stem:<12} {counts[0]:>6} {counts[1]:>6} {counts[0] / counts[1]:>6.2f}")
    print(f"{'all':<12} {total[0]:>6} {total[1]:>6} {total[0] / total[1]:>6.2f}")


if __name__ == "__main__":
    main()
