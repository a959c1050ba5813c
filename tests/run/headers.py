#!/usr/bin/env python3
"""Checks that each public header compiles by itself without a warning: headers for C as C11 and C++17, and
headers for C++ in the standard that they name. Headers for callers must not expose the kernel ABI."""

import pathlib
import subprocess
import sys
import tempfile

from shared import checks

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", INCLUDE]
C11 = ["-x", "c", "-std=c11"]
CPP17 = ["-x", "c++", "-std=c++17", "-fno-exceptions"]
CPP20 = ["-x", "c++", "-std=c++20"]
NOT_FOR_CALLERS = ["KDL_ABI_VERSION", "KDL_ABI_HASH", "KDL_PLUGIN_VERSION"]
# Uses of the headers whose functions are static, and of the headers that only contain macros.
USES = {"version.h": "extern const char version[sizeof KDL_VERSION];\n", "own_device.h": "extern const char kind[sizeof KDL_OWN_DEVICE];\n", "device_keys.h": "extern const char keys[sizeof KDL_HOST_KEYS];\n",
        "link.h": "KDL_DEFINES(kdl_calls_here)\nKDL_REFERS_TO(kdl_calls_elsewhere);\n", "sizes.h": "".join(f"int64_t Try_{name}(int64_t a, int64_t b);\nint64_t Try_{name}(int64_t a, int64_t b) {{ return kdl_size_{name}(a, b); }}\n"
                         for name in "add sub mul div mod min".split())}


def compiled(compiler, language, text, folder):
    (folder / "text").write_text(text)
    words = [compiler, *language, *WARNINGS, "text"]
    return subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=300)


def main():
    without = ("abi_hash.h", "workgroup_abi.h", "use_mpi.h", "mpi_failures.h", "mpi_transfers.h")  # the last three need MPI: ranks.py
    for_c = sorted(path.name for path in (INCLUDE / "kdl").glob("*.h") if path.name not in without)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = [(header, language) for header in for_c for language in (C11, CPP17)]
        cases += [("status.hpp", CPP17), ("calls.hpp", CPP17), *[(path.name, CPP20) for path in sorted((INCLUDE / "kdl").glob("*.hpp"))]]
        for compilers in (("gcc", "g++"), ("clang-19", "clang++-19")):
            for header, language in cases:
                compiler = compilers[language is not C11]
                text = f'#include "kdl/{header}"\n' + USES.get(header, "")
                done = compiled(compiler, language, text, folder)
                checks.expect(f"{header} by {compiler} {language[-1]}", done.returncode == 0, done.stderr)
        for macro in NOT_FOR_CALLERS:
            done = compiled("gcc", C11, f'#include "kdl/runtime.h"\n#ifdef {macro}\n#error\n#endif\nkdl_args* args;\n', folder)
            expected = done.returncode != 0 and "kdl_args" in done.stderr and "#error" not in done.stderr
            checks.expect(f"runtime.h without {macro}", expected, done.stderr)
        done = compiled("g++", CPP17, '#include "kdl/runtime.hpp"\n', folder)
        checks.expect("says what to include without exceptions", "kdl/status.hpp" in done.stderr, done.stderr)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
