#!/usr/bin/env python3
"""Checks that proofs do not depend on the version of isl. kernelc uses Debian's isl, although libLLVM exports
a copy of its own. With that copy preloaded, the proofs must give the same answers for each random kernel,
word for word."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from shared import seeds

BIN = pathlib.Path(shutil.which("kernelc")).resolve().parent
KERNEL = "export kernel k(x: in f32[N], y: out f32[N]) { spmd for i in N by 8 { y[i] = x[i]; } }\n"
KERNELS = 200


def library_of_isl():
    """Returns the library whose isl_ctx_alloc kernelc calls."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "k.kdl"
        source.write_text(KERNEL)
        done = subprocess.run([BIN / "kernelc", "build", source, "--emit", "header", "-o", folder], capture_output=True, text=True,
                              check=True, env=os.environ | {"LD_DEBUG": "bindings"})
    return re.search(r"binding file \S*kernelc \[0\] to (\S+) \[0\]: normal symbol `isl_ctx_alloc'", done.stderr)[1]


def llvm_library():
    linked = subprocess.run(["ldd", BIN / "fuzz_proofs"], capture_output=True, text=True, check=True).stdout
    return re.search(r"=> (\S*/libLLVM\S*)", linked)[1]


def answers(first, preloaded):
    """Returns the proofs' answer for each kernel, in order."""
    done = subprocess.run([BIN / "fuzz_proofs", "--kernels", str(KERNELS), "--seed", str(first), "--show"], capture_output=True, text=True,
                          check=True, env=os.environ | {"LD_PRELOAD": preloaded})
    return re.findall(r"^// seed .*", done.stdout, re.MULTILINE)


def main():
    if not (BIN / "fuzz_proofs").exists():
        print("this build has no fuzz_proofs")
        sys.exit(77)
    library = library_of_isl()
    first = 1 + int.from_bytes(seeds.of_today().encode()[-3:], "big") * 1000
    own, other = answers(first, ""), answers(first, llvm_library())
    differ = [pair for pair in zip(own, other, strict=True) if pair[0] != pair[1]]
    print(f"kernelc calls isl of {library}; {len(own)} kernels from seed {first}, {len(differ)} answers differ")
    for pair in differ[:5]:
        print(*pair, sep="\n")
    sys.exit(bool(differ) or "libisl" not in library or len(own) != KERNELS)


if __name__ == "__main__":
    main()
