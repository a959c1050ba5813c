#!/usr/bin/env python3
"""Applies what a diagnostic's help suggests and compiles the result. Each help in the golden files that
contains text to type is applied to its file. The diagnostic must disappear, and no other diagnostic may
appear. A help that starts with `write` but contains no such text is listed in PROSE."""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from shared import checks

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
# Words of the help texts that contain text to type.
SUGGESTS = re.compile(r"write |declare `range |name the ranges: |name it: ")
FOLDERS = ["sema", "passes", "run", "driver", "syntax", "beginners"]
# Help texts that have gaps, or that are about a whole statement or more.
PROSE = [
    "write (all of it|each output once|a kernel for each|another tensor|the same `on …` at|a sum of|a whole number|the rest of|it|its|several conditions|the parameter's name|the type|the stage|a number|the numbers|a parameter)\\b",
    "write (`ranks\\(2|\\w+, or `_` if|`on \\w+ by)",  # of distributed tensors
    "write '\\w+' (after the swap|without brackets|without an index|on every path)",
    "write `(assert|checkpoint|export|~|true|inf|x|else if)\\b",
    "write `[^`]*…",  # has gaps
    "write `(~|[^`]*` (for (blocks|floats)|before it)|[^`]*`, (which keeps|and use \\w+ instead))",
    "write `let \\w+ = random",
    "write \\w+(\\.\\. in all types| for the number of its elements)",  # of packs of dimensions
    "write (target\\(|let y|cores\\(|\\w+(\\.\\w+)?<|iota\\(|i\\.|x\\[i\\]:|x = |a <|dot\\(|reduce\\()",
    "write \\S+.* for \\w+$|write (if c then a else b|log\\(x\\)|exp\\(x\\)|max\\(|!b|true)",  # names from other languages
]
# Helps for names and statements of other languages, which show an example.
PROSE += [
    "write (iota|sum|max|min|dot|abs|log|exp|pow|rsqrt|tanh|sqrt|mean|prod)\\(",
    "write (core_num|core_id|all indices|the indices|the name|generic parameters|x\\[i\\],|x as \\w+$)",
    "write `(spmd for i in N|atomic h|print|var t:|y\\[i\\] = e|import std|let \\w+ = x\\[i\\];`)",
]
# Files in which a second mistake is reported once the first mistake is fixed, and why.
SECOND = {
    ("beginners/c_brackets.kdl", "E0340"): "both sides have two pairs of brackets",
    ("beginners/halide_calls.kdl", "E0307"): "the right side has parentheses, too",
    ("sema/four_bits.kdl", "E0328"): "the sum is stored in a narrower type",
    ("sema/help_of_sums.kdl", "E0376"): "the declaration also lacks a value",
    ("passes/check_disjoint_wraps_sizes.kdl", "E0414"): "another store may touch the element, too",
    ("sema/help_of_ranges.kdl", "E0357"): "the reduction over the declared range also lacks its `over`",
    ("sema/help_of_unknown_dimensions.kdl", "E0376"): "the declaration also lacks a value",
    ("sema/loop_bounds.kdl", "E0363"): "a range of a size that is known at run time wants a `max`, too",
    ("sema/missing_over.kdl", "E0316"): "what counts is added to a float",
    ("sema/operands.kdl", "E0316"): "both of two operands are integers",
    ("sema/scales.kdl", "E0316"): "the other operand needs the cast, too",
    ("sema/test_items.kdl", "E0526"): "2.0 is not an element of an output, either",
    ("sema/tile_parts.kdl", "E0333"): "tf32 is the cast of an operand of `dot` only",
    ("sema/type_mix_of_signs.kdl", "E0354"): "the product is reduced over a range that its operands lack",
    ("sema/type_mix_of_some_kinds.kdl", "E0328"): "of the kinds of T each wants another cast",
    ("sema/value_type.kdl", "E0351"): "a tile is given to a scalar variable",
}


def unwrapped(text):
    """Yields the text without some of its parentheses."""
    pairs = [match.span() for match in re.finditer(r"\([^()]*\)", text)]
    texts = [text[:begin] + text[begin + 1:end - 1] + text[end:] for begin, end in pairs]
    if text.startswith("(") and text.count("(") > 1:
        texts += [each.replace("(", "", 1)[::-1].replace(")", "", 1)[::-1] for each in list(texts)]
    return texts


def foreign_cast(operand, line):
    """Returns a cast of the operand in the line that is written as in another language."""
    inner = re.escape(operand[1:-1] if operand.startswith("(") else operand)
    found = re.search(rf"\w+_cast<\w+>\({inner}\)|\((?:float|int)\){inner}|\b(?:float|int)\({inner}\)"
                      rf"|{inner}\.(?:float|astype)\([^)]*\)", line)
    return found.group(0) if found else None


def original(written, line):
    """Returns the part of the line to replace with the text to type, which contains casts."""
    bare = re.sub(r" as \w+", "", written)
    if cast := foreign_cast(bare, line):
        return cast
    last = re.sub(r" as \w+$", "", written)
    single = re.sub(r"\((-?[^()]*)\)", r"\1", bare)  # without parentheses around one operand
    for text in [last, last[1:-1] if last.startswith("(") else last, bare, single, single[1:-1], *unwrapped(bare)]:
        if text != written and text in line:
            return text
    return None


def converted(lines, found, match):
    line = lines[found["line"] - 1]
    for written in re.findall(r"'([^']+)'", match.group(0)):
        text = original(written, line)
        if text is None:
            return None
        at = line.find(text, max(0, found["column"] - 1 - len(text)) if line.count(text) > 1 else 0)
        at = line.find(text) if at < 0 else at
        line = f"{line[:at]}({written}){line[at + len(text):]}"
    return replaced(lines, found["line"], line)


def in_place(lines, found, match):
    line = lines[found["line"] - 1]
    return replaced(lines, found["line"], line[:found["column"] - 1] + match.group(1) + line[found["end_column"] - 1:])


def reduced_first(lines, found, match):
    line = lines[found["line"] - 1]
    text = rf"\b{match.group(2)} = [^;]*;"
    return replaced(lines, found["line"], re.sub(text, match.group(1), line, count=1))


def declared(lines, _found, match):
    word, name, kind, value = match.groups()
    text = f"{word} {name} = {value};"
    for number, line in enumerate(lines, 1):
        if text in line:
            return replaced(lines, number, line.replace(text, f"{word} {name}: {kind} = {value};"))
    return None


def walked(lines, found, match):
    line = lines[found["line"] - 1]
    return replaced(lines, found["line"], re.sub(r"for \w+ in [^{]*", match.group(1) + " ", line))


def atomic(lines, found, match):
    line, target = lines[found["line"] - 1], match.group(1)
    at = line.find(target, max(0, found["column"] - 1))
    return replaced(lines, found["line"], f"{line[:at]}atomic {line[at:]}") if at >= 0 else None


def inserted(lines, found, match):
    line = lines[found["line"] - 1]
    indent = line[:len(line) - len(line.lstrip())]
    return replaced(lines, found["line"], f"{indent}{match.group(1)} {line.lstrip()}")


def bounded(lines, found, match):
    name, size = match.groups()
    line = lines[found["line"] - 1]
    text = f"range {name} in {size};"
    return replaced(lines, found["line"], line.replace(text, f"range {name} in {size} max 1024;")) if text in line else None


def replaced(lines, number, line):
    return lines[:number - 1] + [line] + lines[number:]


def without_module(lines, found, match):
    text = match.group(1)
    line = lines[found["line"] - 1]
    return replaced(lines, found["line"], re.sub(r"\w+\." + re.escape(text), text, line))


def without_namespace(lines, found, match):
    text = match.group(1)
    line = lines[found["line"] - 1]
    return replaced(lines, found["line"], re.sub(r"\w+::" + re.escape(text), text, line))


def constant(lines, found, match):
    line = lines[found["line"] - 1]
    foreign = r"""\w+\.(inf|nan|pi)\b|float\((["'])\w+\2\)"""
    return replaced(lines, found["line"], re.sub(foreign, match.group(1), line))


def statement(lines, found, match):
    line = lines[found["line"] - 1]
    return replaced(lines, found["line"], line[:len(line) - len(line.lstrip())] + match.group(1))


def directive(lines, found, match):
    return replaced(lines, found["line"], match.group(1))


def loop_head(lines, found, match):
    line = lines[found["line"] - 1]
    return replaced(lines, found["line"], re.sub(r"for \([^)]*\) ", match.group(1) + " ", line))


def binder(lines, found, match):
    line = lines[found["line"] - 1]
    return replaced(lines, found["line"], re.sub(r"\w+ in range\([^)]*\)", match.group(1), line))


def size_name(lines, found, match):
    line = lines[found["line"] - 1]
    return replaced(lines, found["line"], line.replace(f"{match.group(2)}.shape[0]", match.group(1)))


def with_inner_loop(lines, found, match):
    """Replaces the head of the loop around the diagnostic by two heads, and adds the second closing brace."""
    text = "\n".join(lines)
    place = len("\n".join(lines[:found["line"]]))
    head = text.rfind("spmd for", 0, place)
    begin = text.index("{", head)
    depth, end = 1, begin
    while depth > 0:
        end += 1
        depth += {"{": 1, "}": -1}.get(text[end], 0)
    return f"{text[:head]}{match.group(1)} {{ {match.group(2)} {text[begin:end + 1]} }}{text[end + 1:]}".split("\n")


def listed(lines, found, match):
    """Replaces the outermost list of the line."""
    line = lines[found["line"] - 1]
    return replaced(lines, found["line"], re.sub(r"(?<=[=~] )\[.*\](?=;)", match.group(1), line))


# Forms of the text to type, and how to insert each form into the file.
FORMS = [
    (r"write '([^']* else [^']*)', which is", in_place),
    (r"write '([^']* - \d+)' to count from the end", in_place),
    (r"write `([^`]*)`: (?:elements have|one pair of) brackets", in_place),
    (r"write `(\w+\([^`]*\))`: builtin functions have no namespace", without_namespace),
    (r"write (inf|nan|3\.14\d*)(?:$|, without)", constant),
    (r"write `(reduce [^`]*;)`, or declare", statement),
    (r"write `(atomic (?!h\[k\])[^`]*;)`, or `reduce", statement),
    (r"write `(const [^`]*;)`", directive),
    (r"write `(for \w+ in \S+\.\.[^`]*?) \{ … \}`$", loop_head),
    (r"write `(\w+ in [^`]*\.\.[^`]*)`$", binder),
    (r"write (\w+): the sizes of '(\w+)'", size_name),
    (r"write '(\w+\([^']*\))'$", without_module),
    (r"write '([a-z]+\d+|bool)'$", in_place),
    (r"write '[^']+ as \w+[^']*'( and '[^']+')?", converted),
    (r".*write '(-?\d+)'", in_place),
    (r"write `(let|var) (\w+): (\w+) = ([^`…]*);` where it is declared", declared),
    (r"write `(spmd for \w+ in [^`{]*)`", walked),
    (r"write the loop over [^`]* inside of the block: `(spmd for [^{]*) \{ (for [^{]*) \{ … \} \}`", with_inner_loop),
    (r"write `([^`]* = 0;)` before the loop that adds to it", inserted),
    (r"write `(\[.*\])`$", listed),
    (r"write `range (\w+) in (\w+) max 1024;`", bounded),
    (r".*write `atomic ([^`]*) = …;?`", atomic),
    (r"write `((\w+) .*;)`, which reduces the new elements only$", reduced_first),
    (r"(?:name the ranges|to reduce over a range, name it): (\w+\([^…]* over [^…]*\))$", in_place),
    (r"(?:to iterate over the dimension, declare|to declare .*, write) `([^`]*;)`", inserted),
]


def diagnostics(folder, name, lines, options):
    (folder / name).write_text("\n".join(lines))
    ran = subprocess.run(["kernelc", "build", *options, "--json", "-o", str(folder / "out"), name],
                         cwd=folder, capture_output=True, text=True, timeout=120)
    checks.expect(f"{name}: the compiler ends", ran.returncode in (0, 1), ran.stderr)
    return [one for one in json.loads(ran.stdout)["diagnostics"] if "line" in one]


def options_of(text):
    """Returns the options of the file's first command that `build` also accepts."""
    first = re.search(r"^//! args: (.*)$", text, re.MULTILINE)
    words = shlex.split(first.group(1)) if first else []
    kept = [word for word in words if re.match(r"--(pipes|unproven|device)", word)]
    for option in ("--target", "-D"):
        kept += [part for at, word in enumerate(words[:-1]) if word == option for part in (option, words[at + 1])]
    return kept


def key(found):
    return found["id"], found["line"], found["message"]


def check_help(folder, path, lines, options, before, found):
    for form, edit in FORMS:
        match = re.match(form, found["help"])
        if not match:
            continue
        where = f"{path.relative_to(GOLDEN)}:{found['line']}: {found['help'][:100]}"
        edited = edit(lines, found, match)
        if edited is None or edited == lines:
            checks.expect(f"{where}: there is a place for it", False)
            return
        after = diagnostics(folder, path.name, edited, options)
        name = str(path.relative_to(GOLDEN))
        new = [key(one) for one in after
               if one["severity"] == "error" and key(one) not in before and (name, one["id"]) not in SECOND]
        checks.expect(f"{where}: no error comes", not new, f"{new}")
        gone = sum(key(one) == key(found) for one in after) < before.count(key(found))
        checks.expect(f"{where}: the error goes", gone or (name, found["id"]) in SECOND)
        return
    known = not found["help"].startswith("write ") or any(re.match(prose, found["help"]) for prose in PROSE)
    checks.expect(f"{path.name}:{found['line']}: a form of help that this test knows: {found['help']}", known)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path in sorted(path for each in FOLDERS for path in (GOLDEN / each).rglob("*.kdl")):
            text = path.read_text(errors="replace")
            helps = re.findall(r"^//(?:~|\|) help: (.*)", text, re.MULTILINE)
            if not any(SUGGESTS.search(one) for one in helps):
                continue
            lines = text.split("\n")
            found = diagnostics(folder, path.name, lines, options_of(text))
            before = [key(one) for one in found]
            for one in found:
                if SUGGESTS.search(one.get("help") or ""):
                    check_help(folder, path, lines, options_of(text), before, one)
    checks.expect("helps were found", checks.passed > 100)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
