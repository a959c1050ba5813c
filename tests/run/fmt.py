#!/usr/bin/env python3
"""Tests `kernelc fmt`: how it reads and writes files, and that random programs keep their syntax tree.

`fmt.py --programs 10000` tests more of the random programs of tests/fuzz.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/fuzz"))
import files  # noqa: E402
from shared import checks, seeds  # noqa: E402

WILD = "kernel f(x :inout f32[N]) {\n  spmd for i in N by 64 { x[i]=2.0 *x[i]; } // twice\n}\n"
TIDY = "kernel f(x: inout f32[N]) {\n    spmd for i in N by 64 { x[i] = 2.0 * x[i]; }  // twice\n}\n"
WRONG = "kernel f( {\n"


def fmt(*words, folder, given=""):
    ran = subprocess.run(["kernelc", "fmt", *map(str, words)], input=given, capture_output=True, text=True, timeout=300, cwd=folder)
    return ran.returncode, ran.stdout, ran.stderr


def test_files(folder):
    wild, tidy, wrong = (folder / name for name in ("wild.kdl", "tidy.kdl", "wrong.kdl"))
    wild.write_text(WILD)
    wild.chmod(0o640)
    tidy.write_text(TIDY)
    before = tidy.stat().st_mtime_ns
    checks.expect("a dry run", fmt("--dry-run", "wild.kdl", "tidy.kdl", folder=folder) == (1, "wild.kdl\n", ""))
    checks.expect("a dry run writes nothing", wild.read_text() == WILD)
    wrong.write_text(WRONG)
    code, out, errors = fmt("wild.kdl", "wrong.kdl", "tidy.kdl", folder=folder)
    checks.expect("an error in one of several files", code == 1 and out == "" and errors.startswith("wrong.kdl:1:"), errors)
    checks.expect("the file with the error stays", wrong.read_text() == WRONG)
    checks.expect("the others are formatted", wild.read_text() == TIDY, wild.read_text())
    checks.expect("permissions stay", wild.stat().st_mode & 0o777 == 0o640)
    checks.expect("a file that is right is not written", tidy.stat().st_mtime_ns == before)
    checks.expect("nothing else is left", sorted(p.name for p in folder.iterdir()) == ["tidy.kdl", "wild.kdl", "wrong.kdl"])
    wrong.unlink()
    inside = folder / "inside"
    inside.mkdir()
    (inside / "deep.kdl").write_text(WILD)
    (inside / "notes.txt").write_text(WILD)
    checks.expect("a folder", fmt(".", folder=folder) == (0, "", "") and (inside / "deep.kdl").read_text() == TIDY)
    checks.expect("only .kdl files of a folder", (inside / "notes.txt").read_text() == WILD)
    link = folder / "link.kdl"
    (inside / "deep.kdl").write_text(WILD)
    link.symlink_to("inside/deep.kdl")
    checks.expect("a link stays a link", fmt("link.kdl", folder=folder)[0] == 0 and link.is_symlink() and link.read_text() == TIDY)
    code, _, errors = fmt("missing.kdl", folder=folder)
    checks.expect("a missing file", code == 1 and "[E0911]" in errors, errors)


def test_standard_input(folder):
    checks.expect("standard input", fmt("-", folder=folder, given=WILD) == (0, TIDY, ""))
    checks.expect("nothing to change", fmt("-", folder=folder, given=TIDY) == (0, TIDY, ""))
    code, out, errors = fmt("-", folder=folder, given=WRONG)
    checks.expect("an error in standard input", code == 1 and out == "" and errors.startswith("stdin.kdl:1:"), errors)
    checks.expect("a dry run of standard input", fmt("--dry-run", "-", folder=folder, given=WILD) == (1, "", ""))


def test_repository(_):
    checks.expect("the samples and the library are formatted", fmt("--dry-run", "samples", "stdlib", folder=ROOT) == (0, "", ""))


def test_full_disk(folder):
    """A limit on the size of files acts like a full disk."""
    large = folder / "large.kdl"
    large.write_text(WILD * 100)
    command = f"trap '' XFSZ; ulimit -f 1; kernelc fmt {large}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, cwd=folder)
    checks.expect("a full disk", ran.returncode == 3 and "[E0982]" in ran.stderr, ran.stderr)
    checks.expect("the file is whole", large.read_text() == WILD * 100)
    checks.expect("no other file is left", not [p for p in folder.iterdir() if p.name.startswith(".kernelc")])


def tree_of(path):
    ran = subprocess.run(["kernelc", "build", "--emit", "ast", path], capture_output=True, text=True, timeout=60)
    return ran.stdout if ran.returncode == 0 else None


def test_programs(folder, count):
    first = random.Random(seeds.of_today()).randrange(1 << 30)
    print(f"programs from seed {first}")
    paths = []
    for seed in range(first, first + count):
        path = folder / f"p{seed}.kdl"
        path.write_text(str(files.File(seed).tree))
        paths.append(path)
    before = [tree_of(path) for path in paths]
    checks.expect("the programs have trees", None not in before)
    for at in range(0, count, 500):
        some = paths[at:at + 500]
        checks.expect("programs are formatted", fmt(*some, folder=folder) == (0, "", ""))
        code, changed, errors = fmt("--dry-run", *some, folder=folder)
        checks.expect("a second run changes nothing", (code, changed, errors) == (0, "", ""), changed + errors)
    different = [str(path) for path, old in zip(paths, before) if tree_of(path) != old]
    checks.expect("the trees stay", not different, "\n".join(different[:10]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=40)
    options = parser.parse_args()
    for test in (test_files, test_standard_input, test_repository, test_full_disk, lambda folder: test_programs(folder, options.programs)):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
