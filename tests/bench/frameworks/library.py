"""Loads a .kdl file as a shared library, whose kernels are called with named parameters."""
import ctypes
import pathlib
import re
import subprocess

INCLUDE = pathlib.Path(__file__).resolve().parents[3] / "include"
SCALARS = {"float": ctypes.c_float, "double": ctypes.c_double, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32}
DECLARATION = re.compile(r"^kdl_error\* (\w+)\((.*?)\);", re.MULTILINE | re.DOTALL)


class Library:
    """A shared library. It is opened once for each requested number of threads, and stays loaded until the
    process ends."""

    def __init__(self, options, row, folder):
        source = options.kernels / row.file
        self.module = "_".join([source.stem, *(word.replace("=", "") for word in row.defines)])
        out = folder / self.module
        subprocess.run([options.kernelc, "build", source, "--module", self.module, "--emit", "header,c,obj",
                        "--target", options.target, *(word for define in row.defines for word in ("-D", define)), "-o", out],
                       check=True)
        runtime = options.kernelc.parents[1] / "lib"
        shared = out / f"{self.module}.so"
        subprocess.run(["cc", "-std=c11", "-O2", "-fPIC", "-shared", "-I", INCLUDE, out / f"{self.module}.c", *out.glob("*.o"),
                        "-L", runtime, f"-Wl,-rpath,{runtime}", "-lkdl", "-o", shared], check=True)
        self.library = ctypes.CDLL(str(shared))
        self.declared = dict(DECLARATION.findall((out / f"{self.module}.h").read_text()))
        self.opened = {}

    def function(self, name, values, threads):
        """Returns a repeatable call of the kernel with these sizes, arrays and scalars."""
        name = f"{self.module}_{name}"
        call = self.library[name]
        call.restype = ctypes.c_void_p
        words = [parameter.replace("*", "* ").split() for parameter in self.declared[name].split(",")]
        # Names that could be macros, such as OH, have a `_` appended in the header.
        arguments = [self.open(threads), *(self.argument(parameter, values[parameter[-1].rstrip("_")]) for parameter in words[1:])]

        def run():
            if call(*arguments):
                raise RuntimeError(f"{name} failed")

        return run

    @staticmethod
    def argument(parameter, value):
        kind = parameter[-2]
        return ctypes.c_void_p(value.ctypes.data) if kind.endswith("*") else SCALARS[kind](value)

    def open(self, threads):
        if threads not in self.opened:
            kernels = ctypes.c_void_p()
            opener = self.library[f"{self.module}_open"]
            opener.restype = ctypes.c_void_p
            if opener(None, f"host?threads={threads}".encode(), ctypes.byref(kernels)):
                raise RuntimeError(f"{self.module} cannot be opened on {threads} threads")
            self.opened[threads] = kernels
        return self.opened[threads]
