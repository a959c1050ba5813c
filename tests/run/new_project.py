#!/usr/bin/env python3
"""Tests the projects of `kernelc new`: each is built and tested with the commands that its README shows."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from shared import checks

SOURCES = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]


def run(command, folder, env=None):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, env=os.environ | (env or {}))


def commands_of(readme):
    """Returns the commands of a README, without comments."""
    return [line.split("#")[0].strip() for line in re.findall(r"^\$ (.*)$", readme.read_text(), re.MULTILINE)]


def check_project(folder, name, options, env, counted):
    made = run(["kernelc", "new", name, *options], folder)
    checks.expect(f"{name}: the project is written", made.returncode == 0, made.stderr)
    commands = commands_of(folder / name / "README.md")
    checks.expect(f"{name}: the README has commands", len(commands) >= 3)
    output = ""
    for command in commands:
        if command.startswith("pip "):
            command += " --no-build-isolation"
        ran = run(["sh", "-c", command], folder / name, env)
        output += ran.stdout + ran.stderr
        checks.expect(f"{name}: {command}", ran.returncode == 0, ran.stdout + ran.stderr)
    checks.expect(f"{name}: the tests ran", re.search(counted, output), output)
    again = run(["kernelc", "new", name], folder)
    checks.expect(f"{name}: an existing folder stays", again.returncode == 1 and "[E1041]" in again.stderr, again.stderr)
    formatted = run(["kernelc", "fmt", "--dry-run", name], folder)
    checks.expect(f"{name}: its kernels are formatted", formatted.stdout == "" and formatted.returncode == 0, formatted.stdout)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        installed = run(["cmake", "--install", str(BUILD), "--prefix", str(folder / "kdl")], folder)
        checks.expect("kernelc is installed", installed.returncode == 0, installed.stderr[-1000:])
        check_project(folder, "filters", [], {"CMAKE_PREFIX_PATH": str(folder / "kdl")}, "100% tests passed")
        has_package = (BUILD / "python/kernelc").exists() and run([sys.executable, "-c", "import numpy"], folder).returncode == 0
        if has_package:
            check_project(folder, "models", ["--python"], {"PYTHONPATH": f"{BUILD}/python:."}, r"Ran 1 test[\s\S]*OK")
        else:
            checks.skip("the Python project", "the package kernelc or NumPy is missing")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
