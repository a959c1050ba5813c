#!/usr/bin/env python3
"""Prints a table of the kernels of the library: the share of the machine's ceiling that each reaches, and PyTorch's time divided by ours.

Times are processor time on one thread. Both sides alternate in one process on the same arrays, and must agree. A share is that of
`kernelc bench`, which measures the machine's rates of arithmetic and of memory in the same trials."""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import types

STDLIB = pathlib.Path(__file__).resolve().parents[3] / "stdlib"
LEAST = 0.9  # rows whose ratio is below are listed after the table
SCALAR_TYPES = ("f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool", "bf16", "f8e4m3", "f8e5m2", "f8e8m0")


def defines_of(row):
    return dict(word.split("=", 1) for word in row.defines.split(",") if word)


def label(row):
    words = [value for name, value in defines_of(row).items() if value in SCALAR_TYPES or not value.isdigit()]
    return f"{row.kernel}<{', '.join(words)}>" if words else row.kernel


def sizes_text(row):
    return " ".join(f"{name}={size}" for name, size in row.sizes.items())


def source_of(row):
    """Returns the text of the kernel from its parameters on."""
    file, name = row.kernel.split(".")
    return re.search(rf"^export kernel {name}\b.*?(?=^export |^///|\Z)", (STDLIB / f"{file}.kdl").read_text(), re.MULTILINE | re.DOTALL)[0]


def signature_of(row):
    """Returns the parameters of a kernel, with sizes, in one line."""
    text = " ".join(source_of(row).split("{")[0].split())
    return text[text.rindex("(", 0, re.search(r"\b\w+: (in|out|inout) ", text).start()):]


def contract_of(row):
    """Returns the equations of a kernel's contract for its outputs, in one line."""
    text = re.search(r"\nensures \{(.*?)\n?\}\s*$", source_of(row), re.DOTALL)[1]
    return "; ".join(" ".join(part.split()) for part in text.split(";") if "~" in part or "==[" in part or "== [" in part)


class Ours:
    """A kernel of the library with its arguments."""

    def __init__(self, row, kernelc, torch):
        file, name = row.kernel.split(".")
        module = kernelc.compile(STDLIB / f"{file}.kdl", kernel=name, device="host?threads=1", defines=defines_of(row))
        self.kernel = getattr(module, name)
        sizes = {**row.sizes, **{f"{size}..": [value] for size, value in row.sizes.items()}, **constants(row)}
        self.arguments = {}
        counts = {parameter.counted_by for parameter in self.kernel.parameters}
        for parameter in self.kernel.parameters:
            if parameter.name in row.scalars:
                self.arguments[parameter.name] = row.scalars[parameter.name]
            elif parameter.direction and parameter.name not in counts and not (parameter.counted_by and parameter.direction == "out"):
                shape = kernelc.arrays.sizes_of(parameter.shape, sizes)
                self.arguments[parameter.name] = self.made(row, parameter, shape, kernelc, torch)
        self.outputs = [parameter.name for parameter in self.kernel.parameters if parameter.direction in ("out", "inout")]

    @staticmethod
    def made(row, parameter, shape, kernelc, torch):
        if parameter.name in row.draw:
            return row.draw[parameter.name](tuple(shape))
        dtype = getattr(torch, kernelc.arrays.NAMES[parameter.element])
        if parameter.direction == "out":
            return torch.zeros(shape, dtype=dtype)
        return torch.randn(shape).to(dtype) if dtype.is_floating_point else torch.randint(1, 100, tuple(shape)).to(dtype)

    def call(self):
        """Returns a call without arguments."""
        if len(self.arguments) == len(self.kernel.parameters):
            values = list(self.arguments.values())
            return lambda: self.kernel(*values)
        return lambda: self.kernel(**self.arguments)

    def results(self, returned):
        """Returns the outputs after a call."""
        made = list(returned) if isinstance(returned, tuple) else [returned]
        return [self.arguments[name] if name in self.arguments else made.pop(0) for name in self.outputs if name in self.arguments or made]


def constants(row):
    return {name: int(value) for name, value in defines_of(row).items() if value.isdigit()}


def difference(ours, theirs, torch):
    """Returns what is wrong with our outputs, or an empty string."""
    for mine, other in zip(ours, theirs if isinstance(theirs, tuple) else [theirs]):
        mine, other = mine.flatten().double(), other.flatten().double()
        if mine.shape != other.shape:
            return f"{len(mine)} elements instead of {len(other)}"
        scale = max(1.0, float(other.abs().nan_to_num().max())) if len(other) else 1
        if not torch.allclose(mine, other, rtol=2e-2 if ours[0].element_size() < 4 else 1e-3, atol=2e-4 * scale, equal_nan=True):
            return f"off by {float((mine - other).abs().max()):.1e}"
    return ""


def compared(row, ours, options, torch):
    """Returns (our time, PyTorch's time divided by it, its spread), or what is wrong."""
    given = types.SimpleNamespace(**{name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in ours.arguments.items()})
    run = ours.call()
    returned = run()
    if row.peer is None:
        times = [alternate([run], 1, options.trials, options.seconds)[0]]
        return statistics.median(times[0]), None, None
    theirs = row.peer(given)
    if not row.random and (wrong := difference(ours.results(returned), theirs, torch)):
        return f"WRONG: {wrong}"
    mine, peer = alternate([run, lambda: row.peer(given)], 1, options.trials, options.seconds)
    quotients = [their / our for their, our in zip(peer, mine)]
    low, middle, high = statistics.quantiles(quotients, n=4, method="inclusive")
    return statistics.median(mine), middle, (high - low) / middle


def share_of(row, options):
    """Returns the share of the ceiling that `kernelc bench` measures. Where it does not count the operations, it is that of the memory."""
    file, name = row.kernel.split(".")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.json"
        words = [f"--set={size}={value}" for size, value in row.sizes.items()]
        words += [f"--arg={key}={str(value).lower()}" for key, value in row.scalars.items()]
        words += [f"--define={word}" for word in row.defines.split(",") if word]
        run = subprocess.run([options.kernelc, "bench", STDLIB / f"{file}.kdl", "--kernel", name, "--threads", "1", "--trials", "5", "--seconds", "3",
                              f"--json={out}", *words], capture_output=True, text=True)
        if run.returncode != 0:
            return None, run.stderr.strip().splitlines()[0] if run.stderr.strip() else "kernelc bench fails"
        rows = json.loads(out.read_text())
    found = min(rows["rows"] if "rows" in rows else rows, key=lambda one: len(one["kernel"]))  # the others lack optional parameters
    if found["ceiling"] is not None:
        return found["ceiling"], "arithmetic or memory"
    return (found["bytes"] / found["bandwidth"] / found["median"], "memory") if found["bandwidth"] else (None, "no bytes")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only rows whose `kernel<types> sizes` contains this")
    parser.add_argument("--trials", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=4, help="fewer trials, 3 at least, where a row would take longer")
    parser.add_argument("--markdown", type=pathlib.Path, help="writes the table, with signatures and contracts, to this file")
    parser.add_argument("--kernelc", default=shutil.which("kernelc"), help="default: %(default)s")
    return parser.parse_args()


def main():
    options = parse()
    sys.path.insert(0, str(pathlib.Path(options.kernelc).resolve().parents[1] / "python"))
    os.environ["KERNELC"] = options.kernelc
    import kernelc
    import kernelc.arrays
    import torch
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    lines, below, faults = [], [], []
    print(f"PyTorch {torch.__version__} ({torch.backends.cpu.get_cpu_capability()}), load {os.getloadavg()[0]:.1f}")
    print(f"{'kernel':44} {'sizes':34} {'ours, us':>10} {'share':>6} {'PyTorch':>8} {'spread':>7}")
    for row in STD_ROWS:
        name = label(row)
        if options.filter not in f"{name} {sizes_text(row)}":
            continue
        try:
            found = compared(row, Ours(row, kernelc, torch), options, torch)
        except Exception as error:  # one row must not end the table
            found = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        if isinstance(found, str):
            faults.append(name)
            print(f"{name:44} {sizes_text(row):34} {found}", flush=True)
            continue
        took, ratio, spread = found
        share, bound = share_of(row, options)
        texts = [f"{took * 1e6:.1f}", f"{share:.2f}" if share else "-", f"{ratio:.2f}" if ratio else "-", f"{spread:.0%}" if ratio else "-"]
        print(f"{name:44} {sizes_text(row):34} {texts[0]:>10} {texts[1]:>6} {texts[2]:>8} {texts[3]:>7}{'' if share else '  ' + bound}", flush=True)
        lines.append([f"`{name}`", sizes_text(row), f"`{signature_of(row)}`", f"`{contract_of(row)}`", *texts[1:3]])
        below += [f"{name} {sizes_text(row)}: {ratio:.2f}, {f'{share:.0%}' if share else 'an unknown part'} of the ceiling"] if ratio and ratio < LEAST else []
    against = [line for line in lines if line[-1] != "-"]
    print(f"{len(lines)} rows, {len(against)} with a counterpart in PyTorch, {len(below)} of them below {LEAST}, {len(faults)} faults")
    print("".join(f"below: {line}\n" for line in below), end="")
    if options.markdown:
        rows = [["kernel", "sizes", "signature", "contract", "share", "PyTorch"], ["---"] * 6, *([cell.replace("|", "\\|") for cell in line] for line in lines)]
        options.markdown.write_text("".join(f"| {' | '.join(row)} |\n" for row in rows))
    return 1 if faults else 0


if __name__ == "__main__":
    from compare import alternate
    from std_rows import STD_ROWS
    sys.exit(main())
