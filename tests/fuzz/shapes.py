#!/usr/bin/env python3
"""Random kernels with packs of dimensions (`packs.py`), called from Python with random shapes and views. Results equal those of copies
without gaps, bit for bit, on several devices and numbers of cores. A call may fail only because more groups of dimensions have gaps
between them than there can be.

tests/fuzz/shapes.py --kernels 200            # any number of kernels
tests/fuzz/shapes.py --kernels 1 --first SEED # repeats one
"""

import argparse
import pathlib
import shutil
import sys
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python"))
import kernelc  # noqa: E402
from files import File  # noqa: E402
from packs import PACKS  # noqa: E402
from tree import text  # noqa: E402

KINDS = {"f16": "f2", "f32": "f4", "f64": "f8", **{f"{sign}{8 * size}": f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8)}}
SIZES = [0, 1, 2, 3, 5, 17]
MOST = 4000  # elements of a pack
DEVICES = ["host", "host?isa=x86-64-v2", "debug"]
CALLS = 6  # of each kernel


class PackFile(File):
    """The kernel with packs of a seed."""

    def __init__(self, seed):
        super().__init__(seed)
        self.generics, self.alone = [], True
        self.tree = text("export ", self.packs("k"))


class Call:
    def __init__(self, kernel, random):
        self.kernel, self.random = kernel, random
        self.shapes = {"P": self.shape(), "Q": self.shape(), "C": [int(random.choice(SIZES))]}

    def shape(self):
        """Returns the dimensions of a pack."""
        shape = []
        for _ in range(self.random.integers(0, 5)):
            size = int(self.random.choice(SIZES))
            shape.append(size if size * max(np.prod(shape, dtype="i8"), 1) <= MOST ** 0.5 else 1)
        return shape

    def of(self, tensor):
        """Returns the shape of a tensor, which may have to be repeated."""
        shape = []
        for dim in tensor.dims:
            part = self.shapes[dim]
            if dim in PACKS and tensor.strides == "broadcast ":
                part = [size if self.random.random() < 0.6 else 1 for size in part]
                if tensor.dims[0] == dim and self.random.random() < 0.5:
                    part = part[int(self.random.integers(0, len(part) + 1)):]
            shape += part
        return shape

    def whole(self, tensor):
        return [size for dim in tensor.dims for size in self.shapes[dim]]

    def view(self, tensor):
        """Returns an array. The elements of a `strided` one are anywhere in memory."""
        shape, kind = self.of(tensor), KINDS[tensor.type]
        if not tensor.strides:
            return self.random.integers(0, 100, shape).astype(kind)
        order = self.random.permutation(len(shape))
        steps, more = self.random.integers(1, 3, len(shape)), self.random.integers(0, 3, len(shape))
        whole = self.random.integers(0, 100, [shape[i] * steps[i] + more[i] for i in order]).astype(kind)
        moved = whole.transpose(np.argsort(order))
        return moved[(*(slice(m, m + n * s, s) for m, n, s in zip(more, shape, steps)), ...)]

    def repeated(self, tensor, array):
        """Returns a copy without gaps, repeated to the dimensions of its packs."""
        shape = list(array.shape)
        at = next((d for d, dim in enumerate(tensor.dims) if dim in PACKS), 0)
        missing = len(self.whole(tensor)) - len(shape)
        return np.array(np.broadcast_to(array.reshape(shape[:at] + [1] * missing + shape[at:]), self.whole(tensor)), order="C")

    def ranks(self):
        """The ranks of packs, which are stated even if the arrays determine them."""
        used = {dim for tensor in self.kernel.tensors for dim in tensor.dims}
        return {f"rank_{pack}": len(self.shapes[pack]) for pack in PACKS if pack in used}


def bits(array):
    """Returns the bytes of the elements. All NaNs are the same, because their sign and payload have no meaning."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return np.ascontiguousarray(array).tobytes()


def fault(kernel, modules, random):
    """Calls the kernel with random arrays. Returns what is wrong, or None."""
    call = Call(kernel, random)
    arrays = [call.view(tensor) for tensor in kernel.tensors]
    ranks = call.ranks()
    if any(len(call.whole(tensor)) > 8 for tensor in kernel.tensors):
        return None
    wanted = [call.repeated(tensor, array) for tensor, array in zip(kernel.tensors, arrays)]
    modules[DEVICES[0]].k(*wanted, **ranks)
    for device, module in modules.items():
        cores = int(random.integers(1, 5))
        given = [array.copy(order="K") if array.base is None else array for array in arrays]
        before = [array.copy() for array in given]
        try:
            module.k[cores](*given, **ranks)
        except kernelc.ArgumentError as error:
            if "groups of its dimensions" not in str(error):
                return f"{device}: {error} for {[(array.shape, array.strides) for array in given]}, {ranks}"
            continue
        for tensor, array, right in zip(kernel.tensors, given, wanted):
            if tensor.direction != "in" and bits(array) != bits(right):
                return f"{device}: another {tensor.name} for {[(array.shape, array.strides) for array in given]}, {ranks}, {cores} cores"
        for array, old in zip(given, before):
            array[...] = old
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=100, help="how many kernels (default: 100)")
    parser.add_argument("--first", type=int, default=1, help="the first one's seed (default: 1)")
    parser.add_argument("--device", action="append", default=[], help="another device, such as opencl")
    options = parser.parse_args()
    failed = 0
    warnings.simplefilter("ignore", kernelc.CompileWarning)
    for seed in range(options.first, options.first + options.kernels):
        kernel = PackFile(seed)
        random = np.random.default_rng(seed)
        try:
            modules = {device: kernelc.compile(str(kernel.tree), device=device) for device in DEVICES + options.device}
            wrong = next(filter(None, (fault(kernel, modules, random) for _ in range(CALLS))), None)
        except kernelc.Error as error:
            wrong = str(error)
        if wrong:
            failed += 1
            print(f"seed {seed}: {wrong}\n{kernel.tree}", flush=True)
    print(f"{options.kernels - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
