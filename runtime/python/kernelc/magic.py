"""The cell magic `%%kernelc` for Jupyter and IPython: a cell of KDL, whose kernels become functions of the notebook."""

from __future__ import annotations

import argparse
import importlib
import keyword
import shlex
from typing import Any, NoReturn

from .errors import ArgumentError
from .module import compile


class _Parser(argparse.ArgumentParser):
    """Raises errors instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise _usage_error()(f"%%kernelc: {message}")


def _usage_error() -> type[Exception]:
    """Returns the exception that IPython shows without a traceback."""
    try:
        error: type[Exception] = importlib.import_module("IPython.core.error").UsageError
    except ImportError:
        return ArgumentError
    return error


def _name(word: str) -> str:
    if not word.isidentifier() or keyword.iskeyword(word):
        raise argparse.ArgumentTypeError(f"'{word}' is not a name of Python")
    return word


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="%%kernelc", description="Compiles the cell and defines its kernels.", add_help=False)
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME=VALUE,...", help="values of a generic parameter")
    parser.add_argument("-O", dest="opt_level", type=int, metavar="LEVEL", help="the optimization level, 0 to 3")
    parser.add_argument("--device", default="host", metavar="SPEC", help="where the kernels run")
    parser.add_argument("--module", type=_name, metavar="NAME", help="defines only this name, for the module of all kernels")
    return parser


def run_cell(namespace: dict[str, Any], line: str, cell: str) -> None:
    """Compiles a cell, and adds its kernels to the namespace. Raises CompileError, so that the cells after it do not run with
    kernels of earlier runs."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise _usage_error()(f"%%kernelc: {error}") from None
    options = _parser().parse_args(words)
    defines = {name: values.split(",") for name, _, values in (word.partition("=") for word in options.defines)}
    # The text begins in line 2 of the cell, whose first line is the magic itself.
    module = compile("\n" + cell, device=options.device, defines=defines, opt_level=options.opt_level)
    if options.module:
        namespace[options.module] = module
    else:
        namespace.update({kernel.name: kernel for kernel in module})


def load(ipython: Any) -> None:
    """Registers the magic: `%load_ext kernelc` calls this."""
    def kernelc(line: str, cell: str) -> None:
        run_cell(ipython.user_ns, line, cell)

    kernelc.__doc__ = _parser().format_help()
    ipython.register_magic_function(kernelc, "cell", "kernelc")
