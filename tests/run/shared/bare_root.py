"""Runs a script on a bare Debian system, which mmdebstrap creates and removes again."""

import os
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import sys

from shared import checks, emulator

MIRROR = "deb.debian.org"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
USER = ["chroot $1 useradd --create-home user"]


def missing(machine=platform.machine()):
    """Returns what a trial for this kind of processor needs but this machine lacks."""
    if shutil.which("mmdebstrap") is None:
        return "mmdebstrap is not installed"
    if os.getuid() != 0:
        return "a bare system takes root"
    if machine != platform.machine() and emulator.missing():
        return emulator.missing()
    try:
        socket.create_connection((MIRROR, 80), timeout=10).close()
    except OSError as error:
        return f"{MIRROR} cannot be reached: {error}"
    return None


def run(folder, packages=(), system="bookworm", machine=platform.machine(), before=(), after=(), as_user=False):
    """Copies `folder`, which is called "trial", to the root of a bare system with these packages, runs the hooks of mmdebstrap `before`, and
    then trial.sh of the folder, and the hooks `after`. Returns what the script printed."""
    emulated = [] if machine == platform.machine() else [sys.executable, emulator.__file__]
    sources = [f"deb http://{MIRROR}/debian {system} main"]
    if system == "bookworm":
        sources.append(f"deb http://{MIRROR}/debian-security {system}-security main")
    shell = "chroot --userspec=user:user $1 env -i HOME=/home/user sh" if as_user else "chroot $1 sh"
    hooks = [f"copy-in {folder} /", *(USER if as_user else []), *before, f"{shell} /trial/trial.sh >$1/trial/said 2>&1 || true",
             f"copy-out /trial/said {folder.parent}", *after]
    done = subprocess.run([*emulated, "mmdebstrap", "--variant=apt", "--format=null", "--dpkgopt=force-unsafe-io", "--skip=check/qemu",
                           f"--architectures={ARCHITECTURES[machine]}", f"--include={','.join(packages)}",
                           *(f"--customize-hook={hook}" for hook in hooks), system, "/dev/null", *sources],
                          capture_output=True, text=True, timeout=1200)
    said = pathlib.Path(folder.parent) / "said"
    return said.read_text() if said.exists() else done.stderr


def expect_steps(text, expected):
    """Compares what a script printed after the line "== STEP" with expected[STEP], for all steps. Returns what it printed, by step."""
    printed = dict(re.findall(r"^== (\w+)\n((?:(?!== ).*\n)*)", text, re.MULTILINE))
    for step, wanted in expected.items():
        checks.expect(step, printed.get(step) == wanted, text[-3000:])
    return printed
