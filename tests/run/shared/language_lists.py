"""The lists in grammar/LANGUAGE.md that are made from the compiler's tables and the library, and the links of the page."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILTIN = re.compile(r'^KDL_BUILTIN\(\w+, "(\w+)", (\d), (\w+), \w+, \w+, "\w*", "(.*)"\)$', re.MULTILINE)
OPERANDS = {"Numbers": "integers, floats", "Signed": "signed integers, floats", "Floats": "floats", "Wide": "f32, f64",
            "WideInts": "i32, i64", "Integers": "integers", "Range": "a range", "None": ""}
EXPORTED = re.compile(r"((?:^///.*\n)+)^export fn (\w+)(?:<.*?>)?\((.*?)\)", re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
GENERATED = re.compile(r"<!-- (\w+): written by .*?<!-- end of \1 -->", re.DOTALL)
CODE = re.compile(r"^\s*```.*?^\s*```$", re.MULTILINE | re.DOTALL)
# Sections in which names are only listed or used in passing.
NOT_DESCRIBED = {"Text", "Types"}
MOST_LINKS = 2


def anchor(heading):
    """Returns the anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def sections(text):
    """Returns [(heading, its prose)] of the reference, without examples and generated lists."""
    text = CODE.sub("", GENERATED.sub("", text[text.index("\n# Reference\n"):]))
    parts = HEADING.split(text)
    return [(heading, prose) for heading, prose in zip(parts[1::2], parts[2::2]) if heading not in NOT_DESCRIBED]


def described(name, prose):
    return any(re.search(rf"(?<!\.)\b{name}\b(?! \d)", span) for span in re.findall(r"`([^`]+)`", prose))


def builtins(text):
    """Returns the rows of builtins.def, with links to the sections that name them."""
    rows = ["| function | operands | result | described in |", "|---|---|---|---|"]
    for name, arity, operands, meaning in BUILTIN.findall((ROOT / "src/sema/model/builtins.def").read_text()):
        stated = re.match(rf"({name}\(.*?\)): ", meaning)
        names = "a, b" if "a * b" in meaning else "x, y"
        call = stated[1] if stated else {"0": name, "1": f"{name}({'k' if operands == 'Range' else 'x'})"}.get(arity, f"{name}({names})")
        links = [f"[{heading}](#{anchor(heading)})" for heading, prose in sections(text) if described(name, prose)]
        meaning = meaning[len(stated[0]):] if stated else meaning
        rows.append(f"| `{call}` | {OPERANDS[operands]} | {meaning} | {', '.join(links[:MOST_LINKS])} |")
    return "\n".join(rows) + "\n"


def library(_):
    """Returns the rows of the functions that the files of stdlib export."""
    rows = ["| function | result |", "|---|---|"]
    for file in sorted((ROOT / "stdlib").glob("*.kdl")):
        for comment, name, parameters in EXPORTED.findall(file.read_text()):
            names = ", ".join(parameter.split(":")[0].strip() for parameter in parameters.split(","))
            meaning = " ".join(line.removeprefix("///").strip() for line in comment.splitlines())
            rows.append(f"| `{file.stem}.{name}({names})` | {meaning.rstrip('.')} |")
    return "\n".join(rows) + "\n"


def filled(text):
    """Returns the page with its lists brought up to date."""
    for name, rows in (("builtins", builtins), ("library", library)):
        mark = re.compile(rf"(<!-- {name}: [^>]*-->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        text = mark.sub(lambda found: found.group(1) + rows(text) + found.group(2), text)
    return text


def faults(text):
    """Yields links that lead nowhere, and builtins that no section describes."""
    anchors = {anchor(heading) for heading in HEADING.findall(CODE.sub("", text))}
    for link in re.findall(r"\]\(([^)]+)\)", CODE.sub("", text)):
        place, _, part = link.partition("#")
        if place and not place.startswith("http") and not (ROOT / "grammar" / place).exists():
            yield f"there is no {place}"
        if not place and part not in anchors:
            yield f"no heading has the anchor #{part}"
    for row in builtins(text).splitlines():
        if row.endswith("|  |"):
            yield f"no section of the reference describes {row.split('|')[1].strip()}"
