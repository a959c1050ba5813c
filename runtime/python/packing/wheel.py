#!/usr/bin/env python3
"""Packs the Python package of a build folder as a wheel: wheel.py [--fast] BUILD OUT

The target kdl_wheel_inputs must be built. The wheel contains the compiler and all libraries that not every system has. `--fast` compresses
less.
"""

import argparse
import pathlib
import re
import sys
import tempfile
import tomllib

import archives
import binaries
import components

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "runtime/python"
PROGRAM = "kernelc/bin/kernelc"
INSIDE = "kernelc/lib/kdl_inside.o"  # the runtime for --emit shared


def version():
    """Returns the version in the public header."""
    text = (ROOT / "include/kdl/version.h").read_text()
    return ".".join(re.findall(r"#define KDL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))


def inputs_of(build):
    """Returns the files outside of the project that were linked into the program, except the system's, as the linker has listed them. The
    extension module and kdl_inside.o contain parts of the C++ library only, which the program contains, too."""
    listed = (build / "src/portable/inputs.d").read_text().replace("\\\n", " ")
    files = {build / word for word in re.findall(r"(?:\\ |\S)+", listed.partition(":")[2].partition("\n\n")[0])}
    if not files:
        raise binaries.PackError("the linker has not listed its inputs; build kernelc_portable again")
    return {file for file in files if not file.resolve().is_relative_to(build.resolve()) and file.name not in binaries.SYSTEM}


def cached(build, name):
    """Returns the path that the build folder was configured with, or None."""
    found = re.search(rf"^{name}:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    return pathlib.Path(found[1]).resolve() if found else None


def programs_of(build, inputs, folder):
    """Returns {name in the wheel: file}: the program, the extension module, and shared libraries that the program needs. They are
    copies without debug information."""
    def stripped(file):
        binaries.run(cached(build, "CMAKE_STRIP") or "strip", "--strip-unneeded", "-o", folder / file.name, file)
        return folder / file.name

    files = {PROGRAM: build / "bin/kernelc_portable"}
    for module in (build / "python/kernelc").glob("_core*.so"):
        files[f"kernelc/{module.name}"] = stripped(module)
    for library in sorted(file for file in inputs if ".so" in file.name):
        name = binaries.own_name(library)
        if name in binaries.needed(files[PROGRAM]) - binaries.SYSTEM:
            files[f"kernelc/lib/{name}"] = stripped(library)
    return files


def metadata(licence, licence_files):
    """Returns the file METADATA: what pyproject.toml says."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version()}", f"Summary: {project['description']}",
             f"License-Expression: {licence}"]
    lines += [f"License-File: {name}" for name in licence_files]
    lines.append(f"Keywords: {','.join(project['keywords'])}")
    lines += [f"Classifier: {one}" for one in project["classifiers"]]
    lines += [f"Requires-Dist: {one}" for one in project["dependencies"]]
    lines += [f"Requires-Python: {project['requires-python']}", "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + (PACKAGE / project["readme"]).read_text()


def entry_points():
    scripts = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["scripts"]
    return "[console_scripts]\n" + "".join(f"{name} = {function}\n" for name, function in scripts.items())


def pack(build, out, level=9):
    """Writes the wheel and returns its path."""
    with tempfile.TemporaryDirectory() as name:
        inputs = inputs_of(build)
        programs = programs_of(build, inputs, pathlib.Path(name))
        tag = binaries.tag_of(programs)
        packages = components.packages_of(inputs, cached(build, "KDL_OLD_SYSTEM"), cached(build, "KDL_CROSS_SYSTEM"))
        parts = components.components_of(packages)
        about = f"kernelc-{version()}.dist-info"
        licences = {"LICENSE": (ROOT / "LICENSE").read_bytes(), **components.licence_files(packages)}
        texts = {
            "METADATA": metadata(components.expression(parts), licences), "entry_points.txt": entry_points(),
            "sboms/kernelc.cdx.json": components.bill(version(), parts),
            "WHEEL": f"Wheel-Version: 1.0\nGenerator: kernelc\nRoot-Is-Purelib: false\nTag: {tag}\n"}
        files = {f"kernelc/{file.name}": (file.read_bytes(), False)
                 for file in sorted((build / "python/kernelc").iterdir()) if file.suffix in (".py", ".pyi", ".typed")}
        files.update({name: (file.read_bytes(), True) for name, file in programs.items()})
        files[INSIDE] = ((build / "lib/kdl_inside.o").read_bytes(), False)
        files.update({f"{about}/licenses/{name}": (content, False) for name, content in licences.items()})
        files.update({f"{about}/{name}": (text.encode(), False) for name, text in texts.items()})
        path = out / f"kernelc-{version()}-{tag}.whl"
        archives.write_wheel(path, files, f"{about}/RECORD", level)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        path = pack(options.build, options.out, 1 if options.fast else 9)
    except (binaries.PackError, OSError) as error:
        print(f"wheel.py: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
