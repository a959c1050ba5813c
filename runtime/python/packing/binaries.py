"""Reads what programs and libraries need from the system, and derives the tag of a wheel from it."""

import re
import subprocess

# What the manylinux tags guarantee that every system has, as far as kernelc needs it.
SYSTEM = {"libc.so.6", "libm.so.6", "libmvec.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
          "ld-linux-aarch64.so.1"}
# The architectures of wheels, by the number in the header of ELF files.
MACHINES = {62: "x86_64", 183: "aarch64"}
# The versions of glibc for which there are policies; from 2.34 on, for each. kernelc/backend.py has them, too, for wheels of kernels.
POLICIES = [(2, 17), (2, 24), (2, 26), (2, 27), (2, 28), (2, 31), *((2, minor) for minor in range(34, 80))]


class PackError(Exception):
    """The wheel cannot be built."""


def run(*words):
    """Returns the output of a command."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise PackError(f"{words[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def needed(file):
    """Returns the names of the libraries that a file loads."""
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", "--wide", file)))


def own_name(file):
    """Returns the name by which other files load a library; "" for a text that refers the linker to another file."""
    with open(file, "rb") as opened:
        if opened.read(4) != b"\x7fELF":
            return ""
    return re.search(r"\(SONAME\).*\[(.*)\]", run("readelf", "--dynamic", "--wide", file)).group(1)


def machine_of(file):
    """Returns the architecture that a program or library is for, as tags name it."""
    with open(file, "rb") as opened:
        number = int.from_bytes(opened.read(20)[18:], "little")
    if number not in MACHINES:
        raise PackError(f"{file} is for an architecture that no wheel is built for")
    return MACHINES[number]


def libc_of(file):
    """Returns the newest version of glibc that a file needs, such as (2, 34)."""
    found = re.findall(r"\bGLIBC_(\d+)\.(\d+)", run("readelf", "--version-info", "--wide", file))
    return max(((int(major), int(minor)) for major, minor in found), default=(2, 5))


def tag_of(files):
    """Returns the tag of a wheel with these files, by their names in the wheel. Fails if they need a library that not every system has."""
    inside = {name.rpartition("/")[2] for name in files}
    for name, file in files.items():
        missing = needed(file) - SYSTEM - inside
        if missing:
            raise PackError(f"{name} needs {', '.join(sorted(missing))}, which not every system has")
    newest = max(libc_of(file) for file in files.values())
    major, minor = min((one for one in POLICIES if one >= newest), default=newest)
    machines = {machine_of(file) for file in files.values()}
    if len(machines) != 1:
        raise PackError(f"the files are for several architectures: {', '.join(sorted(machines))}")
    return f"cp311-abi3-manylinux_{major}_{minor}_{machines.pop()}"
