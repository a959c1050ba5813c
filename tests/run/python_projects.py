#!/usr/bin/env python3
"""Tests the files that `--emit python` writes: names of packages that Python has already, and files that users have changed.

python_packages.py tests the packages themselves."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from shared import checks

PACKAGE = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python/kernelc"
KERNELS = "export kernel twice(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = 2 * x[i]; } }\n"
OTHER = "[project]\nname = 'other'\n"


def build(folder, *words):
    return subprocess.run(["kernelc", "build", "numbers.kdl", "--emit", "python", *words], cwd=folder, capture_output=True, text=True, timeout=300)


def succeed(what, done):
    checks.expect(what, done.returncode == 0, done.stdout + done.stderr)


def check_names(folder):
    """Packages do not hide modules of Python, and pip accepts the names of their distributions."""
    for module, distribution in (("queue", "queue-kernels"), ("class", "class-kernels"), ("numpy", "numpy-kernels")):
        succeed(f"a module named {module}", build(folder, "--module", module, "-o", module))
        checks.expect(f"the package of {module}", (folder / module / f"{module}_" / "__init__.py").exists(), list((folder / module).iterdir()))
        project = (folder / module / "pyproject.toml").read_text()
        checks.expect(f"a distribution's name that pip accepts for {module}", f'\nname = "{distribution}"\n' in project, project)
    wheel = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "-w", "dist", "./queue"]
    succeed("pip makes a wheel of a package whose name is changed", subprocess.run(wheel, cwd=folder, capture_output=True, text=True, timeout=300))


def check_kept_files(folder):
    """The command keeps what users have changed, and does not write into other projects."""
    project, code = folder / "kept/pyproject.toml", folder / "kept/numbers_/__init__.py"
    succeed("a project is written", build(folder, "-o", "kept"))
    project.write_text(project.read_text().replace("LicenseRef-Proprietary", "MIT"))
    code.write_text("")
    succeed("the project is written again", build(folder, "-o", "kept"))
    checks.expect("pyproject.toml is kept", "MIT AND" in project.read_text(), project.read_text())
    checks.expect("other files are written", code.read_text(), "")
    project.write_text(OTHER)
    code.unlink()
    refused = build(folder, "-o", "kept")
    checks.expect("another project is refused", refused.returncode == 1 and "is that of another Python project [E0890]" in refused.stderr, refused.stderr)
    checks.expect("and nothing is written", project.read_text() == OTHER and not code.exists(), "")


def main():
    if not (PACKAGE / "_core.abi3.so").exists():
        print("the build has no Python package")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "numbers.kdl").write_text(KERNELS)
        check_names(folder)
        check_kept_files(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
