#!/usr/bin/env python3
"""Fails if a C or C++ file is not formatted by clang-format; `format.py --fix` formats such files."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ["include", "runtime", "samples", "src", "tests"]
SUFFIXES = {".h", ".hpp", ".c", ".cpp"}


def main():
    tool = shutil.which("clang-format-19")
    if not tool:
        sys.exit("clang-format-19 is not here: tests/install.sh tests")
    files = [str(f) for folder in FOLDERS for f in sorted((ROOT / folder).rglob("*"))
             if f.suffix in SUFFIXES and "golden" not in f.parts]
    mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror"]
    sys.exit(subprocess.run([tool, *mode, *files]).returncode if files else 0)


if __name__ == "__main__":
    main()
