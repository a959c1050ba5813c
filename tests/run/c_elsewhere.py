#!/usr/bin/env python3
"""Builds kernels as C source for other systems with `zig cc`, and compares their results with those of gcc on this machine, bit for bit.

There is one program for each compiler and system, with all kernels. Those for Windows run in wine, and those for WebAssembly in wasmtime;
for macOS, they are only linked. clang builds a program for this machine, and reads the code as one for MSVC. Needs PyPI's packages ziglang
and wasmtime for the Python that runs this script, and wine; what is missing is skipped. zig builds the C libraries of other systems once,
which takes minutes, and keeps them in its cache. Compilers do not optimize unless -O tells them to, because the code is large; c_source.py
tests optimized code on this machine.

    tests/run/c_elsewhere.py [--all] [FILE...]     # --all: all samples and families, and the standard library for f32
    tests/run/c_elsewhere.py --keep FOLDER …       # keeps C source and objects there, and uses what is there: continues what was stopped
    tests/run/c_elsewhere.py --system wasm …       # tests only this system, besides gcc

With ziglang 0.17.1, wasmtime 50.0.1 and wine 8.0, all 284 kernels of samples, families and the library for f32 had the same results
everywhere: --all ended with 20705 passed, 0 failed, after 200 s of processor time.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

from c_source import FUNCTION, HEADERS, TARGET, WINDOWS, Function, draw, same
from shared import checks, seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=c11", "-ffp-contract=off", "-Wno-psabi", "-Wno-unknown-warning-option", "-fno-sanitize=undefined"]
HERE = {"gcc": ["gcc", "-march=x86-64-v3"], "clang": ["clang-19", "-march=x86-64-v3"]}
# zig's name of the system and the options for the kernels. The rest of the program always has the same, since zig would otherwise build the C
# library again.
SYSTEMS = {"windows": ("x86_64-windows-gnu", ["-march=x86_64_v3"]), "wasm with vectors": ("wasm32-wasi", ["-msimd128"]),
           "macos": ("aarch64-macos", []), "wasm": ("wasm32-wasi", [])}
C_TYPES = {"f32": "float", "f64": "double", "bool": "bool", "f16": "uint16_t"}
SIZES = [0, 1, 2, 5, 8, 31, 70]
MOST_ELEMENTS = 1 << 16

MAIN = """#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
{headers}
static FILE *in, *out;
static int64_t Number(void) {{
  int64_t number = -1;
  return fread(&number, 8, 1, in) == 1 ? number : -1;
}}
static void* Memory(int64_t bytes) {{
  void* memory = malloc((size_t)bytes + 64);
  if (!memory || fread(memory, 1, (size_t)bytes, in) != (size_t)bytes) exit(3);
  return memory;
}}
{functions}
int main(int count, char** words) {{
  if (count != 3 || !(in = fopen(words[1], "rb")) || !(out = fopen(words[2], "wb"))) return 2;
  for (int64_t function = Number(); function >= 0; function = Number()) {{
    switch (function) {{
{cases}
    }}
  }}
  return fclose(out) != 0;
}}
"""


def caller(number, function):
    """Returns a C function that reads the arguments of a call, calls the kernel, and writes its outputs."""
    lines = [f"static void Call{number}(void) {{"]
    words = []
    for size in function.sizes:
        lines.append(f"  const int64_t size_{size} = Number();")
        words.append(f"size_{size}")
    outputs = []
    for name, direction, element, shape in function.params:
        if shape is None:
            kind = C_TYPES.get(element, f"{'u' if element[0] == 'u' else ''}int{element[1:]}_t")
            lines.append(f"  {kind}* const value_{name} = Memory({8});")
            words.append(f"*value_{name}")
        else:
            lines += [f"  const int64_t bytes_{name} = Number();", f"  void* const value_{name} = Memory(bytes_{name});"]
            words.append(f"value_{name}")
            outputs += [name] if direction != "in" else []
    lines.append(f"  const int64_t failed = {function.name}({', '.join(words)}) != NULL;")
    lines.append("  fwrite(&failed, 8, 1, out);")
    lines += [f"  fwrite(value_{name}, 1, (size_t)bytes_{name}, out);" for name in outputs]
    return "\n".join([*lines, *(f"  free(value_{name});" for name, _, _, _ in function.params), "}"])


def drawn_arguments(function, rng, special):
    """Returns sizes and arguments for a call, or None if there are none."""
    sizes = {name: int(rng.choice(SIZES)) for name in function.sizes}
    try:
        shapes = [None if shape is None else function.shape(shape, sizes) for _, _, _, shape in function.params]
        if sum(np.prod(shape) for shape in shapes if shape is not None) > MOST_ELEMENTS:
            return None
        return sizes, [draw(rng, element, shape or (), special and shape is not None) for (_, _, element, _), shape in zip(function.params, shapes)]
    except (ZeroDivisionError, ValueError):
        return None


def drawn_calls(functions, tries):
    """Returns the bytes that the program reads, and for each call its function and arguments."""
    content, calls = [], []
    for number, function in enumerate(functions):
        rng = np.random.default_rng([*f"{seeds.of_today()} {function.name}".encode()])
        drawn = [drawn_arguments(function, rng, attempt % 2 == 1) for attempt in range(5 * tries)]
        for sizes, values in [one for one in drawn if one is not None][:tries]:
            content.append(struct.pack("<q", number) + b"".join(struct.pack("<q", sizes[name]) for name in function.sizes))
            for (_, _, _, shape), value in zip(function.params, values):
                data = np.asarray(value).tobytes()
                content.append(data.ljust(8, b"\0") if shape is None else struct.pack("<q", len(data)) + data)
            calls.append((function, sizes, values))
    return b"".join(content), calls


def compared(what, calls, mine, theirs):
    """Compares what two programs have written. Returns how many calls ran without an error."""
    checks.expect(f"{what}: as many bytes", len(mine) == len(theirs), f"{len(mine)} {len(theirs)}")
    at = ran = 0
    for function, sizes, values in calls:
        ends = [part[at:at + 8] for part in (mine, theirs)]
        checks.expect(f"{what}: {function.name} {sizes} fails as here", ends[0] == ends[1], f"{ends}")
        at += 8
        for (name, direction, _, shape), value in zip(function.params, values):
            if shape is None or direction == "in":
                continue
            parts = [np.frombuffer(part[at:at + value.nbytes], value.dtype) for part in (mine, theirs)]
            at += value.nbytes
            checks.expect(f"{what}: {function.name} {sizes}: {name}", len(parts[0]) == len(parts[1]) and same(*parts), f"{parts}")
        ran += ends[0] == bytes(8)
    checks.expect(f"{what}: calls ran", ran > 0)
    return ran


def run_wasm(program, folder):
    import wasmtime
    config = wasmtime.WasiConfig()
    config.preopen_dir(str(folder), ".")
    config.argv = ["program", "calls.bin", "results.bin"]
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    store.set_wasi(config)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    instance = linker.instantiate(store, wasmtime.Module.from_file(engine, str(program)))
    try:
        instance.exports(store)["_start"](store)
    except wasmtime.ExitTrap as end:
        return end.code
    return 0


def run(system, program, folder):
    """Runs a program. Returns what it has written."""
    results = folder / "results.bin"
    results.unlink(missing_ok=True)
    if system.startswith("wasm"):
        code = run_wasm(program, folder)
    else:
        words = ["wine"] if system == "windows" else []
        code = subprocess.run([*words, str(program), "calls.bin", "results.bin"], cwd=folder, capture_output=True, timeout=1800,
                              env=dict(os.environ, WINEDEBUG="-all")).returncode
    checks.expect(f"the program for {system} ends", code == 0, f"exit code {code}")
    return results.read_bytes() if results.exists() else b""


def emitted(path, module, folder, options):
    """Returns the functions of a file that this script can call, after it has written their C source, or an empty list."""
    header, none = folder / f"{module}.source.h", folder / f"{module}.none"
    for choice in [] if header.exists() or none.exists() else [options, []]:
        built = subprocess.run(["kernelc", "build", path, *choice, "--module", module, "--target", TARGET, "--emit", "c-source", "-o", folder],
                               capture_output=True, text=True)
        if built.returncode == 0:
            break
    if not header.exists():
        if not none.exists():
            why = re.search(r"\[E0401\]|\[E0990\]", built.stderr)  # an integer without a value; an op that C cannot express
            checks.expect(f"{path.name} becomes C, or an error says why not", why, built.stderr)
            none.touch()
        return []
    functions = [Function(None, docs, name, arguments) for docs, name, arguments in FUNCTION.findall(header.read_text())]
    return [function for function in functions if function.supported()]


def compiled(what, words, folder):
    done = subprocess.run([*words], cwd=folder, capture_output=True, text=True)
    checks.expect(what, done.returncode == 0, done.stderr[:3000])
    return done.returncode == 0


def compiled_to(file, what, words, folder):
    """Does the same for a compiler that writes a file, unless the file exists. A compiler that is stopped leaves no file."""
    part = file.with_name(f"part.{file.name}")
    if file.exists() or not compiled(what, [*words, "-o", part], folder):
        return file.exists()
    part.rename(file)
    return True


def built_for(system, modules, folder, level):
    """Returns the program with all modules for a system, or None."""
    if system in HERE:
        compiler, options = HERE[system][:1], HERE[system][1:]
    else:
        target, options = SYSTEMS[system]
        compiler = [sys.executable, "-m", "ziglang", "cc", "-target", target]
    place = folder / f"{system.replace(' ', '-')}{level}"
    place.mkdir(exist_ok=True)
    objects = []
    for module in modules:
        objects.append(place / f"{module}.o")
        words = [*compiler, *options, level, *FLAGS, "-c", f"{module}.source.c"]
        if not compiled_to(objects[-1], f"{module} is built for {system}", words, folder):
            return None
    program = place / f"program{'.exe' if system == 'windows' else ''}"
    words = [*compiler, "-O2", *FLAGS, "main.c", *objects, "-lm", "-o", program]
    return program if compiled(f"the program for {system} is linked", words, folder) else None


def read_for_msvc(modules, folder):
    headers = folder / "headers"
    headers.mkdir(exist_ok=True)
    for name, text in HEADERS.items():
        (headers / name).write_text(text)
    for module in modules:
        done = folder / f"{module}.msvc"
        if not done.exists() and compiled(f"{module} is C for MSVC", [*WINDOWS, "-I", headers, f"{module}.source.c"], folder):
            done.touch()


def write_program(modules, folder):
    functions = [function for module in modules.values() for function in module]
    (folder / "main.c").write_text(MAIN.format(
        headers="\n".join(f'#include "{module}.source.h"' for module in modules),
        functions="\n".join(caller(n, f) for n, f in enumerate(functions)),
        cases="\n".join(f"      case {n}: Call{n}(); break;" for n in range(len(functions)))))
    return functions


def test(modules, folder, systems, tries, level):
    """Builds and runs the program for each system."""
    functions = write_program(modules, folder)
    content, calls = drawn_calls(functions, tries)
    (folder / "calls.bin").write_bytes(content)
    program = built_for("gcc", modules, folder, level)
    if program is None:
        return
    expected = run("gcc", program, folder)
    print(f"{len(functions)} kernels of {len(modules)} files, {len(calls)} calls", flush=True)
    for system in systems:
        start = time.monotonic()
        program = built_for(system, modules, folder, level)
        if program is None:
            continue
        told = "linked only" if "macos" in system else f"{compared(system, calls, run(system, program, folder), expected)} calls ran"
        print(f"{system}: {told}, {time.monotonic() - start:.0f} s", flush=True)


def usable():
    """Returns the systems whose programs can be built, and run unless they are for macOS."""
    missing = {"windows": shutil.which("wine") is None, "wasm": importlib.util.find_spec("wasmtime") is None}
    return [system for system in SYSTEMS if not any(absent and part in system for part, absent in missing.items())]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--system", choices=["clang", *SYSTEMS])
    parser.add_argument("-O", dest="level", default="0", metavar="LEVEL")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    if importlib.util.find_spec("ziglang") is None:
        print("PyPI's package ziglang is not installed")
        return 77
    everything = sorted([*(ROOT / "samples").glob("*/*.kdl"), *(ROOT / "tests/run/families").glob("*.kdl"), *(ROOT / "stdlib").glob("**/*.kdl")])
    files = [path.resolve() for path in given.files] or (everything if given.all else seeds.one_in(64, everything))
    with tempfile.TemporaryDirectory() as name:
        folder = (given.keep or pathlib.Path(name)).resolve()
        folder.mkdir(exist_ok=True)
        modules = {}
        for path in files:
            options = ["-D", "T=f32"] if path.is_relative_to(ROOT / "stdlib") else []
            module = f"{path.parent.name}_{path.stem}"
            functions = emitted(path, module, folder, options)
            if functions:
                modules[module] = functions
        if modules:
            read_for_msvc(modules, folder)
            systems = [system for system in ["clang", *usable()] if given.system in (None, system)]
            test(modules, folder, systems, 8 if given.all else 4, f"-O{given.level}")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
