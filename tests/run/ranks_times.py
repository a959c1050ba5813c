#!/usr/bin/env python3
"""Checks that `kernelc explain --communication --times`, which compiles one program, accepts the names that kernels have if all
programs of the file are compiled.

tests/run/ranks_times.py
"""

import json
import pathlib
import re
import sys
import tempfile

from ranks import RUNS, SOURCE
from shared import checks
from shared.rank_runs import run

PROGRAMS = {
    "relaxed": ["--set", "M=17", "--set", "N=9", "--arg", "count=2"],
    "scaled": ["--set", "M=17", "--set", "N=9", "--arg", "count=2"],
    "products": [word for word in RUNS["products"] if "npy" not in word and word != "--out"],
}
NUMBERS = ["latency", "overhead", "gap", "gap_per_byte", "copy_per_byte", "launch"]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = run(["kernelc", "build", str(SOURCE), "--emit", "ir", "--stop-after=order-launches"], folder).stdout
        bodies = dict(re.findall(r"^program @(\w+) (.*?)^}", text, re.MULTILINE | re.DOTALL))
        for program, arguments in PROGRAMS.items():
            kernels = dict.fromkeys(re.findall(r"launch @(\w+)", bodies[program]), 1)
            (folder / "times.json").write_text(json.dumps({**dict.fromkeys(NUMBERS, 0), "kernels": kernels}))
            done = run(["kernelc", "explain", "--communication", str(SOURCE), "--program", program, *arguments, "--ranks", "2",
                        "--times", "times.json"], folder)
            checks.expect(f"{program} has other kernels than {list(kernels)}: {done.stdout}{done.stderr}",
                          done.returncode == 0 and "predicted times" in done.stdout)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
