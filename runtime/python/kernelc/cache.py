"""The cache of compiled kernels on disk.

An entry is a folder with a shared object and the list of the files that it was made from. Its name is a hash of everything that the
result depends on. Entries are written under another name and then renamed, so processes, also on several machines with a common
file system, can share the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import tempfile


def folder() -> pathlib.Path | None:
    """Returns the folder of the cache, or None if `KDL_CACHE_DIR` is set to nothing, which disables the cache."""
    named = os.environ.get("KDL_CACHE_DIR")
    if named is not None:
        return pathlib.Path(named) / "python" if named else None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(home) / "kernelc" / "python"


def key(*parts: object) -> str:
    """Returns the name of the entry for these parts, which are written as text."""
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()[:32]


def find(name: str) -> pathlib.Path | None:
    """Returns the shared object of an entry, unless a file that it was made from has changed."""
    root = folder()
    if root is None:
        return None
    try:
        files = json.loads((root / name / "files.json").read_text())
        fresh = all(_hash(path) == content for path, content in files.items())
    except (OSError, ValueError):
        return None
    return root / name / "module.so" if fresh else None


def add(name: str, shared: pathlib.Path, files: list[pathlib.Path]) -> pathlib.Path:
    """Moves a shared object to the entry and returns its new path. If the cache cannot be written, returns the old one."""
    root = folder()
    if root is None:
        return shared
    try:
        root.mkdir(parents=True, exist_ok=True)
        made = pathlib.Path(tempfile.mkdtemp(prefix=".new-", dir=root))
        shutil.copyfile(shared, made / "module.so")
        (made / "files.json").write_text(json.dumps({str(path): _hash(path) for path in files}))
        _replace(made, root / name)
    except OSError:
        return shared
    return root / name / "module.so"


def _replace(made: pathlib.Path, entry: pathlib.Path) -> None:
    """Renames `made` to `entry`. An older entry of that name, whose files have changed, is removed."""
    try:
        made.rename(entry)
    except OSError:  # the entry exists
        old = pathlib.Path(tempfile.mkdtemp(prefix=".old-", dir=entry.parent))
        entry.rename(old / "entry")
        made.rename(entry)
        shutil.rmtree(old, ignore_errors=True)


def _hash(path: str | os.PathLike[str]) -> str:
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
