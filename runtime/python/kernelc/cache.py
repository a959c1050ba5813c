"""The cache of compiled kernels on disk.

An entry is a shared object, and a file with the documentation of its kernels, the compiler's warnings, and the hashes of the files
that it was made from. Their names begin with a hash of everything that the result depends on. The object's name also contains a
hash of its content, because a process that has loaded a file does not load another one of the same name. All files are written
under another name and then renamed, so processes, also on several machines with a common file system, can share the cache.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pathlib
import stat
import tempfile
from collections.abc import Iterable
from typing import NamedTuple


def folder() -> pathlib.Path | None:
    """Returns the folder of the cache, or None if there is none, or if `KDL_CACHE_DIR` is set to nothing, which disables the cache."""
    named = os.environ.get("KDL_CACHE_DIR")
    if named is not None:
        return pathlib.Path(named).absolute() / "python" if named else None
    # The specification of XDG_CACHE_HOME says that a relative path is invalid. A process may have no home. The runtime has the same rule
    # (DiskCache::UsualFolder in runtime/core/disk_cache.cpp).
    usual = (os.environ.get("XDG_CACHE_HOME", ""), os.path.join(os.environ.get("HOME", ""), ".cache"))
    home = next((path for path in usual if os.path.isabs(path)), None)
    return None if home is None else pathlib.Path(home) / "kernelc" / "python"


def key(*parts: object) -> str:
    """Returns the name of the entry for these parts, which are written as text. Paths need not be UTF-8."""
    return hashlib.sha256("\0".join(str(part) for part in parts).encode(errors="surrogatepass")).hexdigest()[:32]


class Entry(NamedTuple):
    """What was compiled."""

    shared: pathlib.Path  #: a shared object
    documentation: dict[str, str]  #: the doc comments of its kernels by name
    files: dict[str, str]  #: the hashes of the contents that it was made from, by path
    warnings: list[str]  #: of the compiler


def find(name: str) -> Entry | None:
    """Returns an entry, unless it is damaged, or a file that it was made from has changed."""
    root = folder()
    if root is None:
        return None
    try:
        entry = json.loads(_content(root / f"{name}.json"))
        shared = root / f"{name}-{entry['object'][:16]}.so"
        documentation = {str(kernel): str(text) for kernel, text in entry["documentation"].items()}
        found = Entry(shared, documentation, dict(entry["files"]), list(map(str, entry["warnings"])))
        fresh = _hash(shared) == entry["object"] and all(_hash(path) == content for path, content in found.files.items())
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    return found if fresh else None


def contents(files: Iterable[pathlib.Path]) -> dict[str, str]:
    """Returns hashes of the contents of files by path; "" for a file that cannot be read."""
    hashes = {}
    for file in files:
        try:
            hashes[str(file)] = _hash(file)
        except OSError:
            hashes[str(file)] = ""
    return hashes


def is_newer(file: pathlib.Path, other: pathlib.Path) -> bool:
    """Whether a file has been written or replaced after another one was written, or at the same time; also if it is missing."""
    try:
        state = file.stat()
    except OSError:
        return True
    return max(state.st_mtime_ns, state.st_ctime_ns) >= other.stat().st_mtime_ns


def add(name: str, made: Entry) -> Entry:
    """Copies what was compiled into the cache and returns it with its new path. If the cache cannot be written, returns it as it is."""
    root = folder()
    if root is None:
        return made
    try:
        root.mkdir(parents=True, exist_ok=True)
        content = _hash(made.shared)
        entry = {"object": content, **made._asdict()}
        del entry["shared"]
        kept = root / f"{name}-{content[:16]}.so"
        write(kept, made.shared.read_bytes())
        write(root / f"{name}.json", json.dumps(entry).encode())
        for other in root.glob(f"{name}-*.so"):  # made from files that have changed
            if other != kept:
                other.unlink()
    except OSError:
        return made
    return made._replace(shared=kept)


def write(path: pathlib.Path, content: bytes) -> None:
    """Writes a file, which other processes see complete or not at all."""
    descriptor, made = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(made, path)
    except OSError:
        os.unlink(made)
        raise


def _hash(path: str | os.PathLike[str]) -> str:
    return hashlib.sha256(_content(path)).hexdigest()


def _content(path: str | os.PathLike[str]) -> bytes:
    """Returns the content of a regular file. Reading from a device or a pipe, to which a path may lead, might never end."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()
