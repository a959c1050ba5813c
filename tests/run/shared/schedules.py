"""Continues the compilation of GPU kernels from changed texts, and runs the PTX in the interpreter of tests/drivers."""

import os
import pathlib
import shutil

import numpy

from shared import checks, teams

LAST = "insert-barriers"


def target(level):
    return ["--target", f"cuda?isa={level}"]


def defines(tiles):
    return [word for name, value in tiles.items() for word in ["-D", f"{name}={value}"]]


def use_interpreted_driver():
    """Lets kernelc find the tests' own driver, which interprets PTX."""
    fake = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake"
    os.environ["LD_LIBRARY_PATH"] = f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}"


class Kernel:
    """A kernel, and what the compiler's own schedule computes."""

    def __init__(self, folder, name, source, inputs, output):
        self.folder = folder
        self.name = name
        self.output = output
        self.inputs = [word for i, given in enumerate(inputs) for word in ["--arg", f"{given}=random:{i + 1}"]]
        self.source = folder / f"{name}.kdl"
        self.source.write_text(source)
        self.bits = {}

    def lower(self, file, level, stop, more=()):
        """Returns the text after a pass, or None, and what was said."""
        trusts = ["--trust-ir"] if file != self.source else []
        done = teams.kernelc("build", file, "--emit", "ir", f"--stop-after={stop}", *target(level), *trusts, *more)
        return (done.stdout if done.returncode == 0 else None), done.stdout + done.stderr

    def text(self, level, stop, tiles=None):
        text, said = self.lower(self.source, level, stop, defines(tiles or {}))
        assert text is not None, said
        return text

    def write(self, text):
        file = self.folder / f"{self.name}.kir"
        file.write_text(text)
        return file

    def run(self, file, level, sizes, more=()):
        """Runs the kernel in the file. Returns the bytes of the result, or None, and what was said."""
        out = self.folder / f"{self.name}.npy"
        out.unlink(missing_ok=True)
        given = [word for name, value in sizes.items() for word in ["--set", f"{name}={value}"]]
        cores = [] if "--core-num" in more else ["--core-num", "2"]
        trusts = ["--trust-ir"] if file != self.source else []
        done = teams.kernelc("run", file, "--kernel", self.name, *target(level), *given, *self.inputs, *cores, *trusts,
                             "--out", f"{self.output}=@{out}", *more)
        return (numpy.load(out).tobytes() if done.returncode == 0 else None), done.stdout + done.stderr

    def expected(self, level, sizes, tiles=None):
        key = (level, *sizes.items(), *(tiles or {}).items())
        if key not in self.bits:
            self.bits[key], said = self.run(self.source, level, sizes, defines(tiles or {}))
            checks.expect(f"{self.name} runs on {level}, {sizes}", self.bits[key] is not None, said)
        return self.bits[key]

    def outcome(self, file, level, sizes, tiles=None, more=()):
        """Continues from a changed text, or its file. Returns 'equal', 'different' or 'refused', and what was said. `tiles` are those that
        change the result of the kernel."""
        bits, said = self.run(file if isinstance(file, pathlib.Path) else self.write(file), level, sizes, more)
        if bits is None:
            return "refused", said
        return ("equal" if bits == self.expected(level, sizes, tiles) else "different"), said
