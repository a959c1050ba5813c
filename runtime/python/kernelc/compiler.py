"""Runs the program kernelc and loads what it builds."""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from . import arrays, cache
from ._core import processor
from .errors import CompileError, Error


# Element types by their names in NumPy and PyTorch.
_ELEMENTS = {name: element for element, name in arrays.NAMES.items()}


# How often a file is compiled again that changes while it is compiled.
_MOST_ATTEMPTS = 5


# How messages name files that this package has made: by the names of those from which they are copied.
shown_names: dict[str, str] = {}


class CompileWarning(UserWarning):
    """A warning of the compiler."""


def program() -> str:
    """Returns the path of the program: the one in this package, the one that `KERNELC` names, or the one in `PATH`."""
    own = pathlib.Path(__file__).parent / "bin" / "kernelc"
    if own.exists():
        return str(own)
    found = os.environ.get("KERNELC") or shutil.which("kernelc")
    if found is None:
        raise Error("the program kernelc is not in PATH; set the environment variable KERNELC to its path")
    return found


def main() -> None:
    """The command `kernelc` that pip installs."""
    os.execv(program(), [program(), *sys.argv[1:]])


@dataclasses.dataclass(frozen=True)
class Source:
    """What is compiled: a file, a file of the library such as `std.nn`, or a text that is compiled as if it were in a file of this
    name."""

    path: pathlib.Path
    text: str | None
    target: str
    options: tuple[str, ...]
    #: The current folder when the source was named, since later commands run on the same file.
    folder: str = dataclasses.field(default_factory=os.getcwd)
    #: The hashes of the files from which a loaded kernel was compiled, by path.
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def file(self) -> pathlib.Path | None:
        """The file that is read; None for a text and for a file of the library, which is part of the compiler."""
        is_library = re.fullmatch(r"std(\.\w+)+", str(self.path)) and self.path.suffix not in (".kdl", ".kir")
        return None if self.text is not None or is_library else pathlib.Path(self.folder, self.path)

    def run(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs `kernelc COMMAND` on the source and returns what it printed. Raises Error if the files are others than those of the loaded
        kernel."""
        self.check_files(cache.contents(map(pathlib.Path, self.files)))
        if self.text is None:
            return self._run(command, words, self.path, self.folder)
        with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
            (pathlib.Path(folder) / self.path.name).write_text(self.text, encoding="utf-8", errors="surrogatepass")
            return self._run(command, words, pathlib.Path(self.path.name), folder)

    def check_files(self, files: Mapping[str, str]) -> None:
        """Raises Error if these hashes are not those from which a loaded kernel was compiled."""
        changed = [path for path, content in self.files.items() if files.get(path) != content]
        if changed:
            raise Error(f"{os.path.relpath(changed[0])} has changed since it was compiled; compile it again")

    def _run(self, command: str, words: Sequence[str], path: pathlib.Path, folder: str) -> subprocess.CompletedProcess[str]:
        # A command for one kernel names it in `words`.
        options = [one for one in self.options if not (one.startswith("--kernel=") and "--kernel" in words)]
        full = [program(), command, str(path), "--target", self.target, *options, *words]
        return subprocess.run(full, cwd=folder, capture_output=True, encoding="utf-8", errors="replace")

    def shown(self, text: str) -> str:
        """Returns a text of the compiler with the names of files as the user knows them."""
        for path, name in shown_names.items():
            text = text.replace(path, name)
        return text.replace(f"{self.path.name}:", f"{self.path.stem}:") if self.path.stem.endswith(".py") else text


def build(source: Source) -> cache.Entry:
    """Returns a shared object with the kernels of the source, and what is known about it. Repeats the compiler's warnings."""
    built = _build(source)
    for one in built.warnings:
        warnings.warn(one, CompileWarning, stacklevel=6)
    return built


def _build(source: Source) -> cache.Entry:
    state = os.stat(program())
    file = source.file
    content = file.read_bytes() if file else source.text
    where = file.resolve() if file else source.path
    machine = processor() if "isa=native" in source.target else 0
    name = cache.key(program(), state.st_size, state.st_mtime_ns, where, content, source.target, machine, source.options)
    found = cache.find(name)
    if found is not None:
        return found
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kernelc-"))
    is_uncached = False
    try:
        made = _compile_settled(source, folder)
        added = cache.add(name, made)
        is_uncached = added == made  # without a cache, the object is loaded from here
        return added
    finally:
        if is_uncached:
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def diagnostics_of(source: Source, run: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """Returns the diagnostics in the object that `--json` has printed. There is none if the program has crashed."""
    return list(_object(source.shown(run.stdout)).get("diagnostics", []))


def _object(text: str) -> dict[str, Any]:
    """Returns the object in a text, or an empty one if there is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _compile_settled(source: Source, out: pathlib.Path) -> cache.Entry:
    """Compiles the source into a folder. If somebody has saved one of its files meanwhile, compiles again, since the compiler may have read
    what was there before."""
    contents: dict[str, str] | None = None
    for _ in range(_MOST_ATTEMPTS):
        before = contents
        start = out / "start"
        start.write_bytes(b"")
        documentation, told = _compile(source, out)
        files = [] if source.text is not None else _files(source, out)
        contents = cache.contents(files)
        if contents == before or not any(cache.is_newer(file, start) for file in files):
            break
    else:  # no later process may take the result for that of the files
        contents = dict.fromkeys(contents or {}, "")
    return cache.Entry(next(out.glob("*.so")), documentation, contents, told)


def _compile(source: Source, out: pathlib.Path) -> tuple[dict[str, str], list[str]]:
    """Compiles the source into a folder. Returns the doc comments of its kernels by name, and the warnings."""
    words = ["--emit", "images,deps", "-o", str(out)]
    if source.path.stem.endswith(".py"):
        words.append(f"--path-prefix-map={source.path.name}={source.path.stem}")
    run = source.run("build", *words, "--json")
    diagnostics = diagnostics_of(source, run)
    for one in diagnostics:
        one["file"] = source.shown(one.get("file", "") + ":")[:-1]
    if run.returncode != 0:
        text = "".join(one["text"] for one in diagnostics).rstrip() or run.stderr
        if re.search(r"-D \w", text):  # the messages are those of the command line
            text += "\nnote: in Python, -D NAME=VALUE is the keyword argument defines={'NAME': VALUE}"
        raise CompileError(text or f"{program()} ended with code {run.returncode}", diagnostics)
    kernels = _object(run.stdout).get("kernels")
    if kernels is None:
        raise Error(f"{program()} has not printed the kernels that it compiled: it is not the kernelc of this package, or its output is lost")
    told = [f"{one['file']}:{one['line']}: {one['message']}" if "line" in one else one["message"] for one in diagnostics]
    return {kernel["name"]: kernel["documentation"] for kernel in kernels}, told


def _files(source: Source, out: pathlib.Path) -> list[pathlib.Path]:
    """Returns the files that the compiler has read, as its dependency file lists them."""
    rule = next(out.glob("*.d")).read_text(encoding="utf-8", errors="surrogateescape")
    words = re.findall(r"(?:\\+[ #:]|\S)+", rule)[1:]  # the first is the output
    return [pathlib.Path(source.folder, re.sub(r"\\([ #:])", r"\1", word).replace("$$", "$")).resolve() for word in words]


def options(defines: Mapping[str, object] | None, opt_level: int | None, kernel: str | None) -> tuple[str, ...]:
    """Returns the command line options for keyword arguments of `compile`."""
    words = []
    if not isinstance(defines, (Mapping, type(None))):
        raise TypeError("defines must be a dictionary, such as {'BM': 64, 'T': ['f32', 'f64']}, not " + repr(defines))
    for name, value in (defines or {}).items():
        values = value if isinstance(value, (list, tuple)) else [value]
        words.append(f"-D{name}={','.join(map(_define, values))}")
    if opt_level is not None:
        words.append(f"-O{opt_level}")
    if kernel is not None:
        words.append(f"--kernel={kernel}")
    return tuple(words)


def _define(value: object) -> str:
    """Returns the value of a generic parameter as text. The types of NumPy and PyTorch are element types."""
    text = value.__name__ if isinstance(value, type) else str(value)
    return _ELEMENTS.get(text.removeprefix("torch."), text)


def target_of(device: str) -> str:
    """Returns the target to compile for, so that the code runs on the device. Of the processor's levels, only the best is compiled."""
    if not isinstance(device, str):
        raise TypeError(f"device must be a text, such as 'host' or 'cuda', not {device!r}")
    if device.startswith("reference"):
        raise Error("the interpreter is not a device; within `with kernelc.interpret():`, kernels of any device run in it")
    kind, _, keys = device.partition("?")
    if kind not in ("host", "debug") or "isa=" in keys:
        return device
    kept = [key for key in keys.split("&") if key.partition("=")[0] in ("dot", "engines")]
    return f"{kind}?" + "&".join(["isa=native", *kept])
