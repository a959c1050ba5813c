#!/usr/bin/env python3
"""Tests tests/bench/twins: whether all its rows name kernels and twins that exist, whether its table and JSON
agree, and whether it finds a twin that computes something else. Times are not checked, because they depend on
the machine's load."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
TWINS = "tests/bench/twins"
sys.path.insert(0, str(ROOT / TWINS))
import sources  # noqa: E402
import twins  # noqa: E402

# Rows with few elements: one with kernels next to the twins, and one with a family, ranges and a tensor that is
# changed in place. With the lines of the kernel and of its twin.
SMALL = {"stencils jacobi M=7 N=7": (5, 17), "audio biquads C=8 N=64": (20, 12)}


def compared(row, root, *more):
    return subprocess.run([root / TWINS / "twins.py", "--build", BUILD, "--filter", row, "--trials", "2", *more],
                          capture_output=True, text=True, timeout=300)


def rows_exist():
    rows = list(twins.rows((ROOT / TWINS / "rows.txt").read_text()))
    checks.expect("there are many rows", len(rows) > 40, str(len(rows)))
    for row in rows:
        sizes, parameters = sources.signature(sources.kernels(row.file), row.kernel)
        has_twin = row.kernel in sources.items(sources.twins(row.file))
        checks.expect(f"{row.title()} has a twin and all sizes", has_twin and set(sizes) <= set(row.sizes), str(sizes))
        checks.expect(f"{row.title()} has ranges of tensors", set(row.ranges) <= {p.name for p in parameters}, str(row.ranges))


def table(row, lines, folder):
    file = folder / "rows.json"
    done = compared(row, ROOT, "--json", file)
    checks.expect(f"{row} is measured", done.returncode == 0, done.stdout + done.stderr)
    told = json.loads(file.read_text())[0] if file.exists() else {}
    checks.expect(f"{row} is in the table and in the JSON", told.get("row") == row and done.stdout.splitlines()[1].startswith(row), done.stdout)
    checks.expect(f"{row} has times", all(told.get(name, 0) > 0 for name in ("ours", "gcc", "clang", "ratio")), str(told))
    checks.expect(f"lines of {row}", (told.get("kdl_lines"), told.get("c_lines")) == lines, str(told))


def wrong_twin(row, folder):
    """Runs a copy of the folder in which a twin is wrong."""
    shutil.copytree(ROOT / TWINS, folder / TWINS)
    for name in ("include", "tests/run"):
        (folder / name).symlink_to(ROOT / name)
    file = folder / TWINS / "stencils.c"
    file.write_text(file.read_text().replace("0.25f", "0.24f"))
    done = compared(row, folder)
    checks.expect("a twin that computes something else is found", done.returncode == 1 and "y differs at element 0" in done.stderr,
                  done.stdout + done.stderr)


def main():
    rows_exist()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for row, lines in SMALL.items():
            table(row, lines, folder)
        wrong_twin(next(iter(SMALL)), folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
