"""Builds the project that this file is part of for pip (PEP 517). It needs no other package."""

from __future__ import annotations

import base64
import hashlib
import pathlib
import platform
import re
import tomllib
import zipfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent
# The versions of glibc for which there are manylinux tags; from 2.34 on, for each. binaries.py in the folder runtime/python/packing of kernelc
# has them, too, for its own wheel: this file must work without any other.
POLICIES = [17, 24, 26, 27, 28, 31, *range(34, 80)]
FIELDS = ("name", "version", "dependencies", "requires-python", "description")


def build_wheel(folder: str, settings: Any = None, metadata: Any = None) -> str:
    """Writes the wheel to the folder and returns its name."""
    del settings, metadata
    project = _project()
    files = {str(file.relative_to(ROOT)): file.read_bytes() for file in sorted(ROOT.rglob("*"))
             if file.parent != ROOT and file.suffix in (".py", ".pyi", ".typed", ".so")}
    whole = f"{re.sub(r'[-_.]+', '_', project['name'])}-{project['version']}"
    tag = f"cp311-abi3-{_platform(files)}"
    about = f"{whole}.dist-info"
    files[f"{about}/METADATA"] = _metadata(project).encode()
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: kernelc\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    rows = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items()]
    files[f"{about}/RECORD"] = "".join([*rows, f"{about}/RECORD,,\n"]).encode()
    name = f"{whole}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            wheel.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
    return name


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _metadata(project: dict[str, Any]) -> str:
    """Returns the file METADATA. Of the fields in pyproject.toml, it contains those of FIELDS."""
    unknown = sorted(set(project) - set(FIELDS))
    if unknown:
        raise ValueError(f"pyproject.toml: backend.py does not know the field '{unknown[0]}'; add it to _metadata, or use another backend")
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}"]
    if "description" in project:
        lines.append(f"Summary: {project['description']}")
    if "requires-python" in project:
        lines.append(f"Requires-Python: {project['requires-python']}")
    lines += [f"Requires-Dist: {one}" for one in project.get("dependencies", [])]
    return "\n".join(lines) + "\n"


def _platform(files: dict[str, bytes]) -> str:
    """Returns the platform tag for the newest version of glibc that the files need: the next one that pip and PyPI know."""
    found = [int(minor) for name, content in files.items() if name.endswith(".so") for minor in re.findall(rb"\0GLIBC_2\.(\d+)", content)]
    newest = max(found, default=0)
    return f"manylinux_2_{min((one for one in POLICIES if one >= newest), default=newest)}_{platform.machine()}"


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
