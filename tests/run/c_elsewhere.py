#!/usr/bin/env python3
"""Builds kernels as C source for other systems with `zig cc`, and compares their results with those on this machine, bit for bit.

Programs for Windows run in wine, and those for WebAssembly in wasmtime; for macOS, they are only linked. Needs PyPI's packages ziglang and
wasmtime for the Python that runs this script, and wine; what is missing is skipped.

    tests/run/c_elsewhere.py [--all] [FILE...]     # --all: all samples and families, and the standard library
"""

import argparse
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

from c_source import FUNCTION, SIZES, TARGET, Function, draw, same
from shared import checks, seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=c11", "-ffp-contract=off", "-Wno-psabi", "-Wno-unknown-warning-option"]
MACHINES = {"aarch64-macos": ["-O2"], "x86_64-windows-gnu": ["-O2", "-march=x86_64_v3"], "wasm32-wasi": ["-O2"],
            "wasm32-wasi, simd": ["-O2", "-msimd128"]}
C_TYPES = {"f32": "float", "f64": "double", "bool": "bool", "f16": "uint16_t"}

MAIN = """#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "{header}"
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


def drawn_calls(functions, tries):
    """Returns the bytes that the program reads, and for each call its function and arguments."""
    content, calls = b"", []
    for number, function in enumerate(functions):
        rng = np.random.default_rng([*f"{seeds.of_today()} {function.name}".encode()])
        for attempt in range(tries):
            sizes = {name: int(rng.choice(SIZES)) for name in function.sizes}
            try:
                values = [draw(rng, element, function.shape(shape, sizes), attempt % 2 == 1) if shape is not None
                          else draw(rng, element, (), False) for _, _, element, shape in function.params]
            except (ZeroDivisionError, ValueError, MemoryError):
                continue
            content += struct.pack("<q", number) + b"".join(struct.pack("<q", sizes[name]) for name in function.sizes)
            for (_, _, _, shape), value in zip(function.params, values):
                data = np.asarray(value).tobytes()
                content += data.ljust(8, b"\0") if shape is None else struct.pack("<q", len(data)) + data
            calls.append((function, sizes, values))
    return content, calls


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


def run(machine, program, folder):
    """Runs a program. Returns what it has written, or None."""
    results = folder / "results.bin"
    results.unlink(missing_ok=True)
    if machine.startswith("wasm"):
        code = run_wasm(program, folder)
    else:
        words = ["wine"] if "windows" in machine else []
        code = subprocess.run([*words, str(program), "calls.bin", "results.bin"], cwd=folder, capture_output=True, timeout=600,
                              env=dict(os.environ, WINEDEBUG="-all")).returncode
    checks.expect(f"{program.name} on {machine} ends", code == 0, f"exit code {code}")
    return results.read_bytes() if results.exists() else b""


def test(path, folder, machines, tries):
    """Returns the number of calls that ran, by machine."""
    built = subprocess.run(["kernelc", "build", path, "--target", TARGET, "--emit", "c-source", "-o", folder], capture_output=True, text=True)
    source = folder / f"{path.stem}.source.c"
    if built.returncode != 0 or not source.exists():
        return {}
    header = source.with_suffix(".h")
    functions = [Function(None, docs, name, arguments) for docs, name, arguments in FUNCTION.findall(header.read_text())]
    functions = [function for function in functions if function.supported()]
    if not functions:
        return {}
    (folder / "main.c").write_text(MAIN.format(
        header=header.name, functions="\n".join(caller(n, f) for n, f in enumerate(functions)),
        cases="\n".join(f"      case {n}: Call{n}(); break;" for n in range(len(functions)))))
    content, calls = drawn_calls(functions, tries)
    (folder / "calls.bin").write_bytes(content)
    here = compile_for(["gcc", "-O3", "-march=x86-64-v3"], "here", source, folder)
    expected = run("here", here, folder) if here else b""
    ran = {}
    for machine in machines:
        zig = [sys.executable, "-m", "ziglang", "cc", "-target", machine.partition(",")[0], *MACHINES[machine]]
        program = compile_for(zig, machine, source, folder)
        if program is None:
            continue
        ran[machine] = 0 if "macos" in machine else compared(f"{path.name} on {machine}", calls, run(machine, program, folder), expected)
    return ran


def compile_for(compiler, machine, source, folder):
    program = folder / f"{source.stem}.{machine.replace(', ', '-')}{'.exe' if 'windows' in machine else ''}"
    made = subprocess.run([*compiler, *FLAGS, "main.c", source.name, "-lm", "-o", program], cwd=folder, capture_output=True, text=True)
    checks.expect(f"{source.name} is built for {machine}", made.returncode == 0, made.stderr)
    return program if made.returncode == 0 else None


def usable():
    """Returns the machines whose programs can be built, and run unless they are for macOS."""
    import importlib.util
    if importlib.util.find_spec("ziglang") is None:
        return []
    missing = {"windows": shutil.which("wine") is None, "wasm": importlib.util.find_spec("wasmtime") is None}
    return [machine for machine in MACHINES if not any(absent and part in machine for part, absent in missing.items())]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    machines = usable()
    if not machines:
        print("PyPI's package ziglang is not installed")
        return 77
    everything = sorted([*(ROOT / "samples").glob("*/*.kdl"), *(ROOT / "tests/run/families").glob("*.kdl"), *(ROOT / "stdlib").glob("**/*.kdl")])
    files = given.files or (everything if given.all else seeds.one_in(64, everything))
    total = dict.fromkeys(machines, 0)
    with tempfile.TemporaryDirectory() as name:
        for number, path in enumerate(files):
            folder = pathlib.Path(name) / str(number)
            folder.mkdir()
            for machine, ran in test(path.resolve(), folder, machines, 8 if given.all else 4).items():
                total[machine] += ran
            shutil.rmtree(folder)
    for machine, ran in total.items():
        print(f"{machine}: {'linked only' if 'macos' in machine else f'{ran} calls ran'}")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
