#!/usr/bin/env python3
"""Tests `kernelc check -`, which reads standard input."""

import subprocess
import sys
import tempfile

from shared import checks

RIGHT = "export kernel copy(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = x[i]; } }\n"


def check(text, *options):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(["kernelc", "check", "-", *options], input=text, capture_output=True, text=True, timeout=60, cwd=folder)
    return run.returncode, run.stdout, run.stderr


def main():
    checks.expect("a right text", check(RIGHT) == (0, "", ""))
    code, _, errors = check(RIGHT.replace("= x[i]", "= z[i]"))
    checks.expect("an error has the place in the text", code == 1 and errors.startswith("stdin.kdl:1:82: error: unknown name 'z' [E0302]"), errors)
    code, _, errors = check("")
    checks.expect("an empty text", code == 0 and errors == "", errors)
    code, _, errors = check(" " * (1 << 24) + RIGHT)
    checks.expect("a text that is too long", code == 1 and "[E0913]" in errors, errors)
    code, _, errors = check(RIGHT, "-D", "B=8")
    checks.expect("options", code == 1 and "[E0537]" in errors, errors)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
