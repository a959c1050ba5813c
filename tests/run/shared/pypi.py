"""Packages from PyPI, in environments of their own next to the builds."""

import fcntl
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def environment(packages, debian=()):
    """Returns the folder of an environment that has these packages, such as `onnx==1.23.2`, and Debian's packages in `debian`. The
    first package names the environment. It is made at the first call, also if several processes call at once. Ends the process
    if pip fails."""
    folder = ROOT / f"build-{packages[0].replace('==', '-')}"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        complete = folder / "complete"
        if not complete.exists() or complete.read_text() != " ".join(packages):
            for words in [("/usr/bin/python3", "-m", "venv", "--clear", folder / "venv"),
                          (folder / "venv/bin/pip", "-q", "--disable-pip-version-check", "install", *packages)]:
                done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if done.returncode != 0:
                    sys.exit(f"pip could not bring {' and '.join(packages)}; is there a network?\n{done.stdout}")
            (site,) = (folder / "venv/lib").glob("python*/site-packages")
            for name in debian:
                (site / name).symlink_to(f"/usr/lib/python3/dist-packages/{name}")
            complete.write_text(" ".join(packages))
    return folder / "venv"
