#!/usr/bin/env python3
"""Tests `--emit python`: pip makes a wheel of the project, and the kernels of the wheel run where there is no kernelc.

If PyTorch (2.4 or later) is installed, the kernels are also used as its operators. PyTorch is large, so this is rarely so:
`ENVIRONMENT/bin/python tests/run/python_packages.py` does it in an environment with torch and NumPy."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from shared import checks

PACKAGE = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python/kernelc"
KERNELS = '''// Numbers, "scaled" and added
/// y = a * x. Says "hello".
export kernel scale<T: f32 | f64>(a: f32, x: in T[M, N], y: out T[M, N]) {
    spmd for i in M by 8, j in N by 64 { y[i, j] = (a as T) * x[i, j]; }
}
export kernel at(x: in f32[N], i: i32, y: out f32[1]) {
    spmd for k in 1 by 1 { y[k] = x[i + k]; }
}
export kernel lambda(x: inout f32[N]) {
    spmd for i in N by 64 { x[i] += 1; }
}
export kernel logistic<T: f32 | f64>(x: in T[M, N], y: out T[M, N]) {
    spmd for i in M by 8, j in N by 64 { y[i, j] = 1 / (1 + exp(-x[i, j])); }
}
export kernel logistic_gradient<T: f32 | f64>(g: in T[M, N], y: in T[M, N], dx: out T[M, N]) {
    spmd for i in M by 8, j in N by 64 { dx[i, j] = g[i, j] * y[i, j] * (1 - y[i, j]); }
}
export kernel shift<T: f32 | f64>(x: in T[R.., C], bias: in T[C]?, y: out T[R.., C], sums: out T[R..]?) {
    spmd for r in R by 8, c in C by 64 { if bias { y[r, c] = x[r, c] + bias[c]; } else { y[r, c] = x[r, c]; } }
    if sums { spmd for r in R by 8 { range c in C max 4096; sums[r] = sum(x[r, c] over c); } }
}
export kernel add(x: in broadcast f32[A..], y: in broadcast f32[A..], z: out f32[A..]) {
    spmd for a in A by 64 { z[a] = x[a] + y[a]; }
}
export kernel first(pass: in strided f32[M.., N], n: i32, y: out f32[M.., 2 * N]) {
    spmd for i in M by 8, j in 2 * N by 8 { y[i, j] = if iota(j) < N then pass[i, j] else n as f32; }
}
export kernel scaled(x: in f32[N], factor: in f32[N]?, a: f32, y: out f32[N]) {
    spmd for i in N by 64 { if factor { y[i] = a * factor[i] * x[i]; } else { y[i] = a * x[i]; } }
}
export kernel late(x: in f32[N], y: out f32[N], bias: in f32[N]?) {
    spmd for i in N by 64 { if bias { y[i] = x[i] + bias[i]; } else { y[i] = x[i]; } }
}
export kernel either(x: in f32[A.., B..], y: in f32[N]?, z: out f32[A..], w: out f32[N]) {
    spmd for a in A by 8 { z[a] = 1; }
    spmd for n in N by 8 { if y { w[n] = y[n]; } else { w[n] = 1; } }
}
'''
USE = '''
import sys
import numpy as np
import numbers_of as ops

assert sorted(ops.__all__) == ["add", "at", "either", "first", "lambda", "late", "logistic", "logistic_gradient", "scale", "scaled", "shift"]
for kind in ("f4", "f8"):
    x = np.arange(12).reshape(3, 4).astype(kind)
    y = ops.scale(2.5, x)
    assert y.dtype == x.dtype and (y == 2.5 * x).all()
y = np.zeros((3, 4))
ops.scale[2](a=1.5, x=x, y=y)
assert (y == 1.5 * x).all()
z = np.zeros(3, "f4")
getattr(ops, "lambda")(z)
assert (z == 1).all()
try:
    ops.at(z, 5)
except ops.errors.Trap as error:
    assert type(error).__module__ == "numbers_of._kernelc.errors", type(error)
    assert "index 5 is outside dimension 0 of size 3" in str(error), error
else:
    raise AssertionError("no trap")
import copy, pickle
for kernel in (ops.scale, getattr(ops, "lambda")):
    assert pickle.loads(pickle.dumps(kernel)) is kernel and copy.deepcopy(kernel) is kernel
assert "kernelc" not in sys.modules
print(ops.scale)
'''
# What PyTorch is told of the kernels, which does not need PyTorch.
SCHEMAS = '''
import sys
import numbers_of as ops
from numbers_of._kernelc.torch_ops import Operator

for name, schema in {
    "scale": "scale(float a, Tensor x) -> Tensor",
    "lambda": "lambda(Tensor(a!) x) -> ()",
    "shift": "shift(Tensor x, Tensor? bias=None) -> (Tensor, Tensor)",
    "scaled": "scaled(Tensor x, Tensor? factor, float a) -> Tensor",
    "add": "add(Tensor x, Tensor y) -> Tensor",
    "first": "first(Tensor pass_, int n) -> Tensor",
    "either": "either(Tensor x, Tensor? y, Tensor(c!) z, Tensor(d!) w) -> ()",
}.items():
    found = Operator(getattr(ops, name)).schema()
    assert found == schema, found
assert "torch" not in sys.modules
'''
TYPES = '''
import numbers_of as ops
reveal_type(ops.scale(1.0, None))
ops.scale()
ops.scale("a", None)
ops.nothing
ops.shift(None)
ops.shift(None, bias=None)
ops.first(pass_=None, n=1)
ops.first(None, n="a")
ops.scaled(None, a=1.0)
ops.scaled(None, None, 1.0)
ops.errors.Trap
ops.scaled(None)
ops.either(None, rank_A=1)
ops.shift.submit(None).done()
ops.late(None, bias=None)
ops.late(None, None, None)
ops.late(None, None)
'''
TORCH = '''
import torch
import torch._dynamo.testing
import numbers_of.torch
x = torch.arange(12, dtype=torch.float64).reshape(3, 4)
assert torch.equal(torch.ops.numbers_of.scale(2.5, x), 2.5 * x)
assert torch.equal(torch.ops.numbers_of.scale(2.5, x.t()), 2.5 * x.t())
torch.library.opcheck(torch.ops.numbers_of.scale.default, (2.5, x), test_utils=("test_schema", "test_faketensor"))
whole = torch.compile(lambda x: torch.ops.numbers_of.scale(2.0, x + 1) * 3, fullgraph=True, backend="aot_eager", dynamic=True)
assert torch.equal(whole(x), (x + 1) * 6) and torch.equal(whole(x[:2]), (x[:2] + 1) * 6)
x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
shift = torch.ops.numbers_of.shift
bias = torch.ones(4)
for y, sums in (shift(x), shift(x, None)):
    assert torch.equal(y, x) and torch.equal(sums, x.sum(2))
assert torch.equal(shift(x, bias)[0], x + 1) and torch.equal(shift(x[0, 0], bias)[0], x[0, 0] + 1)
torch.library.opcheck(shift.default, (x, bias), test_utils=("test_schema", "test_faketensor"))
torch.library.opcheck(shift.default, (x,), test_utils=("test_schema", "test_faketensor"))
add = torch.ops.numbers_of.add
assert torch.equal(add(x, bias), x + bias) and torch.equal(add(bias, x[:, :1]), bias + x[:, :1])
moved = torch.ops.numbers_of.first(x.transpose(1, 2), 7)
assert torch.equal(moved[..., :3], x.transpose(1, 2)) and (moved[..., 3:] == 7).all()
# Sizes stay symbols while a function is traced, so that it is compiled once.
for call in (lambda x: shift(x * 2)[0], lambda x: add(x * 2, bias), lambda x: torch.ops.numbers_of.first(x * 2, 7)):
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(call, fullgraph=True, backend=counter, dynamic=True)
    for size in (5, 6, 7):
        x = torch.rand(size, 3, 4)
        assert torch.equal(compiled(x), call(x))
    assert counter.frame_count == 1, counter.frame_count
z = torch.zeros(3)
getattr(torch.ops.numbers_of, "lambda")(z)
assert torch.equal(z, torch.ones(3))
'''
GRAPHS = '''
import torch
import numbers_of, numbers_of.torch

# One graph, which contains the operator; its results are those of the function.
def scaled(x):
    return torch.ops.numbers_of.scale(2.0, torch.relu(x)) + 1
x = torch.randn(5, 7, dtype=torch.float64)
told = torch._dynamo.explain(scaled)(x)
assert told.graph_count == 1 and told.graph_break_count == 0, told
assert any("numbers_of" in str(node.target) for node in told.graphs[0].graph.nodes), told
assert torch.equal(torch.compile(scaled, fullgraph=True, backend="aot_eager")(x), scaled(x))

# Derivatives by a kernel, as PyTorch computes them, also in a compiled function.
def keep(ctx, inputs, output):
    ctx.save_for_backward(output)
def backward(ctx, gradient):
    return torch.ops.numbers_of.logistic_gradient(gradient, *ctx.saved_tensors)
torch.library.register_autograd("numbers_of::logistic", backward, setup_context=keep)
x.requires_grad_()
logistic = torch.ops.numbers_of.logistic
assert torch.autograd.gradcheck(logistic, (x,))
torch.library.opcheck(logistic.default, (x,))
compiled = torch.compile(lambda x: logistic(x).sum(), fullgraph=True, backend="aot_eager")
(mine,) = torch.autograd.grad(compiled(x), x)
(theirs,) = torch.autograd.grad(torch.sigmoid(x).sum(), x)
assert torch.allclose(mine, theirs)

# Kernels write to the memory of a tensor that is part of another.
whole = torch.zeros(4, 6, dtype=torch.float64)
part = whole[1:3, 2:5]
numbers_of.scale(3.0, torch.ones(2, 3, dtype=torch.float64), part)
assert whole.sum() == 18 and (part == 3).all()

# Tensors that are not simply memory.
y = torch.zeros(2, 3, dtype=torch.float64)
negated = torch._neg_view(torch.ones(2, 3, dtype=torch.float64))
numbers_of.scale(3.0, negated.resolve_neg(), y)
assert (y == -3).all()
for wrong, says in ((negated, "pass x.resolve_neg()"), (torch.ones(2, 3, dtype=torch.float64, requires_grad=True), "require gradient"), (torch.ones(2, 3).to_sparse(), "layout"),
                    (torch.ones(3, 2, dtype=torch.float64).t(), "pass a row-major copy")):
    try:
        numbers_of.scale(3.0, wrong, y)
    except Exception as error:
        assert says in str(error), error
    else:
        raise AssertionError(says)
assert (y == -3).all()
'''


# What a vendor writes into pyproject.toml, and what must be in the wheel's METADATA.
OWN_PROJECT = '''
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "Numbers.of"
version = "v1.2-post1+local-x"
description = "Scales numbers"
readme = "README.md"
requires-python = ">=3.11"
license = "MIT AND Apache-2.0 WITH LLVM-exception"
license-files = ["COPYING", "licenses/*"]
authors = [{name = "A. Vendor", email = "a@vendor.example"}, {name = "B. Vendor"}]
maintainers = [{email = "m@vendor.example"}]
keywords = ["kernels", "numbers"]
classifiers = ["Operating System :: POSIX :: Linux"]
dependencies = ["numpy>=1.24"]

[project.urls]
Home = "https://vendor.example"

[project.scripts]
numbers-of = "numbers_of.main:main"

[project.optional-dependencies]
Torch_2 = ["torch>=2.4; python_version < '4'", "kdl @ https://vendor.example/kdl.whl"]
'''
OWN_METADATA = '''Metadata-Version: 2.4
Name: Numbers.of
Version: 1.2.post1+local.x
Summary: Scales numbers
Author: B. Vendor
Author-email: "A. Vendor" <a@vendor.example>
Maintainer-email: m@vendor.example
License-Expression: MIT AND Apache-2.0 WITH LLVM-exception
License-File: COPYING
License-File: licenses/kernelc.txt
Keywords: kernels,numbers
Classifier: Operating System :: POSIX :: Linux
Project-URL: Home, https://vendor.example
Requires-Python: >=3.11
Requires-Dist: numpy>=1.24
Provides-Extra: torch-2
Requires-Dist: torch>=2.4 ; (python_version < '4') and extra == 'torch-2'
Requires-Dist: kdl @ https://vendor.example/kdl.whl ; extra == 'torch-2'
Description-Content-Type: text/markdown

# Numbers
'''
VERSIONS = {"1.0+local-x": "1.0+local.x", "1.2-post1": "1.2.post1", "1.2-1": "1.2.post1", "V01.2-RC.3": "1.2rc3", "1!2.0alpha": "1!2.0a0", "1.0.dev": "1.0.dev0",
            "1.0-r4.dev2": "1.0.post4.dev2", "2026.11": "2026.11"}


def call(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, **options)


def succeed(what, *words, **options):
    done = call(*words, **options)
    checks.expect(what, done.returncode == 0, done.stdout + done.stderr)
    return done.stdout if done.returncode == 0 else ""


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def check_licences(wheel):
    """A wheel contains files of kernelc, and so its licence."""
    inside = contents(wheel)
    about = "numbers_of-0.1.0.dist-info"
    metadata = inside[f"{about}/METADATA"].decode()
    checks.expect("the licence is in the wheel", b"LLVM Exceptions" in inside.get(f"{about}/licenses/licenses/kernelc.txt", b""), list(inside))
    for line in ("License-Expression: LicenseRef-Proprietary AND Apache-2.0 WITH LLVM-exception", "License-File: licenses/kernelc.txt",
                 'Summary: Numbers, "scaled" and added'):
        checks.expect(line, line in metadata.splitlines(), metadata)


def check_own_project(folder):
    """A vendor's project has metadata, tests, data and an environment."""
    own = folder / "own"
    shutil.copytree(folder / "project", own)
    for name, text in {"pyproject.toml": OWN_PROJECT, "README.md": "# Numbers\n", "COPYING": "Do it.\n", "tests/__init__.py": "", "tests/test_it.py": "", "numbers_of/table.csv": "1\n",
                       "numbers_of/data/more.bin": "2", ".venv/__init__.py": "", "env/pyvenv.cfg": "", "env/__init__.py": "", "numbers_of/__pycache__/a.pyc": "",
                       "numbers_of/main.py": "def main():\n    print('main')\n"}.items():
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text(text)
    build = "import sys, backend; print(backend.{}(sys.argv[1]))"
    name = succeed("a wheel with metadata", sys.executable, "-c", build.format("build_wheel"), folder, cwd=own).strip()
    checks.expect("its name", name.startswith("numbers_of-1.2.post1+local.x-cp311-abi3-"), name)
    inside = contents(folder / name)
    about = "numbers_of-1.2.post1+local.x.dist-info"
    checks.expect("its metadata", inside[f"{about}/METADATA"].decode() == OWN_METADATA, inside[f"{about}/METADATA"].decode())
    checks.expect("its commands", inside[f"{about}/entry_points.txt"] == b"[console_scripts]\nnumbers-of = numbers_of.main:main\n", list(inside))
    checks.expect("its folders", {name.partition("/")[0] for name in inside} == {"numbers_of", about}, list(inside))
    checks.expect("its data", inside["numbers_of/table.csv"] == b"1\n" and inside["numbers_of/data/more.bin"] == b"2", list(inside))
    checks.expect("its licences", inside[f"{about}/licenses/COPYING"] == b"Do it.\n" and f"{about}/licenses/licenses/kernelc.txt" in inside, list(inside))
    succeed("pip installs it", sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", folder / "own-site", folder / name)
    ran = call(folder / "own-site/bin/numbers-of", env={"PYTHONPATH": str(folder / "own-site"), "PATH": "/usr/bin"})
    checks.expect("the command runs", ran.stdout == "main\n", ran.stderr)

    name = succeed("an archive of the sources", sys.executable, "-c", build.format("build_sdist"), folder, cwd=own).strip()
    whole = "numbers_of-1.2.post1+local.x"
    with tarfile.open(folder / name) as archive:
        names = archive.getnames()
    shutil.unpack_archive(folder / name, folder / "unpacked")
    checks.expect("what it contains", {f"{whole}/{part}" for part in ("PKG-INFO", "pyproject.toml", "backend.py", "tests/test_it.py", "licenses/kernelc.txt", "numbers_of/table.csv")} <= set(names)
                  and not any("venv" in name or "__pycache__" in name for name in names), names)
    succeed("pip makes a wheel of it", sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "-w", folder / "dist", folder / "unpacked" / whole)

    for given, normal in VERSIONS.items():
        said = succeed(given, sys.executable, "-c", "import sys, backend; print(backend._version(sys.argv[1]))", given, cwd=own)
        checks.expect(f"{given} is {normal}", said == normal + "\n", said)
    for change, says in {('version = "v1.2', 'version = "one.2'): "is not a version", ("keywords", "key-words"): "does not know the field 'key-words'",
                         ('"COPYING"', '"COPY"'): "no file matches 'COPY'", ("Operating System ::", "License ::"): "no classifier may begin with"}.items():
        (own / "pyproject.toml").write_text(OWN_PROJECT.replace(*change))
        ran = call(sys.executable, "-c", build.format("build_wheel"), folder, cwd=own)
        checks.expect(f"refused: {change[1]}", ran.returncode != 0 and says in ran.stderr, ran.stderr)


def check_installed(folder):
    """`cmake --install` installs what --emit python needs."""
    build = PACKAGE.parents[1]
    if not (build / "CMakeCache.txt").exists():
        return checks.skip("an installation", "this is not a build folder")
    # The component contains what other targets build, which need not be there.
    prefix = folder / "prefix"
    succeed("the package is installed", "cmake", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_COMPONENT=kernelc", "-P", build / "runtime/python/cmake_install.cmake")
    (prefix / "bin").mkdir()
    shutil.copy2(build / "bin/kernelc", prefix / "bin/kernelc")
    succeed("an installed kernelc writes a project", prefix / "bin/kernelc", "build", "numbers_of.kdl", "--emit", "python", "-o", "installed", cwd=folder)
    same = {str(file.relative_to(folder / "project")) for file in (folder / "project").rglob("*")} == {str(file.relative_to(folder / "installed")) for file in (folder / "installed").rglob("*")}
    checks.expect("it is the same project", same, list((folder / "installed").rglob("*")))


def main():
    if not (PACKAGE / "_core.abi3.so").exists():
        print("the build has no Python package")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "numbers_of.kdl").write_text(KERNELS)
        succeed("the project is written", "kernelc", "build", "numbers_of.kdl", "--emit", "python", "-o", "project", cwd=folder)
        succeed("pip makes a wheel", sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "-w", "dist", "./project", cwd=folder)
        wheels = list((folder / "dist").glob("numbers_of-0.1.0-cp311-abi3-manylinux_2_*.whl"))
        checks.expect("the wheel has a tag", len(wheels) == 1, list(folder.glob("dist/*")))
        if not wheels:
            return checks.end()
        check_licences(wheels[0])
        check_own_project(folder)
        check_installed(folder)
        site = folder / "site"
        succeed("pip installs it", sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheels[0])
        alone = {"PATH": "/nowhere", "PYTHONPATH": str(site), "HOME": name}
        shown = succeed("the kernels run", sys.executable, "-c", USE, env=alone)
        checks.expect("a kernel is shown", shown == "<kernel scale(a: f32, x: in f32|f64[M, N], y: out f32|f64[M, N])>\n", shown)
        succeed("schemas of PyTorch", sys.executable, "-c", SCHEMAS, env=alone)
        (folder / "use.py").write_text(TYPES)
        told = call("/usr/bin/python3", "-m", "mypy", "--strict", "--cache-dir", os.devnull, "use.py", cwd=folder, env={"MYPYPATH": str(site), "PATH": "/usr/bin"})
        checks.expect("mypy: other lines are right", not re.search(r"use\.py:([789]|11|12|13|15|16|17|18):", told.stdout), told.stdout)
        for part in ("use.py:14: error: ", "use.py:19: error: ", 'use.py:10: error: Argument "n" to "__call__"', "use.py:3: note: Revealed type", "use.py:4: error: Missing positional argument", 'use.py:5: error: Argument 1 to "__call__"',
                     'use.py:6: error: Module has no attribute "nothing"'):
            checks.expect(f"mypy: {part}", part in told.stdout, told.stdout + told.stderr)
        if call(sys.executable, "-c", "import torch").returncode != 0:
            checks.skip("operators of PyTorch", "PyTorch is not installed")
        else:
            for what, text in {"operators of PyTorch": TORCH, "PyTorch's graphs, derivatives and tensors": GRAPHS}.items():
                succeed(what, sys.executable, "-c", text, env=dict(os.environ, PYTHONPATH=str(site)))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
