"""NVIDIA's PTX assembler, which needs no GPU. `ptxas.path()` returns its path. The version is fixed, so that
its output is stable. `ptxas.disassembler()` returns the tool that disassembles its machine code.

Both tools are downloaded from PyPI when they are first needed, into a folder next to the builds. KDL_PTXAS
and KDL_NVDISASM override their paths.
"""

import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = "13.0.88"
FOLDER = ROOT / f"build-ptxas-{VERSION}"
PACKAGES = {"ptxas": f"nvidia-cuda-nvcc=={VERSION}", "nvdisasm": "nvidia-cuda-nvdisasm==13.5.37"}


def call(*words):
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        last = "\n".join(done.stdout.strip().splitlines()[-5:])
        sys.exit(f"ptxas {VERSION}, which checks PTX, or nvdisasm is not here, and pip could not bring it; is there a network? "
                 f"KDL_PTXAS=PATH and KDL_NVDISASM=PATH name those that are here.\n{' '.join(map(str, words))}\n{last}")


def install(to):
    """Extracts a package's only program."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        folder = pathlib.Path(folder)
        call("/usr/bin/python3", "-m", "venv", folder / "venv")
        call(folder / "venv/bin/pip", "-q", "--disable-pip-version-check", "download", "--no-deps", "--only-binary=:all:",
             "-d", folder, PACKAGES[to.name])
        (package,) = folder.glob("*.whl")
        with zipfile.ZipFile(package) as archive:
            (name,) = [n for n in archive.namelist() if n.endswith(f"/bin/{to.name}")]
            program = pathlib.Path(archive.extract(name, folder))
        program.chmod(0o755)
        program.rename(to)


def find(name):
    given = os.environ.get(f"KDL_{name.upper()}")
    if given:
        return pathlib.Path(given)
    FOLDER.mkdir(exist_ok=True)
    program = FOLDER / name
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            install(program)
    return program


def path():
    return find("ptxas")


def disassembler():
    return find("nvdisasm")


if __name__ == "__main__":
    print(path())
