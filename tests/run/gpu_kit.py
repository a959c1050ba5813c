#!/usr/bin/env python3
"""Tests the kit for machines with a GPU (tests/gpu/pack.sh) in a bare folder, with the driver that interprets
PTX. Every row that the kit measures must be right for tiny sizes, a wrong row must be found, and the kit's
tools must run with their own libraries."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake"


def run(kit, *words):
    """Runs a command in the kit, without the build's programs and libraries."""
    environment = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(FAKE), "OUT": str(kit), "JOBS": "2"}
    return subprocess.run(["python3", *words], cwd=kit, env=environment, capture_output=True, text=True, timeout=300)


def numbers(kit):
    done = run(kit, "first.py", "--small", "120")
    lines = [json.loads(line) for line in (kit / "first.jsonl").read_text().splitlines()]
    checks.expect("all rows are right", done.returncode == 0 and len(lines) > 15, done.stdout + done.stderr)
    text = next((kit / "sm_90a").glob("memory.*.ptx"))
    text.write_text(text.read_text().replace("add.rn.f32", "sub.rn.f32"))
    wrong = next(line["row"] for line in lines if line.get("what") == "row_sum")
    done = run(kit, "first.py", "--small", "120", "--row", str(wrong))
    checks.expect("a wrong sum is found", done.returncode == 1 and '"right": false' in done.stdout, done.stdout + done.stderr)


def tools(kit):
    done = run(kit, "jobs.py", "120", "--only", "^devices|checks of programs|memcheck of softmax")
    lines = {line["what"]: line for line in map(json.loads, (kit / "jobs.jsonl").read_text().splitlines())}
    good = done.returncode == 0 and lines["devices"]["good"] and lines["checks of programs"]["good"]
    checks.expect("the tools run", good, done.stdout + done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        kit = pathlib.Path(folder) / "kit"
        done = subprocess.run([ROOT / "tests/gpu/pack.sh", kit], env=os.environ | {"XZ_OPT": "-0 -T0"}, capture_output=True, text=True)
        checks.expect("the kit is packed", done.returncode == 0, done.stdout + done.stderr)
        if done.returncode == 0:
            numbers(kit)
            tools(kit)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
