"""Finds out which packages of Debian have become part of the files, and describes them: licences and a list of components (SBOM)."""

import json
import pathlib
import re
import subprocess
import tomllib
import urllib.parse
from typing import NamedTuple

from binaries import PackError, run

# The licence of kernelc itself.
OWN = tomllib.loads((pathlib.Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())["project"]["license"]
# The licences of the parts that are linked, by the name of Debian's source package.
LICENCES = {
    "antlr4-cpp-runtime": "BSD-3-Clause",
    "boost1.74": "BSL-1.0",
    "fmtlib": "MIT",
    "gcc-10": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "gcc-12-cross": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "gmp": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "isl": "MIT",
    "jemalloc": "BSD-2-Clause",
    "libzstd": "BSD-3-Clause",
    "llvm-toolchain-19": "Apache-2.0 WITH LLVM-exception",
    "nlohmann-json3": "MIT",
    "util-linux": "BSD-3-Clause",
    "yaml-cpp": "MIT",
    "zlib": "Zlib",
}
# Libraries of which the program contains code from headers only.
HEADERS = ["libfmt-dev", "nlohmann-json3-dev"]
COMMON = pathlib.Path("/usr/share/common-licenses")
HERE = pathlib.Path("/")


class Package(NamedTuple):
    """A package that is installed in a system."""

    name: str
    root: pathlib.Path


def packages_of(files, old_system, cross_system):
    """Returns Debian's packages that contain these files, and those in HEADERS. Files may be in the root of an older system, or in one
    with libraries for another architecture."""
    roots = [root for root in (old_system, cross_system, HERE) if root]
    found = {Package(name, cross_system or HERE) for name in HEADERS}
    inside = {root: [] for root in roots}
    for file in files:
        inside[next(root for root in roots if file.is_relative_to(root))].append(file)
    for root, own in inside.items():
        found |= _owners(root, own)
    return sorted(found)


def _owners(root, files):
    """Returns the packages that contain files in a root."""
    found = set()
    paths = {f"/{path}" for file in files for path in (file.relative_to(root), file.resolve().relative_to(root))}
    known = subprocess.run([*_query(root), "-S", *sorted(paths)], capture_output=True, text=True).stdout
    owners = {path: names for names, path in re.findall(r"^(.*?): (.*)$", known, re.MULTILINE)}
    for file in files:
        names = owners.get(f"/{file.resolve().relative_to(root)}") or owners.get(f"/{file.relative_to(root)}")
        if names is None:
            raise PackError(f"no package of Debian contains {file}")
        found.add(Package(names.partition(":")[0], root))
    return found


def _query(root):
    return ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}"]


def components_of(packages):
    """Returns {(source package, version): (home page, licence)}."""
    components = {}
    for package in packages:
        line = run(*_query(package.root), "-W", "-f", r"${source:Package}\t${source:Version}\t${Homepage}", package.name)
        name, version, home = line.split("\t")
        if name not in LICENCES:
            raise PackError(f"components.py must list the licence of {name}")
        components[name, version] = (home, LICENCES[name])
    return dict(sorted(components.items()))


def licence_files(packages):
    """Returns {name in the wheel: content}: what Debian says on each package, and the licences that this refers to."""
    files = {}
    for package in packages:
        text = (package.root / "usr/share/doc" / package.name / "copyright").read_bytes()
        files[f"debian/{package.name}.txt"] = text
        for name in re.findall(rb"/usr/share/common-licenses/([\w.+-]*\w)", text):
            files[f"common/{name.decode()}.txt"] = (COMMON / name.decode()).read_bytes()
    return files


def expression(components):
    """Returns the licence of everything together."""
    licences = sorted({OWN, *(licence for _, licence in components.values())})
    return " AND ".join([*(f"({one})" if " " in one else one for one in licences)])


def bill(version, components):
    """Returns the list of components in the format CycloneDX."""
    parts = []
    for (name, of), (home, licence) in components.items():
        where = f"pkg:deb/debian/{name}@{urllib.parse.quote(of, safe='')}?arch=source"
        parts.append({"type": "library", "bom-ref": where, "name": name, "version": of, "licenses": [{"expression": licence}], "purl": where,
                      "externalReferences": [{"type": "website", "url": home}]})
    own = {"type": "application", "bom-ref": "kernelc", "name": "kernelc", "version": version, "licenses": [{"expression": OWN}],
           "purl": f"pkg:pypi/kernelc@{version}"}
    depends = [{"ref": "kernelc", "dependsOn": [part["bom-ref"] for part in parts]}]
    whole = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": own}, "components": parts,
             "dependencies": depends}
    return json.dumps(whole, indent=1) + "\n"
