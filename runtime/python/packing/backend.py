"""Builds the package for pip (PEP 517): `pip wheel runtime/python` and `pip install runtime/python` call these functions.

With `--config-settings build=FOLDER`, they pack a build folder that exists. The path is relative to the project.
"""

import pathlib
import subprocess

import archives
import components
import wheel

# Folders that the build does not need.
LEFT_OUT = ("tests/", ".")


def build_wheel(folder, settings=None, metadata=None):
    """Builds the project, writes the wheel to the folder, and returns its name."""
    del metadata
    given = (settings or {}).get("build")
    build = (wheel.ROOT / given).resolve() if given else wheel.ROOT / "build"
    if not given:
        subprocess.run(["cmake", "--preset", "release"], cwd=wheel.ROOT, check=True)
    subprocess.run(["cmake", "--build", str(build), "--target", "kdl_wheel_inputs"], check=True)
    return wheel.pack(build, pathlib.Path(folder)).name


def build_sdist(folder, settings=None):
    """Writes an archive of the sources to the folder and returns its name."""
    del settings
    whole = f"kernelc-{wheel.version()}"
    path = pathlib.Path(folder) / f"{whole}.tar.gz"
    files = {name: wheel.ROOT / name for name in _names() if not name.startswith(LEFT_OUT)}
    own = {"PKG-INFO": wheel.metadata(components.OWN, []), "pyproject.toml": _project_at_top()}
    archives.write_sources(path, whole, {**files, **{name: text.encode() for name, text in own.items()}})
    return path.name


def _project_at_top():
    """Returns pyproject.toml for the top folder of an archive, where pip looks for it."""
    text = (wheel.PACKAGE / "pyproject.toml").read_text()
    return text.replace('["packing"]', '["runtime/python/packing"]').replace('"PYPI.md"', '"runtime/python/PYPI.md"')


def _names():
    """Returns the files of the project: those that git knows, or in an unpacked archive all."""
    if (wheel.ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=wheel.ROOT, check=True,
                                capture_output=True, text=True).stdout
        return [name for name in listed.split("\0") if name and (wheel.ROOT / name).is_file()]
    files = (file.relative_to(wheel.ROOT) for file in wheel.ROOT.rglob("*") if file.is_file())
    return [str(file) for file in files if not file.parts[0].startswith("build") and "__pycache__" not in file.parts]
