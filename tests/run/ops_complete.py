#!/usr/bin/env python3
"""Checks that a missing row or function for an op fails the build, by omitting each in turn.

Without a row of ir/ops.def, or of a table that is checked against it, the code must not compile. Without a
function that a phase has for each op (KDL_TYPE_RULE, KDL_EMIT, KDL_WRITE), there must be an undefined
reference. By default tries as many as fit into twelve seconds, selected anew each day; `--all` tries all of
them.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from shared import seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
OPS, SHAPES = SRC / "ir/ops.def", SRC / "ir/op_shapes.def.in"
SCALAR_OPS = ROOT / "include/kdl/scalar_ops.def"
# Files that are checked against the rows of scalar_ops.def: one against the names of ops, the other against
# their expressions.
OF_NAMES, OF_TEXTS = SRC / "codegen/orchestration/expression.cpp", SRC / "codegen/opencl/arithmetic.cpp"
SECONDS = 12
# Maps the macro with which a phase defines its function for an op to the file that refers to these functions
# of all ops.
TABLES = {"KDL_TYPE_RULE": SRC / "ir/verify/verify_types.cpp", "KDL_EMIT": SRC / "codegen/llvm/emitter.cpp",
          "KDL_WRITE": SRC / "codegen/opencl/control.cpp"}


@dataclasses.dataclass
class Removal:
    what: str  # `row`, or the macro
    op: str
    file: pathlib.Path
    text: str  # what is omitted

    def __str__(self):
        return f"{self.file.relative_to(ROOT)} without {' '.join(self.text.split())[:70]}"


def sources():
    return sorted(SRC.rglob("*.cpp"))


def ops():
    return re.findall(r"^KDL_OP\((\w+), .*\n", OPS.read_text(), re.MULTILINE)


def removals():
    found = [Removal("row of ops.def", m[1], OPS, m[0])
             for m in re.finditer(r"^KDL_OP\((\w+), .*\n", OPS.read_text(), re.MULTILINE)]
    lines = SCALAR_OPS.read_text()
    for op, text in {m[1]: m[0] for m in re.finditer(r"(?:^KDL_\w+\((\w+), \w+, \d, .*\)\n)+", lines, re.MULTILINE)}.items():
        found.append(Removal("texts of scalar_ops.def", op, SCALAR_OPS, text))
    found += [Removal("name of scalar_ops.def", m[1], SCALAR_OPS, m[0])
              for m in re.finditer(r"^KDL_(?:SCALAR_OP|COMPARISON)\((\w+), .*\)\n", lines, re.MULTILINE)]
    for file in sources():
        text = file.read_text()
        if "CoverOnce(" in text:
            rows = re.sub(r"^#define (?:.*\\\n)*.*\n", "", text, flags=re.MULTILINE)
            found += [Removal("row", m[1], file, m[0]) for m in re.finditer(r"\{OpKind::(\w+), [^{}]*\},", rows)]
        for macro in TABLES:
            found += [Removal(macro, m[1], file, m[0]) for m in re.finditer(rf"^{macro}\((\w+), .*\)", text, re.MULTILINE)]
    return found


class Build:
    """Provides the compile commands and macros of the build. The build compiles several files at once; here
    each file is compiled alone."""

    def __init__(self, folder):
        self.commands = {}  # by file: the folder and the command without input and output
        for command in json.loads((folder / "compile_commands.json").read_text()):
            self.add(command)
        self.temporary = pathlib.Path(tempfile.mkdtemp(prefix="ops-"))
        self.made = {}
        self.needed = {macro: self.symbols(self.object(file), "U") for macro, file in TABLES.items()}
        self.users = {}
        for file in sources():
            for op in re.findall(r"OpKind::(\w+)|^KDL_\w+\((\w+),", file.read_text(), re.MULTILINE):
                self.users.setdefault(op[0] or op[1], file)

    def add(self, command):
        words = shlex.split(command["command"])
        while "ccache" in words[0] or words[0] == "env" or "=" in words[0]:
            words = words[1:]
        at = words.index("-o")
        del words[at:at + 2]
        words = [w for w in words if w not in ("-c", command["file"]) and not w.startswith("-g")]
        file = pathlib.Path(command["file"])
        together = re.findall(r'^#include "(.*\.cpp)"$', file.read_text(), re.MULTILINE) if file.parent.name == "Unity" else [file]
        for one in together:
            self.commands[pathlib.Path(one)] = command["directory"], words

    def object(self, file):
        """Returns the object compiled from the unmodified file."""
        if file not in self.made:
            self.made[file] = self.temporary / f"{len(self.made)}.o"
            assert self.compile(file, file, ["-w", "-O0", "-o", str(self.made[file])]), file
        return self.made[file]

    @staticmethod
    def symbols(path, kind):
        lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout.splitlines()
        return {line.split()[-1] for line in lines if line.split()[-2] in kind}

    def compile(self, like, file, extra):
        """Compiles `file` as the build compiles `like`; warnings that are errors in the build remain errors."""
        directory, words = self.commands[like]
        return subprocess.run([words[0], *extra, *words[1:], "-c", file], cwd=directory, capture_output=True, text=True).returncode == 0

    def changed(self, removal):
        text = removal.file.read_text()
        assert text.count(removal.text) == 1, f"{removal}: it stands there {text.count(removal.text)} times"
        copy = self.temporary / removal.file.relative_to(ROOT / "include" if removal.file == SCALAR_OPS else SRC)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text.replace(removal.text, ""))
        return copy

    def fails_without(self, removal):
        copy = self.changed(removal)
        try:
            if removal.what == "row":
                return not self.compile(removal.file, copy, ["-fsyntax-only"])
            if removal.file == SCALAR_OPS:
                user = OF_NAMES if removal.what.startswith("name") else OF_TEXTS
                return not self.compile(user, user, ["-fsyntax-only", f"-I{self.temporary}"])
            if removal.file == OPS:
                user = self.users.get(removal.op)
                if user is None:
                    return False
                shapes = copy.with_name("op_shapes.def")  # generated as in the build
                subprocess.run([self.commands[user][1][0], "-E", "-P", "-x", "c++", "-I", self.temporary, SHAPES, "-o", shapes], check=True)
                return not self.compile(user, user, ["-fsyntax-only", f"-I{self.temporary}"])
            built = self.object(removal.file)
            made = self.temporary / "made.o"
            if not self.compile(removal.file, copy, ["-w", "-O0", "-o", str(made)]):
                return True
            lost = self.symbols(built, "TW") - self.symbols(made, "TW")
            return bool(lost & (self.needed[removal.what] | self.symbols(made, "U")))
        finally:
            copy.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every row and function: about half an hour")
    options = parser.parse_args()
    kernelc = shutil.which("kernelc")
    folder = pathlib.Path(kernelc).resolve().parents[1] if kernelc else None
    if not folder or not (folder / "compile_commands.json").exists():
        print("the build folder of kernelc has no compile_commands.json")
        sys.exit(77)
    build = Build(folder)
    chosen = removals()
    known = set(ops())
    for macro in TABLES:
        assert len([r for r in chosen if r.what == macro]) > 40, f"{macro} was not found"
    unknown = [str(r) for r in chosen if r.op not in known]
    assert not unknown, unknown
    seed = seeds.of_today()
    random.Random(seed).shuffle(chosen)
    begin, tried, bad = time.monotonic(), 0, []
    for removal in chosen:
        if not options.all and time.monotonic() - begin > SECONDS:
            break
        tried += 1
        if not build.fails_without(removal):
            bad.append(removal)
            print(f"builds all the same: {removal}", flush=True)
    shutil.rmtree(build.temporary)
    print(f"{tried} of {len(chosen)} left out (KDL_SEED={seed}), {len(bad)} of them built all the same")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
