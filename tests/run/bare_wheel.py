#!/usr/bin/env python3
"""Installs a wheel with pip on a bare Debian that mmdebstrap creates, as an ordinary user, and runs kernels there: the first example of the
README, softmax and attention. There is no compiler on it.

    tests/run/bare_wheel.py --trial kernelc-….whl              # Debian 12 with Python 3.11
    tests/run/bare_wheel.py --trial --system trixie WHEEL      # Debian 13 with Python 3.13
    tests/run/bare_wheel.py --trial --system bullseye WHEEL    # Debian 11 with Python 3.11, which is built there from Debian's sources first

A wheel for AArch64 runs in an emulator, which takes the program qemu-aarch64-static. With `--python FILE`, Python is built only if there is no
such archive yet, and kept in it. Takes minutes, and needs Debian's mirror and PyPI. Skipped without `--trial`, mmdebstrap or root.

The wheel manylinux_2_31 for x86-64 has passed on Debian 12 in 11 s, on Debian 11 in 14 s and on Debian 13 in 10 s, from the empty environment to the last
kernel, and that for AArch64 in the emulator on Debian 12 in 69 s."""

import argparse
import os
import pathlib
import platform
import re
import shutil
import sys
import tempfile

from shared import bare_root, checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
CERTIFICATES = pathlib.Path(os.environ.get("PIP_CERT", "/etc/ssl/certs/ca-certificates.crt"))
MOST_SECONDS = 60
PACKAGES = {"bookworm": ["python3-venv"], "trixie": ["python3-venv", "passwd"], "bullseye": ["libssl1.1", "zlib1g", "libffi7", "libexpat1"]}
BUILD_PACKAGES = ["gcc", "libc6-dev", "make", "xz-utils", "libssl-dev", "zlib1g-dev", "libffi-dev"]

# Builds Python in a folder of its own. The standard library is copied without its tests, and without compiling it first.
BUILD_PYTHON = f"""
set -eu
export DEBIAN_FRONTEND=noninteractive HOME=/root
echo 'deb-src http://{bare_root.MIRROR}/debian bookworm main' >/etc/apt/sources.list.d/python.list
apt-get -q update
apt-get -q -y install --no-install-recommends {' '.join(BUILD_PACKAGES)}
cd /var/tmp
apt-get -q source --download-only python3.11
tar -xf python3.11_*.orig.tar.*
cd Python-3.11*
./configure --prefix=/opt/python CFLAGS='-O1 -g0'
make -j"$(nproc)" python sharedmods
rm -rf Lib/test Lib/idlelib
mkdir -p /opt/python/lib
cp -r Lib /opt/python/lib/python3.11
cp "$(cat pybuilddir.txt)"/_sysconfigdata*.py /opt/python/lib/python3.11
make altbininstall sharedinstall
ln -s python3.11 /opt/python/bin/python3
apt-get -q -y purge --autoremove {' '.join(BUILD_PACKAGES)}
"""
TRIAL = r"""
set -eu
cd "$HOME"
export PATH=/opt/python/bin:/usr/bin:/bin PIP_CERT=/trial/certificates PIP_DISABLE_PIP_VERSION_CHECK=1
echo "== user"
test "$(id -u)" != 0
echo "== tools"
for name in cc gcc g++ clang ld as make; do if command -v $name; then exit 1; fi; done
if ls /usr/lib/*/libLLVM* /usr/lib/llvm*; then exit 1; fi 2>/dev/null
start=$(date +%s)
echo "== install"
python3 -m venv environment
environment/bin/pip install -q /trial/kernelc*.whl
echo "== example"
cp /trial/example.kdl /trial/softmax.kdl /trial/attention.kdl .
environment/bin/python /trial/example.py
echo "== use"
environment/bin/python /trial/use.py
echo "== seconds"
echo $(($(date +%s) - start))
times
echo "== end"
"""
USE = """
import kernelc
import numpy as np

random = np.random.default_rng(1)
x = random.standard_normal((37, 103)).astype("f4")
softmax = kernelc.compile("softmax.kdl").softmax
assert np.allclose(softmax(x), np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), atol=1e-6)
print(softmax.verify(x))

attention = kernelc.compile("attention.kdl", defines={"D": 32}).attention
q, k, v = (random.standard_normal((2, 3, size, 32)).astype("f4") for size in (50, 70, 70))
p = np.exp(0.2 * np.einsum("bhid,bhjd->bhij", q, k, dtype="f8"))
assert np.allclose(attention(q, k, v, scale=0.2), np.einsum("bhij,bhje->bhie", p / p.sum(axis=3, keepdims=True), v), atol=1e-5)
print("attention is right")
"""
EXPECTED = {"user": "", "tools": "", "install": "", "example": "[500, 70] is right\n",
            "use": "verify: equal to the reference, bit for bit\nverify: the contract holds\nattention is right\n", "end": ""}


def first_block(text, language):
    return re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]


def make_files(folder, wheel):
    readme = (ROOT / "README.md").read_text()
    check = "assert numpy.allclose(c, a @ b, atol=1e-3)\nprint(list(c.shape), 'is right')\n"
    texts = {"example.kdl": first_block(readme, "kdl"), "example.py": first_block(readme, "python") + check, "use.py": USE, "trial.sh": TRIAL,
             "build.sh": BUILD_PYTHON}
    for name, text in texts.items():
        (folder / name).write_text(text)
    for file in [ROOT / "samples/softmax/softmax.kdl", ROOT / "tests/bench/kernels/attention.kdl", wheel]:
        shutil.copy(file, folder)
    shutil.copy(CERTIFICATES, folder / "certificates")


def report_times(system, emulated, text):
    """Prints how long it took, and checks the time of the processor, since other processes may slow the machine."""
    seconds = text.partition("\n")[0]
    own = sum(60 * int(minutes) + float(rest) for minutes, rest in re.findall(r"(\d+)m([\d.]+)s", text))
    print(f"{system}: {seconds} s from the start to the last kernel, of which the processor worked {own:.0f} s")
    if not emulated:
        checks.expect(f"the processor works less than {MOST_SECONDS} s", 0 < own < MOST_SECONDS, text)


def python_hooks(archive):
    """Returns the hooks of mmdebstrap that add Python to a root: from an archive, which they create if there is none."""
    if archive and archive.exists():
        return [f"tar-in {archive.resolve()} /opt"]
    keep = [f"tar-out /opt/python {archive.resolve()}"] if archive else []
    return ["chroot $1 sh /trial/build.sh >&2", *keep]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trial", action="store_true")
    parser.add_argument("--system", choices=[*PACKAGES], default="bookworm")
    parser.add_argument("--python", type=pathlib.Path)
    parser.add_argument("wheel", type=pathlib.Path, nargs="?")
    given = parser.parse_args()
    machine = re.search(r"manylinux_\d+_\d+_(\w+)", given.wheel.name)[1] if given.wheel else platform.machine()
    lacks = bare_root.missing(machine) if given.trial and given.wheel else "--trial with a wheel makes it"
    if lacks:
        print(f"skipped: {lacks}")
        return 77
    with tempfile.TemporaryDirectory(prefix="bare-") as name:
        folder = pathlib.Path(name) / "trial"
        folder.mkdir(mode=0o755)
        make_files(folder, given.wheel)
        text = bare_root.run(folder, PACKAGES[given.system], given.system, machine,
                             python_hooks(given.python) if given.system == "bullseye" else [], as_user=True)
        printed = bare_root.expect_steps(text, EXPECTED)
        report_times(given.system, machine != platform.machine(), printed.get("seconds", ""))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
