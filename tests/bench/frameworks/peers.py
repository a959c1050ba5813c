"""Implementations of a row's work in other libraries. Each prepares a call on the row's arrays, or returns
None if it does not support the work."""
import contextlib
import ctypes
import importlib
import importlib.metadata
import os
import re
import tempfile

import numpy

import iree_text

MKL_CALL = re.compile(r"MKL_VERBOSE (\w+)\(")


class Peer:
    """A library to compare with. `found` is called once, then `prepare` for each row. `unit` returns the name
    of the implementation that a prepared call uses."""

    name = ""
    modules = ()

    def found(self):
        """Returns this peer with its version, or None if its modules cannot be imported."""
        try:
            self.library, *self.others = (importlib.import_module(name) for name in self.modules)
        except ImportError:
            return None
        self.version = self.library.__version__
        return self

    def unit(self, call):
        raise NotImplementedError


class NumPy(Peer):
    """Runs NumPy's function for the row's work, if there is one. An environment variable sets NumPy's number
    of threads, so this peer runs only with one thread."""

    name = "numpy"
    modules = ("numpy",)
    WORK = {
        "product": numpy.matmul,
        "matvec": numpy.matmul,
        "row_sum": lambda x, out: numpy.sum(x, 1, out=out),
        "column_sum": lambda x, out: numpy.sum(x, 0, out=out),
    }

    def prepare(self, row, arrays, threads):
        work = self.WORK.get(row.work)
        if work is None or row.dtype != "f32" or threads != 1:
            return None
        *inputs, output = arrays.values()
        mine = numpy.empty_like(output)
        return lambda: work(*inputs, out=mine)

    def unit(self, call):
        return "its own loops or BLAS"


class PyTorch(Peer):
    name = "pytorch"
    modules = ("torch",)

    def work(self, row, inputs):
        torch = self.library
        functional = torch.nn.functional
        match row.work:
            case "product":
                return (lambda a, b: torch._int_mm(a, b)) if row.dtype == "i8" else torch.mm
            case "matvec":
                return torch.mv
            case "attention":
                return functional.scaled_dot_product_attention
            case "decode":  # one batch, one query for each head
                q, k, v = inputs
                inputs[:] = q[None, :, None], k[None], v[None]
                return functional.scaled_dot_product_attention
            case "conv":
                return lambda x, w: functional.conv2d(x, w, padding=1)
            case "row_sum":
                return lambda x: x.sum(1)
            case "column_sum":
                return lambda x: x.sum(0)
            case "softmax":
                return lambda x: functional.softmax(x, 1)
            case "layernorm":
                return lambda x, scale, shift: functional.layer_norm(x, scale.shape, scale, shift, 1e-5)
        return None

    def prepare(self, row, arrays, threads):
        torch = self.library
        torch.set_grad_enabled(False)
        torch.set_num_threads(threads)
        inputs = [torch.from_numpy(array) for array in list(arrays.values())[:-1]]
        if row.dtype == "bf16":
            inputs = [tensor.view(torch.bfloat16) for tensor in inputs]
        work = self.work(row, inputs)
        return work and (lambda: work(*inputs))

    def unit(self, call):
        """Returns the name that oneDNN or MKL gives to the implementation that ran. If PyTorch's own loops
        ran, returns their processor level."""
        torch = self.library
        with told() as lines, torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON), \
                torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON):
            call()
        for line in lines:
            words = line.split(",")
            if "exec" in words:
                _, primitive, implementation = words[words.index("exec") + 1:][:3]
                return f"onednn {implementation or primitive}"
            if function := MKL_CALL.match(line):
                return f"mkl {function[1]}"
        return f"aten {torch.backends.cpu.get_cpu_capability()}"


@contextlib.contextmanager
def told():
    """Collects the lines that the process writes to its standard output inside the `with` block, including
    output from C code."""
    lines = []
    flush = ctypes.CDLL(None).fflush
    flush(None)
    before = os.dup(1)
    with tempfile.TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lines
        finally:
            flush(None)
            os.dup2(before, 1)
            os.close(before)
            file.seek(0)
            lines.extend(file.read().splitlines())


class Iree(Peer):
    """Compiles programs in IREE's linalg dialect for this processor. Results stay in IREE's memory."""

    name = "iree"
    modules = ("iree.runtime", "iree.compiler")
    ELEMENTS = {"f32": "FLOAT_32", "bf16": "BFLOAT_16", "i8": "INT_8"}

    def found(self):
        try:
            self.runtime, self.compiler = (importlib.import_module(name) for name in self.modules)
        except ImportError:
            return None
        self.version = importlib.metadata.version("iree-base-runtime")
        self.devices = {}
        return self

    def prepare(self, row, arrays, threads):
        text = iree_text.program(row)
        if text is None:
            return None
        compiled = self.compiler.compile_str(text, target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=host"])
        config = self.config(threads)
        context = self.runtime.SystemContext(config=config)
        context.add_vm_module(self.runtime.VmModule.copy_buffer(context.instance, compiled))
        work = context.modules.module["main"]
        inputs = [self.view(config.device, row, array) for array in list(arrays.values())[:-1]]
        return lambda: work(*inputs)

    def config(self, threads):
        """Returns the driver for this number of threads. With one thread, the caller's thread does the work.
        Drivers read their flags when the first device is created."""
        if threads not in self.devices:
            if threads > 1:
                self.runtime.flags.parse_flags(f"--task_topology_max_group_count={threads}")
            self.devices[threads] = self.runtime.Config("local-sync" if threads == 1 else "local-task")
        return self.devices[threads]

    def unit(self, call):
        return "llvm-cpu for this processor"

    def view(self, device, row, array):
        runtime = self.runtime
        return device.allocator.allocate_buffer_copy(
            memory_type=runtime.MemoryType.DEVICE_LOCAL, allowed_usage=runtime.BufferUsage.DEFAULT, device=device,
            buffer=numpy.ascontiguousarray(array), element_type=getattr(runtime.HalElementType, self.ELEMENTS[row.dtype]))


PEERS = {peer.name: peer for peer in (PyTorch(), Iree(), NumPy())}
