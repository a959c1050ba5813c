#!/usr/bin/env python3
"""Fails if an #include creates a dependency between folders that is not allowed below. Also fails on cycles.

`includes.py [ROOT]` checks the tree at ROOT, by default the project's own.
"""

import pathlib
import re
import sys

# What each folder may include besides itself. Dependencies have one direction:
#   support <- syntax <- sema <- irgen -> ir <- proofs <- passes, interp, codegen/* <- targets <- driver <- tools
# A family of targets, a folder of src/targets, may only be included by the file that lists all families, and
# by families that run its passes. passes, interp and the code generators may not include each other, except
# that ptx and cluster use llvm, cluster uses opencl, and c_source uses orchestration. What all generators of kernels share is in
# codegen/common. src/ and runtime/ only share include/kdl.
FRONT = {"src/support", "src/syntax", "src/sema", "src/irgen"}
MIDDLE = {"src/proofs", "src/passes", "src/interp", "src/codegen/common", "src/codegen/llvm", "src/codegen/opencl", "src/codegen/ptx",
          "src/codegen/cluster", "src/codegen/orchestration", "src/codegen/c_source"}
BELOW_TARGETS = {"src/support", "src/ir", "include/kdl"} | MIDDLE
BELOW_DRIVER = BELOW_TARGETS | FRONT | {"src/targets"}
MAY_INCLUDE = {
    "include/kdl": set(),
    "src/support": {"include/kdl"},
    "src/ir": {"src/support"},
    "src/syntax": {"src/support"},
    "src/sema": {"src/support", "src/syntax"},
    "src/irgen": {"src/support", "src/syntax", "src/sema", "src/ir"},
    "src/proofs": {"src/support", "src/ir"},
    "src/passes": {"src/support", "src/ir", "src/proofs", "include/kdl"},
    "src/interp": {"src/support", "src/ir", "include/kdl"},
    "src/codegen/common": {"src/support", "src/ir", "include/kdl"},
    "src/codegen/llvm": {"src/support", "src/ir", "include/kdl", "src/codegen/common"},
    "src/codegen/opencl": {"src/support", "src/ir", "include/kdl", "src/codegen/common"},
    "src/codegen/ptx": {"src/support", "src/ir", "include/kdl", "src/codegen/common", "src/codegen/llvm"},
    "src/codegen/cluster": {"src/support", "src/ir", "include/kdl", "src/codegen/common", "src/codegen/llvm", "src/codegen/opencl"},
    "src/codegen/orchestration": {"src/support", "src/ir", "include/kdl", "src/codegen/common"},
    "src/codegen/c_source": {"src/support", "src/ir", "include/kdl", "src/codegen/common", "src/codegen/orchestration"},
    "src/targets": BELOW_TARGETS,
    "src/driver": BELOW_DRIVER,
    "src/tools": BELOW_DRIVER | {"src/driver"},
    "src/portable": set(),
    "runtime": {"include/kdl", "runtime/system"},
    "runtime/system": set(),
    "tests/drivers": {"include/kdl", "runtime"},
    "tests/conformance": {"include/kdl", "runtime", "tests/drivers"},
}
# Folders of which other folders may only include one header.
ONE_HEADER = {"src/proofs": "src/proofs/proofs.h"}

# Libraries that only one folder may include.
ONLY_IN = {
    "llvm/": "src/codegen/llvm src/codegen/ptx src/codegen/cluster", "llvm-c/": "src/codegen/llvm", "lld/": "src/codegen/llvm",
    "antlr4": "src/syntax", "KdlLexer": "src/syntax", "KdlParser": "src/syntax",
    "boost/program_options": "src/driver src/tools",
    "isl/": "src/proofs", "yaml-cpp": "src/passes src/driver",
}

# System headers: only one folder of the compiler and one of the runtime may include them.
ONLY_IN.update({name: "src/support src/portable runtime/system tests/drivers tests/conformance" for name in (
    "asm/", "dlfcn.h", "elf.h", "execinfo.h", "fcntl.h", "link.h", "linux/", "malloc.h", "netinet/", "poll.h", "pthread.h", "sched.h",
    "signal.h", "spawn.h", "sys/", "termios.h", "ucontext.h", "unistd.h")})

TYPES_ALONE = "sys/types.h"  # required by ANTLR's interface

# Files outside the families' folders that may include the families' headers.
FAMILIES = "src/targets"
LIST_FAMILIES = [pathlib.PurePath(f"src/targets/{name}") for name in ("builtin.cpp", "builtin_instructions.h")]
# Families that run passes of another family.
OVER_FAMILIES = {"src/targets/cluster": "src/targets/simt"}

ROOTS = ["src", "runtime", "include", "tests"]
CHECKED = ["src", "runtime", "include", "tests/drivers", "tests/conformance"]
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".def", ".inc"}


def folder_of(path):
    """Returns the key in MAY_INCLUDE for a file, given its path from the root, or None."""
    parts = path.parts
    if len(parts) > 3 and "/".join(parts[:2]) == FAMILIES:
        MAY_INCLUDE.setdefault("/".join(parts[:3]), BELOW_TARGETS | {FAMILIES})
    for length in (3, 2, 1):
        if "/".join(parts[:length]) in MAY_INCLUDE and len(parts) > length:
            return "/".join(parts[:length])
    return None


def resolve(root, file, name):
    """Returns the project's file that an include names, or None if it is not one of ours."""
    for start in [file.parent, *(root / r for r in ROOTS)]:
        if (start / name).is_file():
            return (start / name).resolve()
    return None


def includes(root):
    """Returns {file: [(name, quoted, project's file or None)]} with paths from the root."""
    found = {}
    for start in CHECKED:
        for file in sorted((root / start).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                text = file.read_text(errors="replace")
                found[file.relative_to(root)] = [
                    (name, mark == '"', resolve(root, file, name))
                    for mark, name in INCLUDE.findall(text)]
    return found


def edge_complaints(root, found):
    for file, names in found.items():
        here = folder_of(file)
        if here is None:
            yield f"{file}: no folder of the dependency rule holds this file"
            continue
        for name, _, target in names:
            for prefix, owner in ONLY_IN.items():
                if name.startswith(prefix) and name != TYPES_ALONE and here not in owner.split():
                    yield f"{file}: includes {name}, which only {owner.replace(' ', ' and ')} may"
            there = folder_of(target.relative_to(root)) if target else here
            if there != here and there in ONE_HEADER and str(target.relative_to(root)) != ONE_HEADER[there]:
                yield f"{file}: includes {name}; of {there} others may include {ONE_HEADER[there]} alone"
            if there.startswith(f"{FAMILIES}/") and there != here:
                if file not in LIST_FAMILIES and OVER_FAMILIES.get(here) != there:
                    yield f"{file}: includes {name}, a family's, which only {LIST_FAMILIES[0]} may"
            elif there != here and there not in MAY_INCLUDE[here]:
                allowed = ", ".join(sorted(MAY_INCLUDE[here])) or "no other folder"
                yield f"{file}: includes {name}; {here} may include {allowed}"


def cycle_complaints(root, found):
    """Reports every cycle of files once, found by depth-first search."""
    edges = {f: [t.relative_to(root) for _, _, t in names if t] for f, names in found.items()}
    state = {}
    path = []

    def visit(file):
        state[file] = "open"
        path.append(file)
        for target in edges.get(file, []):
            if state.get(target) == "open":
                loop = path[path.index(target):] + [target]
                yield "include cycle: " + " -> ".join(map(str, loop))
            elif target not in state:
                yield from visit(target)
        path.pop()
        state[file] = "done"

    for file in edges:
        if file not in state:
            yield from visit(file)


def complaints(root):
    found = includes(root)
    return [*edge_complaints(root, found), *cycle_complaints(root, found)]


def main():
    here = pathlib.Path(__file__).resolve().parent.parent.parent
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here
    problems = complaints(root)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
