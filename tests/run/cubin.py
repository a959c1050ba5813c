#!/usr/bin/env python3
"""Tests machine code in images for CUDA devices (`--target 'cuda?code=cubin'`).

NVIDIA's assembler makes it. The tests' driver (tests/drivers/fake_cuda.h) runs only PTX: it must be given the
machine code first, if the GPU can run it, and the PTX when it refuses that.
"""

import os
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import ptxas  # noqa: E402
from shared import checks, teams  # noqa: E402

SAXPY = ["samples/saxpy/saxpy.kdl", "--kernel", "saxpy"]
RUN = ["--set", "N=100", "--arg", "a=2.0", "--arg", "x=random:1", "--verify"]
MACHINE = b"\x7fELF\x02\x01\x01"
CUDA = (190).to_bytes(2, "little")  # EM_CUDA


def codes(image):
    """Returns the positions of machine code for GPUs."""
    starts = [at for at in range(len(image)) if image.startswith(MACHINE, at)]
    return [at for at in starts if image[at + 18:at + 20] == CUDA]


def objects(folder):
    for code, count in [("cubin", 1), ("ptx", 0)]:
        target = f"cuda?isa=sm_90a&code={code}"
        done = teams.kernelc("build", SAXPY[0], "--target", target, "--emit", "obj,ptx", "-o", folder / code)
        checks.expect(f"{target} is built", done.returncode == 0, done.stdout + done.stderr)
        image = b"".join(path.read_bytes() for path in (folder / code).glob("*.o"))
        checks.expect(f"the objects for {target} contain {count} of machine code", len(codes(image)) == count, str(codes(image)))
        checks.expect(f"the objects for {target} contain PTX", b".version" in image, "")
        (text,) = (folder / code).glob("*.ptx")
        checks.expect(f"the text for {target} is text", "\0" not in text.read_text(), "")


def loads(folder):
    """Checks what the driver of a GPU of level 9.0 is given."""
    for level, code, expected in [("sm_90a", "cubin", ["cubin", "ptx"]), ("sm_80", "cubin", ["ptx"]), ("sm_90a", "ptx", ["ptx"])]:
        calls = folder / f"{level}.{code}"
        done = teams.kernelc("run", *SAXPY, "--target", f"cuda?isa={level}&code={code}", *RUN, environment={"FAKE_CUDA_CALLS": str(calls)})
        checks.expect(f"{code} of {level} runs", "bit for bit" in done.stdout, done.stdout + done.stderr)
        loaded = [line.split()[1] for line in calls.read_text().splitlines() if line.startswith("cuModuleLoadDataEx")]
        checks.expect(f"{code} of {level} is loaded as {expected}", loaded == expected, str(loaded))


def missing():
    environment = {"PATH": os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if not (pathlib.Path(part) / "ptxas").exists())}
    done = teams.kernelc("build", SAXPY[0], "--target", "cuda?code=cubin", "-o", "/dev/null/none", environment=environment)
    checks.expect("without ptxas there is an error", "code=cubin needs ptxas, which is not on PATH" in done.stderr, done.stderr)


if __name__ == "__main__":
    fake = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake"
    os.environ["LD_LIBRARY_PATH"] = f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    os.environ["PATH"] = f"{ptxas.path().parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as made:
        objects(pathlib.Path(made))
        loads(pathlib.Path(made))
    missing()
    sys.exit(checks.end())
