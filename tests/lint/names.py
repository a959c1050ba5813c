#!/usr/bin/env python3
"""Fails on names that two files of a folder give: such files compile together, in batches that any new file
shifts. Mostly they are one thing that stands there twice.

`names.py [ROOT]` checks the tree at ROOT, the project's own by default. A folder is one of src, runtime or tests that
has a CMakeLists.txt; what CMake is told to compile alone is not looked at, and tests/unit
has a program for each word that its files' names begin with. Functions may have one name where what they take differs.
"""

import collections
import pathlib
import re
import sys

NAMESPACE = re.compile(r"^namespace (kdl[\w:]*) \{$", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?: : [^;{]*)? \{", re.MULTILINE)
ALIAS = re.compile(r"^using (\w+) = ([^;]+);", re.MULTILINE)
CONSTANT = re.compile(r"^(?:static )?constexpr [^=(]*?\b(k[A-Z]\w*)(?:\[\w*\])*\s*(?:=|\{)", re.MULTILINE)
USING = re.compile(r"^using ((?:\w+::)+(\w+));", re.MULTILINE)
FUNCTION = re.compile(r"^(?!return|using|struct|class|enum|template|namespace|//)[A-Za-z][\w:<>,*& \[\]]*?[\s*&]([A-Z]\w*)\(([^()]*(?:\([^()]*\)[^()]*)*)\) (?:\{|const \{)", re.MULTILINE)
ALONE = re.compile(r"set_source_files_properties\(([^)]*?)PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON", re.DOTALL)


def given(text):
    """(name, what it is) of all that a file gives: a function's name has the types that it takes; what stands in two files may
    be the same alias."""
    for name in [*TYPE.findall(text), *CONSTANT.findall(text)]:
        yield name, object()
    for name, meaning in ALIAS.findall(text):
        yield name, meaning
    for meaning, name in USING.findall(text):
        yield name, meaning
    for name, parameters in FUNCTION.findall(text):
        types = [re.sub(r"\s*=.*", "", p).strip().rpartition(" ")[0].replace("ir::", "") for p in parameters.split(",")]
        yield f"{name}({', '.join(types)})", object()


def library_of(file, root):
    """The nearest folder above that CMake builds."""
    return next((f for f in file.parents if (f / "CMakeLists.txt").exists()), root)


def complaints(root):
    owners = collections.defaultdict(dict)  # of each name: what it is in which file
    for file in sorted([*root.glob("src/**/*.[ch]*"), *root.glob("runtime/**/*.[ch]*"), *root.glob("tests/unit/*.[ch]*")]):
        library = library_of(file, root)
        alone = " ".join(ALONE.findall((library / "CMakeLists.txt").read_text()))
        if str(file.relative_to(library)) in alone.split():
            continue
        text = file.read_text()
        space = NAMESPACE.search(text)
        program = file.name.split("_")[0] if library.match("tests/unit") else None
        for name, meaning in given(text):
            owners[library, program, space and space[1], name][str(file.relative_to(root))] = meaning
    return [f"{', '.join(files)}: {name} stands in each of them: one place for it, or names that say more"
            for (*_, name), files in owners.items() if len(set(files.values())) > 1]


def main():
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    problems = complaints(root)
    print("\n".join(problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
