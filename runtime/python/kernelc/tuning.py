"""Searches for faster schedules by measuring, and keeps what was found in the folder of the cache."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

from . import cache, compiler, interpreter
from .errors import Error

if TYPE_CHECKING:
    from .compiler import Source
    from .module import Kernel


def _folder() -> pathlib.Path:
    """Returns the folder of the cache, or a new one if that is disabled or cannot be written."""
    root = cache.folder()
    try:
        if root is not None:
            root.mkdir(parents=True, exist_ok=True)
            if os.access(root, os.W_OK):
                return root
    except OSError:
        pass
    return pathlib.Path(tempfile.mkdtemp(prefix="kernelc-"))


def tuned_source(kernel: Kernel, given: dict[str, Any], trials: int, seconds: int, path: str | os.PathLike[str] | None) -> Source:
    """Returns the source of the kernel with the fastest schedule for these arrays, or others of their sizes. Continues an earlier
    search, whose log is in the cache, as is the file of schedules if the path is None."""
    options = tuple(word for word in kernel.source.options if not word.startswith("--tuned="))
    # The schedules of the search before are no longer an input.
    files = {path: content for path, content in kernel.source.files.items() if f"--tuned={path}" not in kernel.source.options}
    source = dataclasses.replace(kernel.source, options=options, files=files)
    where = source.file.resolve() if source.file else source.text or source.path
    cached = _folder() / cache.key("tuned", where, source.target, source.options)
    file = pathlib.Path(path).absolute() if path is not None else cached.with_suffix(".yaml")
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        # The values of the arrays matter, too, since a kernel may use them as indices.
        words = interpreter.arguments(kernel.signature(given), given, pathlib.Path(folder))
        chosen = interpreter.source_for(kernel, given)
        chosen = dataclasses.replace(chosen, options=tuple(word for word in chosen.options if not word.startswith("--tuned=")))
        run = chosen.run("tune", "--kernel", kernel.name, *words, f"--trials={trials}", f"--seconds={seconds}", "--tuned", str(file),
                         "--resume", str(cached.with_suffix(".log")))
    if run.returncode != 0:
        raise Error(source.shown(run.stderr).rstrip())
    return dataclasses.replace(source, options=(*options, option(file)))


def option(file: str | os.PathLike[str]) -> str:
    """Returns the option for a file of schedules. Options are part of the cache's key, so it names a copy that always has this content."""
    path = pathlib.Path(file)
    content = path.read_bytes()
    kept = _folder() / f"{path.stem}-{hashlib.sha256(content).hexdigest()[:16]}.yaml"
    if not kept.exists():
        cache.write(kept, content)
    compiler.shown_names[os.fspath(kept)] = os.fspath(file)
    return f"--tuned={os.fspath(kept)}"
