#!/usr/bin/env python3
"""Fails on names that are defined in two files of a folder. Such files are compiled together, in batches that
change with every new file. Usually, such a name means that the same thing is defined twice.

`names.py [ROOT]` checks the tree at ROOT, by default the project's own. Only folders in src, runtime or tests
that have a CMakeLists.txt are checked. Files that CMake compiles separately are skipped, and in tests/unit
each first word of a file name is a separate program. Functions may share a name if their parameter types
differ.
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
    """Yields (name, identity) for everything that a file defines. A function's name includes its parameter
    types. Two files may define the same alias."""
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
    """Returns the nearest enclosing folder that CMake builds."""
    return next((f for f in file.parents if (f / "CMakeLists.txt").exists()), root)


def complaints(root):
    owners = collections.defaultdict(dict)  # for each name, its identity in each file
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
