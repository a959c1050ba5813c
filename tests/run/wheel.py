#!/usr/bin/env python3
"""Tests the wheel of the Python package: packs it from the build tree, installs it into an empty environment, and runs kernels there
without anything of the build tree or of Debian's LLVM. PyPI's auditwheel confirms the tag."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from shared import checks, pypi

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKING = ROOT / "runtime/python/packing"
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
AUDITWHEEL = "auditwheel==6.8.2"
MOST_BYTES = 60_000_000

USE = f'''
import numpy as np
import kernelc

random = np.random.default_rng(1)
x = random.standard_normal((37, 103)).astype("f4")
softmax = kernelc.compile("{ROOT}/samples/softmax/softmax.kdl").softmax
assert np.allclose(softmax(x), np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), atol=1e-6)
print(softmax.verify(x))

attention = kernelc.compile("{ROOT}/tests/bench/kernels/attention.kdl", defines={{"D": 32}}).attention
q, k, v = (random.standard_normal((2, 3, size, 32)).astype("f4") for size in (50, 70, 70))
p = np.exp(0.2 * np.einsum("bhid,bhjd->bhij", q, k, dtype="f8"))
assert np.allclose(attention(q, k, v, scale=0.2), np.einsum("bhij,bhje->bhie", p / p.sum(axis=3, keepdims=True), v), atol=1e-5)
print("program", kernelc.compiler.program())
'''


def call(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=500, **options)


def succeed(what, *words, **options):
    """Returns the output of a command. If the command fails, records a failed check."""
    done = call(*words, **options)
    checks.expect(what, done.returncode == 0, done.stdout + done.stderr)
    return done.stdout


def auditwheel():
    """Returns auditwheel, which is downloaded from PyPI when it is first needed, into a folder next to the builds."""
    return pypi.environment([AUDITWHEEL]) / "bin/auditwheel"


def check_contents(wheel):
    checks.expect(f"the size is below {MOST_BYTES}", wheel.stat().st_size < MOST_BYTES, str(wheel.stat().st_size))
    with zipfile.ZipFile(wheel) as archive:
        texts = {name.partition(".dist-info/")[2]: archive.read(name).decode() for name in archive.namelist() if ".dist-info/" in name}
        names = archive.namelist()
    parts = json.loads(texts["sboms/kernelc.cdx.json"])
    components = {one["name"] for one in parts["components"]}
    checks.expect("the list of components has those that are linked",
                  {"llvm-toolchain-19", "isl", "gmp", "gcc-12", "jemalloc", "antlr4-cpp-runtime", "fmtlib"} <= components, str(components))
    named = re.search(r"^License-Expression: (.*)$", texts["METADATA"], re.MULTILINE)
    licences = {one["expression"] for part in [*parts["components"], parts["metadata"]["component"]] for one in part["licenses"]}
    checks.expect("the licence of the wheel names those of all components", named and all(one in named[1] for one in licences), texts["METADATA"])
    packages = {name.rpartition("/")[2] for name in names if "licenses/debian/" in name}
    checks.expect("each component has the licence file of a package", len(packages) >= len(components), f"{components} {packages}")
    checks.expect("licence files are listed", all(f"License-File: {name.partition('licenses/')[2]}\n" in texts["METADATA"]
                                                  for name in texts if name.startswith("licenses/")))
    checks.expect("and there", {"licenses/LICENSE", "licenses/debian/llvm-19-dev.txt", "licenses/common/LGPL-3.txt"} <= texts.keys(), str(sorted(texts)))
    checks.expect("the package is complete", {"kernelc/bin/kernelc", "kernelc/py.typed", "kernelc/_core.pyi", "kernelc/module.py"} <= set(names), str(names))


def check_tag(wheel):
    told = succeed("auditwheel reads it", auditwheel(), "show", wheel)
    flat = " ".join(told.split())
    ours = re.search(r"manylinux_2_(\d+)_", wheel.name)
    theirs = re.search(r'consistent with the following platform tag: "manylinux_2_(\d+)_', flat)
    checks.expect("auditwheel agrees with the tag", ours and theirs and int(theirs[1]) <= int(ours[1]), told)


def check_libc():
    """For older systems, build.sh links with the libc of Debian 11, which has some functions as others or in other libraries; older_libc.c has
    those that it lacks."""
    has = re.compile(r"(__)?pthread_\w+|dl\w+|[fl]?stat(64)?|fstatat(64)?|__libc_start_main|_dl_find_object")
    brought = set(re.findall(r"^HIDDEN [^=;(]*?(\w+)(?:\(| = )", (ROOT / "src/portable/older_libc.c").read_text(), re.MULTILINE))
    for file in (BUILD / "bin/kernelc_portable", *(BUILD / "python/kernelc").glob("_core*.so")):
        newer = set(re.findall(r"(\w+)@GLIBC_2\.3[2-9]", succeed("readelf reads it", "readelf", "--wide", "--dyn-syms", file)))
        lacking = {name for name in newer - brought if not has.fullmatch(name)}
        checks.expect(f"{file.name} can be linked with Debian 11's libc", newer and not lacking, f"older_libc.c lacks {', '.join(sorted(lacking))}")


def check_use(wheel, folder):
    environment = folder / "environment"
    succeed("an empty environment", "/usr/bin/python3", "-m", "venv", "--without-pip", environment)
    python = environment / "bin/python"
    succeed("pip installs it", "/usr/bin/python3", "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel)
    # NumPy, and nothing else of Debian's packages.
    site = pathlib.Path(succeed("the environment runs", python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "numpy").symlink_to("/usr/lib/python3/dist-packages/numpy")
    clean = {"PATH": str(environment / "bin"), "HOME": str(folder), "LD_LIBRARY_PATH": ""}
    (folder / "use.py").write_text(USE)
    told = succeed("kernels run", python, folder / "use.py", env=clean, cwd=folder)
    checks.expect("bits are those of the reference", "equal to the reference, bit for bit" in told, told)
    checks.expect("by the program in the package", f"program {site}/kernelc/bin/kernelc" in told, told)
    version = succeed("the command is there", environment / "bin/kernelc", "--version", env=clean)
    checks.expect("and runs", version.startswith("kernelc "), version)
    program = site / "kernelc/bin/kernelc"
    libraries = re.findall(r"=> (\S+)", call("ldd", program).stdout)
    foreign = [name for name in libraries if not re.search(r"/lib(c|m|dl|pthread|rt|gmp)\.so", name)]
    checks.expect("it uses only libc and what it brings", not foreign and any(name.startswith(str(site.resolve())) or
                  str(pathlib.Path(name).resolve()).startswith(str(site.resolve())) for name in libraries), str(libraries))


def check_refusals(folder):
    """A wheel with a library that not every system has is refused."""
    told = call(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PACKING)!r}); import binaries; "
                f"binaries.tag_of({{'kernelc/bin/kernelc': {str(BUILD / 'bin/kernelc')!r}}})", cwd=folder)
    checks.expect("shared libraries of Debian are refused", told.returncode != 0 and "libLLVM" in told.stderr and "which not every system has" in told.stderr,
                  told.stderr)


def check_architectures(folder):
    """The tag names the architecture that the files are for."""
    other = "/usr/aarch64-linux-gnu/lib/libm.so.6"

    def tag_of(*files):
        named = {f"file {number}": file for number, file in enumerate(files)}
        return call(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PACKING)!r}); import binaries; print(binaries.tag_of({named}))", cwd=folder)

    told = tag_of(other)
    checks.expect("a wheel for AArch64 has its tag", re.fullmatch(r"cp311-abi3-manylinux_2_\d+_aarch64\n", told.stdout), told.stderr)
    told = tag_of(other, "/usr/lib/x86_64-linux-gnu/libm.so.6")
    checks.expect("files for several are refused", told.returncode != 0 and "for several architectures: aarch64, x86_64" in told.stderr, told.stderr)


def check_sources(folder):
    name = succeed("sources are packed", sys.executable, "-c",
                   f"import sys; sys.path.insert(0, {str(PACKING)!r}); import backend; print(backend.build_sdist('.'))", cwd=folder).strip()
    with tarfile.open(folder / name) as archive:
        names = archive.getnames()
    whole = name.removesuffix(".tar.gz")
    needed = ["PKG-INFO", "pyproject.toml", "CMakePresets.json", "src/tools/main.cpp", "runtime/python/packing/backend.py", "stdlib/nn.kdl"]
    text = tarfile.open(folder / name).extractfile(f"{whole}/pyproject.toml").read().decode()
    backend = re.search(r'backend-path = \["(.*)"\]', text)
    checks.expect("pip finds the backend in them", backend and f"{whole}/{backend[1]}/backend.py" in names, text)
    checks.expect("they are complete", all(f"{whole}/{one}" in names for one in needed), str(names[:20]))


def main():
    os.environ.pop("PYTHONPATH", None)
    if not list((BUILD / "python/kernelc").glob("_core*.so")):
        print("the build has no Python package, because Python's headers are missing")
        return 77
    succeed("the program is linked", "cmake", "--build", BUILD, "--target", "kdl_wheel_inputs")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        told = succeed("the wheel is packed", sys.executable, PACKING / "wheel.py", "--fast", BUILD, folder)
        wheels = list(folder.glob("*.whl"))
        if not wheels:
            return checks.end()
        print(told.strip())
        check_contents(wheels[0])
        check_tag(wheels[0])
        check_libc()
        check_use(wheels[0], folder)
        check_refusals(folder)
        check_architectures(folder)
        check_sources(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
