"""The cell magic `%%kernelc` for Jupyter and IPython: a cell of KDL, whose kernels become functions of the notebook."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

from .errors import CompileError, coloured
from .module import compile


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="%%kernelc", description="Compiles the cell and defines its exported kernels.", add_help=False)
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME=VALUE,...", help="values of a generic parameter")
    parser.add_argument("-O", dest="opt_level", type=int, metavar="LEVEL", help="the optimization level, 0 to 3")
    parser.add_argument("--device", default="host", metavar="SPEC", help="where the kernels run")
    parser.add_argument("--module", metavar="NAME", help="defines only this name, for the module of all kernels")
    return parser


def run_cell(namespace: dict[str, Any], line: str, cell: str, has_colours: bool) -> None:
    """Compiles a cell, and adds its kernels to the namespace. Errors are printed: they are about the cell, not about Python code."""
    try:
        options = _parser().parse_args(shlex.split(line))
    except (SystemExit, ValueError):  # the parser has printed what is wrong
        return
    defines = {name: values.split(",") for name, _, values in (word.partition("=") for word in options.defines)}
    try:
        # The text begins in line 2 of the cell, whose first line is the magic itself.
        module = compile("\n" + cell, device=options.device, defines=defines, opt_level=options.opt_level)
    except CompileError as error:
        print(coloured(str(error)) if has_colours else error, file=sys.stderr)
        return
    if options.module:
        namespace[options.module] = module
    else:
        namespace.update({kernel.name: kernel for kernel in module})


def load(ipython: Any) -> None:
    """Registers the magic: `%load_ext kernelc` calls this."""
    def kernelc(line: str, cell: str) -> None:
        run_cell(ipython.user_ns, line, cell, getattr(ipython, "colors", "NoColor").casefold() != "nocolor")

    kernelc.__doc__ = _parser().format_help()
    ipython.register_magic_function(kernelc, "cell", "kernelc")
