#!/usr/bin/env python3
"""Compiles each source of the compiler and of the runtime alone, like the preset `dev`, to check that it
includes what it uses. By default it compiles one file in twenty-five, selected anew each day; `--all`
compiles all files, which takes ten minutes."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from shared import seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]


def configured(folder):
    """Returns commands, each of which compiles one file of the compiler. Generated files come from the
    build."""
    subprocess.run(["cmake", "--preset", "dev", "-B", folder], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    text = (folder / "compile_commands.json").read_text().replace(f"-I{folder}/", f"-I{BUILD}/").replace(
        f"-isystem {folder}/", f"-isystem {BUILD}/")
    mine = [ROOT / "src", ROOT / "runtime"]
    return [c for c in json.loads(text) if any(pathlib.Path(c["file"]).is_relative_to(folder) for folder in mine)]


def fault(command):
    """Returns the compiler's errors for a file; empty if it compiles."""
    words = shlex.split(command["command"])
    words = words[:words.index("-o")] + ["-fsyntax-only", command["file"]]
    ran = subprocess.run(words, cwd=command["directory"], capture_output=True, text=True)
    return ran.stderr if ran.returncode else ""


def main():
    with tempfile.TemporaryDirectory() as name, \
            concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        commands = seeds.one_in(25, configured(pathlib.Path(name)))
        faults = [text for text in pool.map(fault, commands) if text]
    for text in faults:
        print(text)
    print(f"{len(commands) - len(faults)} passed, {len(faults)} failed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
