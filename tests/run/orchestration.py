#!/usr/bin/env python3
"""Compares the C++ of `--emit orch` and the C of `--emit orch-c` with `kernelc run`: they must have the same
launches, transfers, results and errors.

Both compile without warnings, like the header, and name each statement's line once. A third of the sources,
selected anew each day, are also compiled with a second compiler; only the programs from the first compiler
are run. By default half of the sources are tested, selected anew each day; `orchestration.py --all` tests
all."""

import dataclasses
import itertools
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from shared import seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/run"
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include")]
COMPILERS = [("g++", "gcc"), ("clang++-19", "clang-19")]
# The executables for both languages, each with the object that it does not link.
PROGRAMS = {"program": "orch_c.o", "program_c": "orch.o"}
READERS = {"f32": "std::stof", "i32": "std::stoi", "i64": "std::stoll"}
# The devices that a source is built with. Keys that only the compiler reads must not reach the runtime.
BOUND = {"orchestration_programs.kdl": ["--device", "cpu=host?isa=x86-64-v3&threads=1", "--device", "npu=@cpu"]}
# Sources in which the generated statements are in a different order, or occur several times: calls of
# programs and fns are expanded, and transfers are moved before loops.
CALLS = {"apart.kdl", "fn_tables.kdl", "fns_c.kdl", "orchestration_calls.kdl", "orchestration_parts.kdl", "orchestration_programs.kdl", "parts.kdl", "transfers.kdl", "two_devices.kdl"}
# Flags for compiling a source, both to C++ and for `kernelc run`.
FLAGS = {"orchestration_pipes.kdl": ["--pipes=buffered"]}
C_OUTPUT = """2 4 6
3 6 9
4 8 12
launch of 'scale': the tensor for x[N] has size -3 in dimension 0; sizes are 0 or more
launch of 'scale': the tensor for x[N] is f32[3] at a null pointer
launch of 'scale': the tensors for y[N] and x[N] share memory, but y is out; a written tensor must not overlap another parameter
call of kernels that are not open: NULL
parameter 'x' is NULL
there is no device 'hots'
5 10 15
"""
CPP_17_OUTPUT = """call of kernels that are not open: NULL
1 there is no device 'hots'
3 6 9
0 launch of 'scale': the tensor for y[N] is f32[3] at a null pointer
4 8 12
call of a kernel that is not bound: NULL
5 10 15
launch of 'scale': the tensor for y[N] is f32[3] at a null pointer; 15
7 14 21
kdl_kernels_bind: bound is NULL
"""


@dataclasses.dataclass
class Case:
    source: str
    program: str
    sizes: dict
    scalars: dict = dataclasses.field(default_factory=dict)
    targets: tuple = ("host", "debug")  # None: the devices of the source


# The programs of tests/run/transfers.kdl whose only size is N.
TRANSFERS = ["chain", "pingpong", "kept", "queues", "turns", "lent", "calling", "copied", "looked"]
CASES = [
    Case("samples/matmul/matmul.kdl", "chain", {"M": 31, "K": 9, "L": 17, "N": 5}),
    Case("samples/matmul/matmul.kdl", "chain", {"M": 3, "K": 0, "L": 7, "N": 1}),
    Case("samples/digits/digits.kdl", "classify", {"M": 13, "P": 64, "H": 32, "D": 10}),
    Case("tests/run/orchestration_programs.kdl", "turns", {"N": 300}, {"a": "2.0", "n": "3"}, ("host", "debug", None)),
    Case("tests/run/orchestration_programs.kdl", "turns", {"N": 65}, {"a": "-1.0", "n": "2"}),
    Case("tests/run/orchestration_programs.kdl", "turns", {"N": 1000}, {"a": "2.0", "n": "1"}),  # violates its `where`
    Case("tests/run/orchestration_programs.kdl", "reads", {"N": 300}, {"m": "2"}, ("host", "debug", None)),
    Case("tests/run/orchestration_programs.kdl", "reads", {"N": 100}, {"m": "1"}),  # no cores
    Case("tests/run/orchestration_programs.kdl", "reads", {"N": 300}, {"m": "150"}),  # an index outside the tensor
    Case("tests/run/orchestration_programs.kdl", "settles", {"N": 70}, {"limit": "0.001", "most": "20"}, ("host", "debug", None)),
    Case("tests/run/orchestration_programs.kdl", "settles", {"N": 70}, {"limit": "1e-30", "most": "20"}),  # ends with `break`
    Case("tests/run/orchestration_programs.kdl", "settles", {"N": 70}, {"limit": "0.001", "most": "2"}),  # its `assert` fails
    Case("tests/golden/orchestration/fns_c.kdl", "shares", {"N": 13}, {"parts": "5"}, ("host",)),
    Case("tests/golden/orchestration/fns_c.kdl", "shares", {"N": 13}, {"parts": "0"}, ("host",)),  # a fn divides by zero
    Case("tests/golden/orchestration/fn_tables.kdl", "fill", {"N": 3}, {"k": "-1"}, ("host",)),
    Case("tests/golden/orchestration/fn_tables.kdl", "fill", {"N": 6}, {"k": "2"}, ("host",)),
    Case("tests/golden/orchestration/fns_c.kdl", "shares", {"N": 1}, {"parts": "-4"}, ("host",)),  # an index outside the tensor
    Case("tests/run/orchestration_calls.kdl", "calls", {"N": 70}, {"parts": "3"}),
    Case("tests/run/orchestration_calls.kdl", "calls", {"N": 70}, {"parts": "71"}),  # violates a `where` of the called program
    Case("tests/run/orchestration_calls.kdl", "calls", {"N": 70}, {"parts": "-1"}),  # a negative size
    Case("tests/run/orchestration_bools.kdl", "bools", {"N": 70}),
    Case("tests/run/orchestration_parts.kdl", "parts", {"M": 5, "N": 12, "P": 60}, {"at": "4", "lo": "1"}),
    Case("tests/run/orchestration_parts.kdl", "parts", {"M": 5, "N": 12, "P": 60}, {"at": "5", "lo": "1"}),  # an index outside the tensor
    Case("tests/run/orchestration_parts.kdl", "parts", {"M": 5, "N": 12, "P": 60}, {"at": "1", "lo": "4"}),  # a part outside the tensor
    Case("tests/golden/orchestration/program.kir", "work", {"N": 5}, {"n": "3"}, (None, "host", "debug")),
    Case("tests/run/orchestration_pipes.kdl", "grow", {"M": 50, "N": 37, "K": 100}, {"steps": "7"},
         ("host", "debug", "host?resident=cores&threads=1")),
    Case("tests/run/orchestration_pipes.kdl", "grow", {"M": 5, "N": 37, "K": 100}, {"steps": "0"}),  # no cores
    Case("tests/golden/orchestration/transfers.kdl", "run", {"M": 3, "N": 50}, targets=("host", "debug", None)),
    *[Case("tests/run/transfers.kdl", name, {"N": 300}, targets=("debug", None)) for name in TRANSFERS],
    Case("tests/run/transfers.kdl", "batches", {"B": 3, "N": 300}, targets=("debug", None)),
    Case("samples/two_devices/two_devices.kdl", "pipeline", {"B": 3, "M": 20, "D": 70}, targets=("debug", None)),
    Case("tests/golden/orchestration/workspace.kir", "work", {"N": 50}, {"turns": "5"}, (None, "debug")),
    Case("tests/golden/orchestration/program.kir", "work", {"N": 7}, {"n": "0"}, (None,)),
]


def source_name(name):
    """Returns the name of a parameter in the source. In generated code, keywords of C++ have an underscore
    appended."""
    return name.rstrip("_")


def sanitizers():
    found = re.search(r"^KDL_SANITIZE:\w+=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return [f"-fsanitize={found[1]}"] if found else []


def call(*words, folder, may_fail=False):
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode == 1 and may_fail:
        lines = done.stderr.splitlines()  # remarks may precede the error
        return re.sub(r" \[E\d+\]$", "", next((line for line in lines if ": error: " in line), lines[0]))
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def precompile(folder):
    """Returns, for each compiler, the C++20 flags that use a precompiled header of the runtime. Compiling
    this header each time would take most of the time."""
    header = folder / "runtime.h"
    header.write_text('#include "kdl/runtime.hpp"\n')
    words = {}
    for cpp, _ in COMPILERS:
        output = folder / ("runtime.h.gch" if cpp == "g++" else "runtime.pch")
        call(cpp, "-std=c++20", *WARNINGS, "-x", "c++-header", header, "-o", output, folder=folder)
        words[cpp] = ["-std=c++20", *(["-include", header] if cpp == "g++" else ["-include-pch", output])]
    return words


class Project:
    """A built source, and its interface as the header states it."""

    def __init__(self, source, folder, precompiled):
        self.source, self.folder, self.precompiled = source, folder, precompiled
        self.bound = BOUND.get(source.name, [])
        self.flags = ["--trust-ir"] if source.suffix == ".kir" else FLAGS.get(source.name, [])
        call("kernelc", "build", source, *self.bound, *self.flags, "--emit", "header,c,orch,orch-c,obj", "--path-prefix-map",
             f"{ROOT}={ROOT}", folder=folder)
        self.name = next(folder.glob("*.orch.cpp")).name.removesuffix(".orch.cpp")
        self.header = (folder / f"{self.name}.h").read_text()
        self.images = re.search(r"kdl_images_\w+", self.header)[0]
        self.devices = re.findall(r'^  const char\* (\w+) = "(.*)";', self.header, re.MULTILINE)

    def params(self, program):
        """Returns (name, direction or None, element type, sizes, the best device or None) for each parameter."""
        text = self.header[:self.header.index(f"\nvoid {program}(")]
        lines = itertools.takewhile(lambda line: line.startswith("///"), reversed(text.splitlines()))
        found = re.findall(r"^///   (\w+): (?:(in|out|inout) )?(\w+)(?:\[(.*)\])?(?:(?:, first used)? on (\w+))?$",
                           "\n".join(reversed(list(lines))), re.MULTILINE)
        return [(name, direction, element, sizes.split(", "), on) for name, direction, element, sizes, on in found]

    def compile(self):
        """Compiles the generated C and C++. The C must also be valid C++, and the header must be C++17
        without exceptions."""
        (self.folder / "header.cpp").write_text(f'#include "{self.name}.h"\n')
        for cpp, c in self.compilers():
            as_object = ["-c", "-o"] if cpp == COMPILERS[0][0] else ["-fsyntax-only", "-o"]
            call(c, "-std=c11", "-pedantic", *WARNINGS, f"{self.name}.c", *as_object, "calls.o", folder=self.folder)
            call(cpp, *self.precompiled[cpp], *WARNINGS, "-x", "c++", f"{self.name}.c", "-fsyntax-only", folder=self.folder)
            call(cpp, "-std=c++17", "-pedantic", "-fno-exceptions", *WARNINGS, "header.cpp", "-fsyntax-only", folder=self.folder)
            call(cpp, *self.precompiled[cpp], *WARNINGS, f"{self.name}.orch.cpp", *as_object, "orch.o", folder=self.folder)
            call(c, "-std=c11", "-Wpedantic", *WARNINGS, f"{self.name}.orch.c", *as_object, "orch_c.o", folder=self.folder)

    def compilers(self):
        """Returns the compilers. The second compiler is only used for a third of the sources, selected anew
        each day."""
        drawn = random.Random(f"{seeds.of_today()} {self.source.name}").randrange(3) == 0
        return COMPILERS if drawn else COMPILERS[:1]

    def link(self, compiler, caller, language):
        """Links `program` with the programs in C++, and `program_c` with those in C."""
        call(compiler, *language, *WARNINGS, "-I", self.folder, "-I", HERE, "-c", caller, "-o", "caller.o", folder=self.folder)
        for output, left_out in PROGRAMS.items():
            objects = sorted(path for path in self.folder.glob("*.o") if path.name != left_out)
            call("g++", *sanitizers(), *objects, BUILD / "lib/libkdl_runtime.a", "-ldl", "-pthread",
                 "-o", output, folder=self.folder)


def caller_text(project, program, params, words):
    """Returns C++ that calls the program as a C function and does what `kernelc run -v --out ...` does.
    `words` are its arguments."""
    at = {word: f"argv[{i}]" for i, word in enumerate(words, 1)}
    first = project.devices[0][0]
    lines = [f'#include "{project.name}.h"', '#include "orchestration_caller.h"', "", "int main(int, char** argv) {",
             "  kdl::Context context;", f"  context.Register({project.images});"]
    for name, direction, element, sizes, on in params:
        if direction:
            extents = ", ".join(f"std::atoll({at[size]})" for size in sizes)
            kind = "Direction::Out" if direction == "out" else "Direction::In"
            element = "bool_" if element == "bool" else element
            lines.append(f'  const kdl::Tensor {name} = MoveIn(context, {at[on or first]}, kdl::{element}, {{{extents}}}, '
                         f'"{source_name(name)}", {kind});')
        else:
            lines.append(f"  const auto {name} = {READERS[element]}({at[name]});")
    bound = ", ".join(f".{name} = {at[name]}" for name, _ in project.devices)
    given = ", ".join(f"&{name}.array()" if direction else name for name, direction, *_ in params)
    namespace = project.images.removeprefix("kdl_images_")
    lines += [f"  const {namespace}_devices devices = {{{bound}}};", "  try {",
              f"    kdl::Check({namespace}_{program}(context.get(), {given}, &devices));", "  } catch (const kdl::Error& error) {",
              '    std::fprintf(stderr, "%s\\n", error.what());', "    return 1;", "  }"]
    lines += [f'  MoveOut({name}, "{source_name(name)}");' for name, direction, *_ in params
              if direction in ("out", "inout")]
    by_name = ", ".join(at[name] for name, _ in sorted(project.devices))
    return "\n".join([*lines, f"  PrintStatistics(context, {{{by_name}}});", "}", ""])


def drawn(random, element, shape):
    """Returns a random array. Bools are arbitrary bytes, of which all but 0 are true."""
    if element == "bool":
        return random.choice(np.array([0, 1, 2, 255], "uint8"), shape).view(bool)
    return random.standard_normal(shape).astype(element.replace("f", "float"))


def walked(project, case, params, target):
    """Runs `kernelc run` on random inputs, which stay in the folder. Returns its statistics and outputs, or
    its error."""
    random = np.random.default_rng(1)
    words = ["kernelc", "run", project.source, "-v", "--program", case.program, *project.flags]
    words += ["--target", target] if target else project.bound
    for name, size in case.sizes.items():
        words += ["--set", f"{name}={size}"]
    outputs = []
    for name, direction, element, sizes, _ in params:
        name = source_name(name)
        if not direction:
            words += ["--arg", f"{name}={case.scalars[name]}"]
            continue
        values = drawn(random, element, [case.sizes[size] for size in sizes])
        if direction != "out":
            np.save(project.folder / f"{name}.npy", values)
            values.tofile(project.folder / f"{name}.in")
            words += ["--arg", f"{name}=@{name}.npy"]
        if direction != "in":
            outputs.append(name)
            words += ["--out", f"{name}=@{name}.out.npy"]
    printed = call(*words, folder=project.folder, may_fail=True).splitlines(keepends=True)
    if ": error: " in printed[0]:
        return printed[0], {}
    statistics = "".join(line for line in printed if re.match(r"[^ ]+(: launches | -> | memory -> )", line))
    return statistics, {name: np.load(project.folder / f"{name}.out.npy").tobytes() for name in outputs}


def compare(project, case, target):
    params = project.params(case.program)
    statistics, outputs = walked(project, case, params, target)
    words = {name: target or spec for name, spec in project.devices} | case.sizes | case.scalars
    text = caller_text(project, case.program, params, words)
    caller = project.folder / "caller.cpp"
    if not caller.exists() or caller.read_text() != text:  # cases may differ only in their arguments
        caller.write_text(text)
        project.link("g++", caller.name, project.precompiled["g++"])
    problems = []
    for program in PROGRAMS:
        for name in outputs:
            (project.folder / f"{name}.out").unlink(missing_ok=True)
        printed = call(f"./{program}", *words.values(), folder=project.folder, may_fail=True)
        if printed != statistics or not re.search("launches|: error: ", statistics):
            problems.append(f"{program}, statistics:\n{printed}kernelc run:\n{statistics}")
        for name, expected in outputs.items():
            if (project.folder / f"{name}.out").read_bytes() != expected:
                problems.append(f"{program}: {name} differs")
    return [f"{case.source} on {target}: {problem}" for problem in problems]


def statement_lines(source):
    """Returns the lines on which statements of programs start (here each is on one line), and those of their
    `where` clauses."""
    lines, inside = [], False
    for number, line in enumerate(source.splitlines(), 1):
        if re.match(r"(export )?program ", line):
            inside = True
            if " where " in line:
                lines.append(number)
        elif line == "}":
            inside = False
        elif inside and re.match(r" +(let|var|view|spmd|for|if|while|assert|copy|swap|\w+ \+=|\w+\[.*\] \+?=) ", line.replace("(", " ")):
            lines.append(number)
    return lines


def check_places(project):
    path = pathlib.Path(project.source)
    if path.suffix == ".kir":  # its statements are in the golden file
        return []
    expected = statement_lines(path.read_text())
    name = re.escape(path.name)
    problems = []
    for language in ("cpp", "c"):
        text = (project.folder / f"{project.name}.orch.{language}").read_text()
        mentions = re.findall(rf'// {name}:(\d+)$|(?:"|/){name}:(\d+):\d+"', text, re.MULTILINE)
        found = list(dict.fromkeys(int(comment or argument) for comment, argument in mentions))
        if path.name in CALLS:  # called code is elsewhere in the text
            found = sorted(set(found) & set(expected))
        if found != expected:
            problems.append(f"{path.name}, {language}: lines {found}, the statements are on {expected}")
    return problems


def check_thin_callers(project):
    problems = []
    for compiler, caller, language, expected in [
            ("gcc", "orchestration_caller.c", ["-std=c11", "-pedantic"], C_OUTPUT),
            ("g++", "orchestration_caller_17.cpp", ["-std=c++17", "-pedantic", "-fno-exceptions"], CPP_17_OUTPUT)]:
        if project.name != "my mod":
            continue
        project.link(compiler, HERE / caller, language)
        for program in PROGRAMS:
            printed = re.sub("unknown kind of device 'hots'; .*", "there is no device 'hots'", call(f"./{program}", folder=project.folder))
            if printed != expected:
                problems.append(f"{caller}, {program}: {printed!r}")
    return problems


def main():
    problems, checks = [], 0
    goldens = sorted(path for path in ROOT.glob("tests/golden/orchestration/*.k*") if not path.stem.endswith("_c"))
    sources = [*sorted(ROOT.glob("samples/*/*.kdl")), *goldens, ROOT / "tests/golden/orchestration/fns_c.kdl",
               *sorted(HERE.glob("orchestration_*.kdl")), HERE / "transfers.kdl"]
    shared = tempfile.TemporaryDirectory(prefix="orchestration-")
    precompiled = precompile(pathlib.Path(shared.name))
    for source in seeds.one_in(3, sources):
        with tempfile.TemporaryDirectory(prefix="orchestration-") as scratch:
            try:
                project = Project(source, pathlib.Path(scratch), precompiled)
                project.compile()
                checks += 1
                problems += check_places(project) + check_thin_callers(project)
                for case in CASES:
                    for target in case.targets if ROOT / case.source == source else ():
                        checks += 1
                        problems += compare(project, case, target)
            except RuntimeError as failed:
                problems.append(str(failed))
    print("\n".join(problems))
    print(f"{max(0, checks - len(problems))} passed, {len(problems)} failed")
    sys.exit(1 if problems or not checks else 0)


if __name__ == "__main__":
    main()
