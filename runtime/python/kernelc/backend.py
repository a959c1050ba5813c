"""Builds the project that this file is part of for pip (PEP 517). It needs no other package."""

from __future__ import annotations

import base64
import email.headerregistry
import gzip
import hashlib
import io
import os
import pathlib
import platform
import re
import tarfile
import time
import tomllib
import zipfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent
# The versions of glibc for which there are manylinux tags; from 2.34 on, for each. binaries.py in the folder runtime/python/packing of kernelc
# has them, too, for its own wheel: this file must work without any other.
POLICIES = [17, 24, 26, 27, 28, 31, *range(34, 80)]
FIELDS = ("name", "version", "description", "readme", "requires-python", "license", "license-files", "authors", "maintainers", "keywords",
          "classifiers", "urls", "scripts", "gui-scripts", "entry-points", "dependencies", "optional-dependencies")
# Folders of a project that belong neither to the package nor to its sources.
LEFT_OUT = ("__pycache__", "build", "dist", "node_modules")
# What PEP 639 suggests if the project does not say which files are licences.
LICENCES = ("LICEN[CS]E*", "COPYING*", "NOTICE*", "AUTHORS*", "licenses/*")
TYPES = {".md": "text/markdown", ".rst": "text/x-rst", ".txt": "text/plain"}
VERSION = re.compile(r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
                     r"(?:[-_.]?(?P<pre>a|alpha|b|beta|c|rc|pre|preview)[-_.]?(?P<pre_number>\d*))?"
                     r"(?:-(?P<short_post>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?"
                     r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?"
                     r"(?:\+(?P<local>[a-z\d]+(?:[-_.][a-z\d]+)*))?")
PHASES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
EARLIEST = 315532800  # 1980, the first year that a zip file can express


def build_wheel(folder: str, settings: Any = None, metadata: Any = None) -> str:
    """Writes the wheel to the folder and returns its name."""
    del settings, metadata
    project = _project()
    files = {name: (ROOT / name).read_bytes() for name in _sources() if (ROOT / name.partition("/")[0] / "__init__.py").exists()
             and not name.startswith("tests/")}
    tag = f"cp311-abi3-{_platform(files)}"
    about = f"{_whole(project)}.dist-info"
    files |= {f"{about}/licenses/{name}": (ROOT / name).read_bytes() for name in _licences(project)}
    files[f"{about}/METADATA"] = _metadata(project).encode()
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: kernelc\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    if points := _entry_points(project):
        files[f"{about}/entry_points.txt"] = points.encode()
    rows = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items()]
    files[f"{about}/RECORD"] = "".join([*rows, f"{about}/RECORD,,\n"]).encode()
    name = f"{_whole(project)}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            info = zipfile.ZipInfo(path, time.gmtime(_moment())[:6])
            info.external_attr = 0o100644 << 16
            wheel.writestr(info, content, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(folder: str, settings: Any = None) -> str:
    """Writes an archive of the project to the folder and returns its name."""
    del settings
    project = _project()
    files = {name: (ROOT / name).read_bytes() for name in _sources()} | {"PKG-INFO": _metadata(project).encode()}
    path = pathlib.Path(folder) / f"{_whole(project)}.tar.gz"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(f"{_whole(project)}/{name}")
            info.size, info.mtime, info.mode = len(content), _moment(), 0o644
            archive.addfile(info, io.BytesIO(content))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=_moment()))
    return path.name


def _moment() -> int:
    """Returns the time of all files in archives. The same project always becomes the same bytes."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)), EARLIEST)


def _sources() -> list[str]:
    """Returns the files of the project, without hidden ones, environments and what builds have left."""
    found = []
    for folder, inner, files in os.walk(ROOT):
        here = pathlib.Path(folder)
        inner[:] = sorted(name for name in inner if not name.startswith(".") and not name.endswith(".egg-info") and not (here / name / "pyvenv.cfg").exists()
                          and name not in (LEFT_OUT if here == ROOT else LEFT_OUT[:1]))
        found += [(here / name).relative_to(ROOT).as_posix() for name in sorted(files)
                  if not name.startswith(".") and not name.endswith((".pyc", ".whl"))]
    return found


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    unknown = sorted(set(project) - set(FIELDS))
    if unknown:
        raise ValueError(f"pyproject.toml: backend.py does not know the field '{unknown[0]}'; use another backend, such as hatchling")
    if missing := [field for field in ("name", "version") if field not in project]:
        raise ValueError(f"pyproject.toml: the project has no '{missing[0]}'")
    project["version"] = _version(project["version"])
    return project


def _whole(project: dict[str, Any]) -> str:
    """Returns the name and the version, as they are part of the names of files."""
    return f"{re.sub(r'[-_.]+', '_', project['name']).lower()}-{project['version']}"


def _version(text: str) -> str:
    """Returns the normal form of a version (PEP 440)."""
    found = VERSION.fullmatch(text.strip().lower())
    if not found:
        raise ValueError(f"pyproject.toml: '{text}' is not a version; write one such as 1.2, 1.2rc1 or 1.2.post1")
    version = ".".join(str(int(part)) for part in found["release"].split("."))
    if found["epoch"] and int(found["epoch"]):
        version = f"{int(found['epoch'])}!{version}"
    if found["pre"]:
        version += f"{PHASES.get(found['pre'], found['pre'])}{int(found['pre_number'] or 0)}"
    if found["post"] or found["short_post"]:
        version += f".post{int(found['short_post'] or found['post_number'] or 0)}"
    if found["dev"]:
        version += f".dev{int(found['dev_number'] or 0)}"
    if found["local"]:
        version += "+" + ".".join(str(int(part)) if part.isdigit() else part for part in re.split(r"[-_.]", found["local"]))
    return version


def _licences(project: dict[str, Any]) -> list[str]:
    """Returns the files of the project that are licences."""
    own = project.get("license")
    named = [own["file"]] if isinstance(own, dict) and "file" in own else []
    found = set(named)
    for pattern in project.get("license-files", named or LICENCES):
        files = [file.relative_to(ROOT).as_posix() for file in ROOT.glob(pattern) if file.is_file()]
        if not files and "license-files" in project:
            raise ValueError(f"pyproject.toml: no file matches '{pattern}' of license-files")
        found.update(files)
    return sorted(found)


def _metadata(project: dict[str, Any]) -> str:
    """Returns the file METADATA (core metadata 2.4)."""
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}"]
    if "description" in project:
        lines.append(f"Summary: {' '.join(project['description'].split())}")
    lines += _people("Author", project.get("authors", [])) + _people("Maintainer", project.get("maintainers", []))
    lines += _licence_fields(project)
    if project.get("keywords"):
        lines.append(f"Keywords: {','.join(project['keywords'])}")
    lines += [f"Classifier: {one}" for one in project.get("classifiers", [])]
    lines += [f"Project-URL: {label}, {url}" for label, url in project.get("urls", {}).items()]
    if "requires-python" in project:
        lines.append(f"Requires-Python: {project['requires-python']}")
    lines += [f"Requires-Dist: {one}" for one in project.get("dependencies", [])]
    for name, dependencies in project.get("optional-dependencies", {}).items():
        extra = re.sub(r"[-_.]+", "-", name).lower()
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {_for_extra(one, extra)}" for one in dependencies]
    kind, text = _readme(project.get("readme"))
    if kind:
        lines.append(f"Description-Content-Type: {kind}")
    return "\n".join(lines) + "\n" + (f"\n{text}" if kind else "")


def _licence_fields(project: dict[str, Any]) -> list[str]:
    own = project.get("license")
    lines = []
    if isinstance(own, str):
        if any(one.startswith("License ::") for one in project.get("classifiers", [])):
            raise ValueError("pyproject.toml: with 'license', no classifier may begin with 'License ::'")
        lines.append(f"License-Expression: {own}")
    elif own and "text" in own:
        lines.append("License: " + own["text"].strip().replace("\n", "\n        "))
    return lines + [f"License-File: {name}" for name in _licences(project)]


def _people(field: str, people: list[dict[str, str]]) -> list[str]:
    """Returns the lines about authors or maintainers: those with an address are in a field of their own."""
    names = ", ".join(one["name"] for one in people if "email" not in one)
    mails = ", ".join(str(email.headerregistry.Address(one.get("name", ""), addr_spec=one["email"])) for one in people if "email" in one)
    return [f"{key}: {text}" for key, text in ((field, names), (f"{field}-email", mails)) if text]


def _for_extra(requirement: str, extra: str) -> str:
    """Returns a requirement that only holds with an extra."""
    what, _, marker = requirement.partition(" ;" if "@" in requirement else ";")
    return f"{what.strip()} ; " + (f"({marker.strip()}) and " if marker.strip() else "") + f"extra == '{extra}'"


def _readme(readme: Any) -> tuple[str, str]:
    """Returns the type and the text of the long description."""
    if not readme:
        return "", ""
    table = {"file": readme} if isinstance(readme, str) else readme
    kind = table.get("content-type") or TYPES.get(pathlib.Path(table.get("file", "")).suffix.lower())
    if not kind:
        raise ValueError(f"pyproject.toml: 'readme' needs a file that ends in {', '.join(TYPES)}, or a content-type")
    return kind, table["text"] if "text" in table else (ROOT / table["file"]).read_text(encoding="utf-8")


def _entry_points(project: dict[str, Any]) -> str:
    groups = {"console_scripts": project.get("scripts"), "gui_scripts": project.get("gui-scripts"), **project.get("entry-points", {})}
    return "\n".join(f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items()) for group, points in groups.items() if points)


def _platform(files: dict[str, bytes]) -> str:
    """Returns the platform tag for the newest version of glibc that the files need: the next one that pip and PyPI know."""
    found = [int(minor) for name, content in files.items() if name.endswith(".so") for minor in re.findall(rb"\0GLIBC_2\.(\d+)", content)]
    newest = max(found, default=0)
    return f"manylinux_2_{min((one for one in POLICIES if one >= newest), default=newest)}_{platform.machine()}"


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
