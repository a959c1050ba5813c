"""Runs the Python side of a problem of a suite, for `kernelc bench --suite` and `kernelc test --suite`.

    python3 peer.py FOLDER inputs         # draws the arguments and computes the results to compare with
    python3 peer.py FOLDER time BASELINE  # measures a baseline on these arguments

FOLDER contains request.json. Writes answer.json, and arrays as .npy files, to FOLDER.
"""

import ctypes
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import signal
import sys
import time
import traceback
import types

import numpy

PR_SET_PDEATHSIG = 1
TRIAL = 2e-3  # minimum seconds of a trial
WIDER = {"float16": numpy.float64, "float32": numpy.float64, "float64": numpy.longdouble}
TYPES = {"bool": numpy.bool_, **{f"{kind[0]}{bits}": numpy.dtype(f"{kind}{bits}")
                                 for kind, widths in {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64)}.items()
                                 for bits in widths}}


class Distributions:
    """The functions that an argument may name, such as `uniform(0, 1)`."""

    def __init__(self, rng, shape, dtype):
        self.rng, self.shape, self.dtype = rng, shape, dtype

    def uniform(self, low=-1.0, high=1.0):
        return self.rng.uniform(low, high, self.shape)

    def normal(self, mean=0.0, deviation=1.0):
        return self.rng.normal(mean, deviation, self.shape)

    def integers(self, low, high):
        """Whole numbers from `low` to `high - 1`."""
        return self.rng.integers(low, high, self.shape)

    def permutation(self):
        return self.rng.permutation(int(numpy.prod(self.shape))).reshape(self.shape)

    def constant(self, value):
        return numpy.full(self.shape, value)

    def iota(self, step=1):
        return numpy.arange(int(numpy.prod(self.shape))).reshape(self.shape) * step

    def default(self):
        """Values for an argument without a distribution. Uniform numbers from -1 to 1 would be true as bool, and 0 as integers."""
        kind = numpy.dtype(self.dtype).kind
        return self.integers(0, 2) if kind == "b" else self.uniform() if kind == "f" else self.integers(0 if kind == "u" else -100, 101)

    def names(self):
        return {name: getattr(self, name) for name in ("uniform", "normal", "integers", "permutation", "constant", "iota")}


def load(path):
    sys.path.insert(0, str(pathlib.Path(path).parent))
    spec = importlib.util.spec_from_file_location("peers_of_suite", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Problem:
    def __init__(self, folder):
        self.folder = folder
        self.request = json.loads((folder / "request.json").read_text())
        self.sizes = self.request["sizes"]
        self.arguments = self.request["arguments"]
        self.module = load(self.request["peers"])

    def fail(self, key, message):
        """Ends this process with an error at the line of the suite that has the key. The message becomes one line."""
        lines = self.request["lines"]
        told = " ".join(line.strip() for line in message.splitlines())
        sys.exit(f"{self.request['suite']}:{lines.get(key) or lines['name']}: {told}")

    def evaluated(self, argument, text, names):
        """Returns the value of an expression in an argument of the suite."""
        try:
            return eval(text, {"__builtins__": {}, **names}, self.sizes)
        except Exception as error:
            self.fail(f"arguments.{argument['name']}", f"'{text}': {error}")

    def function(self, suffix=""):
        return getattr(self.module, self.request["peer"] + suffix, None)

    def named(self, key):
        """Returns the function of the peers that a key of the problem names."""
        name = self.request[key]
        if not hasattr(self.module, name):
            self.fail(key, f"{self.request['peers']} has no function '{name}'")
        return getattr(self.module, name)

    def shape(self, argument):
        return tuple(int(self.evaluated(argument, size, {})) for size in argument["shape"])

    def draw(self):
        """Returns the arguments before the run, in their own types, without the outputs."""
        rng = numpy.random.default_rng(self.request["seed"])
        drawn = {}
        if self.request["draw"]:
            drawn = self.called("draw", self.named("draw"), rng, **self.sizes)
            read = [argument["name"] for argument in self.arguments if argument["direction"] != "out"]
            if not isinstance(drawn, dict) or not set(drawn) <= set(read):
                self.fail("draw", f"{self.request['draw']} must return a dictionary whose keys are some of: {', '.join(read)}")
        values = {}
        for argument in self.arguments:
            name, dtype = argument["name"], TYPES[argument["type"]]
            if argument["direction"] == "out":
                continue
            shape = self.shape(argument)
            distributions = Distributions(rng, shape, dtype)
            value = drawn.get(name)
            if value is None and argument["fill"]:
                value = self.evaluated(argument, argument["fill"], {**distributions.names(), "pi": numpy.pi})
            elif value is None:
                value = distributions.default()
            values[name] = numpy.ascontiguousarray(value, dtype) if argument["tensor"] else numpy.dtype(dtype).type(value)
            if not argument["tensor"] and values[name].dtype.kind in "biu" and values[name] != value:
                self.fail(f"arguments.{name}", f"'{name}' is {value}, which {argument['type']} cannot represent")
            if argument["tensor"] and values[name].shape != shape:
                self.fail(f"arguments.{name}", f"'{name}' has the shape {values[name].shape}, not {shape}")
        return values

    def outputs(self):
        return [argument for argument in self.arguments if argument["direction"] != "in"]

    def call(self, function, values, wide=False):
        """Returns a call of the function and what it returns, as a list of the outputs."""
        given = {}
        for name in inspect.signature(function).parameters:
            out = next((a for a in self.outputs() if a["name"] == name and a["direction"] == "out"), None)
            if out:
                dtype = numpy.dtype(TYPES[out["type"]])
                given[name] = numpy.zeros(self.shape(out), WIDER.get(dtype.name, dtype) if wide else dtype)
            elif name in values:
                given[name] = values[name].copy()
            elif name in self.sizes:
                given[name] = self.sizes[name]
            else:
                self.fail("peer", f"the parameter '{name}' of {self.request['peer']} is neither an argument nor a size of the problem")
        positions = list(given.values())
        returned = self.called("peer", function, *positions)
        names = [argument["name"] for argument in self.outputs()]
        if returned is None:
            returned = [given[name] for name in names] if set(names) <= set(given) else []
        returned = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if len(returned) != len(names):
            self.fail("peer", f"{self.request['peer']} returns {len(returned)} results, but the problem has {len(names)}: {', '.join(names)}")
        return returned

    def called(self, key, function, *positions, **keywords):
        """Calls a function of the peers. An exception ends this process with an error at the line of the key."""
        try:
            return function(*positions, **keywords)
        except Exception as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
            place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
            self.fail(key, f"{function.__name__} raises {type(error).__name__}: {error}{place}")


def widened(values):
    """Returns the arguments with wider floats."""
    wide = {}
    for name, value in values.items():
        wider = WIDER.get(value.dtype.name, value.dtype)
        wide[name] = value.astype(wider) if value.ndim > 0 else numpy.dtype(wider).type(value)
    return wide


def perturbed(values, rng):
    """Returns the widened arguments, changed by up to the distance of neighbouring numbers of their own types."""
    changed = widened(values)
    for name, value in values.items():
        if value.dtype.name in WIDER and value.ndim > 0:
            wider = changed[name].dtype
            noise = (rng.uniform(-1, 1, value.shape) * numpy.finfo(value.dtype).eps).astype(wider)
            changed[name] = changed[name] * (1 + noise)
    return changed


def checked(problem, argument, result):
    """Returns a result of the peer as an array to compare with. The conversion may round, but must not drop anything else."""
    what, dtype, shape = f"the peer's '{argument['name']}'", numpy.dtype(TYPES[argument["type"]]), problem.shape(argument)
    try:
        array = numpy.asarray(result)
    except Exception as error:
        problem.fail("peer", f"{what} is not an array: {error}")
    if array.dtype.kind not in "biuf":
        problem.fail("peer", f"{what} is {array.dtype}, not numbers of a type that {argument['type']} can represent")
    if array.shape != shape:
        problem.fail("peer", f"{what} has the shape {array.shape}, not {shape}")
    converted = numpy.ascontiguousarray(array.astype(numpy.float64 if dtype.kind == "f" else dtype))
    if array.dtype.kind == "f" and dtype.kind != "f" and not numpy.array_equal(converted, array):
        problem.fail("peer", f"{what} is {array.dtype} with values that {argument['type']} cannot represent")
    return converted


def inputs(problem):
    values = problem.draw()
    for name, value in values.items():
        if value.ndim > 0:
            numpy.save(problem.folder / f"{name}.npy", value)
    begin = time.monotonic()
    peer = problem.named("peer")
    variants = {"wide": problem.call(peer, widened(values), wide=True)}
    rng = numpy.random.default_rng(problem.request["seed"] + 1)
    variants["perturbed"] = problem.call(peer, perturbed(values, rng), wide=True)
    variants["same"] = problem.call(peer, values)
    for variant in ("same", "wide", "perturbed"):  # errors name the peer's own types
        for argument, result in zip(problem.outputs(), variants[variant], strict=True):
            numpy.save(problem.folder / f"{argument['name']}.{variant}.npy", checked(problem, argument, result))
    scalars = {name: repr(value.item()).lower() for name, value in values.items() if value.ndim == 0}
    return {"scalars": scalars, "seconds": time.monotonic() - begin}


def compiled(jit, function, made):
    """Returns the function, compiled by `jit`, with all functions that it calls. `made` has those that are already compiled."""
    if function not in made:
        scope = dict(function.__globals__)
        for name in function.__code__.co_names:
            if inspect.isfunction(scope.get(name)):
                scope[name] = compiled(jit, scope[name], made)
        made[function] = jit(types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__))
    return made[function]


def numba_call(problem):
    import numba

    own = problem.function("_numba")
    return own or compiled(numba.njit(parallel=True), problem.function(), {}), numba.__version__


def torch_call(problem):
    import torch

    function = problem.function("_torch")
    torch.set_num_threads(problem.request["threads"])
    return function and (lambda *given: function(*tensors(given))), torch.__version__


def tensors(given):
    import torch

    return [torch.from_numpy(value) if isinstance(value, numpy.ndarray) else value for value in given]


def onednn_call(problem):
    """The function for PyTorch, whose operations oneDNN fuses and runs."""
    import torch

    function, version = torch_call(problem)
    if not torch.backends.mkldnn.is_available():
        raise ImportError("PyTorch was built without oneDNN")
    if not function:
        return None, version
    torch.jit.enable_onednn_fusion(True)
    graphs = {}

    def call(*given):
        arrays = [at for at, value in enumerate(given) if isinstance(value, numpy.ndarray)]

        class Graph(torch.nn.Module):
            def forward(self, *inputs):
                positions = list(given)
                for at, value in zip(arrays, inputs):
                    positions[at] = value
                return problem.function("_torch")(*positions)

        inputs = tuple(torch.from_numpy(given[at]) for at in arrays)
        if "traced" not in graphs:
            with torch.no_grad():
                graphs["traced"] = torch.jit.freeze(torch.jit.trace(Graph().eval(), inputs))
                graphs["traced"](*inputs)  # oneDNN compiles at the first two runs
        with torch.no_grad():
            return graphs["traced"](*inputs)

    return call, version


def agrees(problem, returned):
    """Whether a baseline computes the same as the peer, apart from rounding. Its bound need not be sharp, since only its time counts."""
    returned = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    for argument, result in zip(problem.outputs(), returned):
        wide = numpy.load(problem.folder / f"{argument['name']}.wide.npy").astype(numpy.float64)
        largest = numpy.abs(wide[numpy.isfinite(wide)]).max(initial=0)
        if not numpy.allclose(numpy.asarray(result), wide, rtol=1e-3, atol=1e-4 * largest, equal_nan=True):
            return False
    return True


def numpy_call(problem):
    return problem.function("_numpy") or problem.function(), numpy.__version__


BASELINES = {"numpy": numpy_call, "numba": numba_call, "torch": torch_call, "onednn": onednn_call}


def reason(error):
    """Returns one line that says what failed. Numba's errors begin with the phase and the reason, and end with source code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:2])}"[:200]


def timed(problem, baseline):
    if baseline not in BASELINES:
        return {"note": f"unknown baseline; known are {', '.join(BASELINES)}"}
    try:
        function, version = BASELINES[baseline](problem)
    except ImportError as missing:
        return {"note": str(missing)}
    if not function:
        return {"note": f"the peers have no function for {baseline}"}
    values = {}
    for argument in problem.arguments:
        if argument["direction"] != "out" and argument["tensor"]:
            values[argument["name"]] = numpy.load(problem.folder / f"{argument['name']}.npy")
    scalars = problem.draw() if problem.request["scalars"] else {}
    values |= {name: value for name, value in scalars.items() if value.ndim == 0}
    names = list(inspect.signature(problem.function()).parameters)
    outs = {a["name"]: a for a in problem.outputs() if a["direction"] == "out"}
    changed = {a["name"] for a in problem.outputs() if a["direction"] == "inout"}

    def given():
        positions = []
        for name in names:
            if name in outs:
                positions.append(numpy.zeros(problem.shape(outs[name]), TYPES[outs[name]["type"]]))
            else:
                value = values[name] if name in values else problem.sizes[name]
                positions.append(value.copy() if name in changed else value)
        return positions

    try:
        first = function(*given())  # warms caches, and compiles
    except Exception as error:
        return {"note": reason(error)}
    if first is not None and not agrees(problem, first):
        return {"note": "the baseline computes something else"}
    # As in `kernelc bench`: on one thread, processor time counts, without the time of other programs.
    clock = time.process_time if problem.request["threads"] == 1 else time.perf_counter
    series, end = [], time.monotonic() + problem.request["seconds"]
    arguments = given()
    runs = 1
    while len(series) < 3 or (len(series) < problem.request["trials"] and time.monotonic() < end):
        if changed:
            arguments = given()
        begin = clock()
        for _ in range(runs):
            function(*arguments)
        took = clock() - begin
        if took < TRIAL and not changed:
            runs *= 2
            continue
        series.append(took / runs)
    quarter = numpy.percentile(series, [25, 50, 75])
    return {"version": version, "seconds": quarter[1], "spread": (quarter[2] - quarter[0]) / quarter[1]}


def end_with_parent():
    """Makes this process end when kernelc ends, which may be killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main():
    end_with_parent()
    folder = pathlib.Path(sys.argv[1])
    problem = Problem(folder)
    with numpy.errstate(all="ignore"):
        answer = inputs(problem) if sys.argv[2] == "inputs" else timed(problem, sys.argv[3])
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
