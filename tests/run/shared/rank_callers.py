"""Builds MPI applications that call programs over ranks."""

import pathlib
import shutil

from shared import checks
from shared.rank_runs import run

FOLDER = pathlib.Path(__file__).resolve().parents[1]
BUILT = {
    "c++": (["--emit", "header,orch,obj"], ".cpp", ["{}.orch.cpp"], ["-std=c++20"]),
    "cc": (["--emit", "header,orch-c,obj"], ".c", ["{}.orch.c"], ["-std=c11"]),
}


def build_caller(language, library, folder, caller, files):
    """Builds an MPI application that calls the programs of the files, and returns its path."""
    emits, ending, generated, standard = BUILT[language]
    caller += ending
    own_root = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    for file in files:
        done = run(["kernelc", "build", str(file), *emits, "-o", str(out)], folder)
        checks.expect(f"{file} is not built: {done.stderr}", done.returncode == 0)
    wrapper = {"c++": "mpicxx", "cc": "mpicc"}[language] + library  # the test needs both: tests/install.sh tests
    sources = [file.format(name.stem) for name in files for file in generated]
    words = [wrapper, *standard, "-O1", "-Wall", "-Wextra", "-ffp-contract=off", "-DOMPI_SKIP_MPICXX",
             "-DMPICH_SKIP_MPICXX", "-I", str(out), "-I", str(FOLDER.parents[1] / "include"), str(FOLDER / caller),
             *[str(out / source) for source in sources], *map(str, sorted(out.glob("*.o"))), str(own_root / "lib" / "libkdl_runtime.a"), "-lstdc++", "-lm", "-pthread", "-ldl",
             "-o", str(folder / "caller")]
    done = run(words, folder)
    checks.expect(f"{caller} with {wrapper}: {done.stderr}", done.returncode == 0 and not done.stderr)
    return folder / "caller" if done.returncode == 0 else None
