#!/usr/bin/env python3
"""Calls programs over ranks that fail in one process of an MPI application, with Open MPI and MPICH, in C++ and C.

All processes must get the same error (ranks_failures_caller), and can then call further programs. Failing calls keep no memory, and of two
threads that call programs at the same time, one gets an error.

tests/run/ranks_failures.py
"""

import pathlib
import shutil
import sys
import tempfile

from shared import checks
from shared.rank_callers import BUILT, build_caller
from shared.rank_runs import LAUNCHERS, run

SOURCE = pathlib.Path(__file__).with_name("ranks_failures.kdl")


def main():
    for launcher in LAUNCHERS.values():
        if not shutil.which(launcher[0]):
            checks.expect(f"{launcher[0]} is missing: tests/install.sh tests", False)
            return checks.end()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for library, (title, launcher) in zip((".openmpi", ".mpich"), LAUNCHERS.items()):
            for language in BUILT:
                caller = build_caller(language, library, folder, "ranks_failures_caller", [SOURCE])
                if not caller:
                    continue
                done = run([*launcher, "3", str(caller)], folder)
                checks.expect(f"{language} with {title}: {done.returncode}\n{done.stdout}{done.stderr}",
                              done.returncode == 0 and done.stdout.count("all calls are right") == 3)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
