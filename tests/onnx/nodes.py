"""Runs ONNX's node tests with the kernels of stdlib/. See README.md."""

import argparse
import collections
import random
import sys
import time
import traceback
import warnings

import numpy as np
import onnx

warnings.filterwarnings("ignore")  # of NumPy, while ONNX makes its cases
from onnx.backend.test.case.node import collect_testcases  # noqa: E402

from case import Case, array  # noqa: E402
from four_bits import FourBits  # noqa: E402
from library import Library, Missing  # noqa: E402
from operators import result_of  # noqa: E402


def has_tensors(case):
    """Returns whether all inputs and outputs are tensors of numbers. Cases that replace an operator by others are left out."""
    graph = case.model.graph
    values = [value.type for value in [*graph.input, *graph.output]]
    return "_expanded" not in case.name and all(
        value.WhichOneof("value") == "tensor_type" and value.tensor_type.elem_type != onnx.TensorProto.STRING for value in values)


def difference(case, got):
    """Returns what is wrong with the results of a case, or "". The rules are those of onnx.backend.test.runner."""
    for wanted, y in zip(case.data_sets[0][1], got):
        wanted, y = (one.unpacked() if isinstance(one, FourBits) else np.asarray(one) for one in (array(wanted), y))
        if wanted.dtype != y.dtype or wanted.shape != y.shape:
            return f"{y.dtype}{list(y.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
        if wanted.dtype.kind == "V" or wanted.dtype.itemsize == 1 or wanted.dtype.name == "bfloat16":
            wanted, y = wanted.astype("f4"), y.astype("f4")
        try:
            np.testing.assert_allclose(y, wanted, case.rtol, case.atol)
        except AssertionError as error:
            return " ".join(str(error).split())
    return ""


def run(case, library):
    """Returns ("passed" | "missing" | "failed", why)."""
    graph = case.model.graph
    values = dict(zip((value.name for value in graph.input), map(array, case.data_sets[0][0])))
    try:
        got = result_of(Case(graph.node[0], values, case.model.opset_import[0].version, library))
    except Missing as reason:
        return "missing", str(reason)
    except Exception:  # any error of a row is a failure of its case
        return "failed", traceback.format_exc(limit=-3)
    wrong = difference(case, [y for y, name in zip(got, graph.node[0].output) if name])
    return ("failed", wrong) if wrong else ("passed", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host", help="where kernels run")
    parser.add_argument("--seconds", type=float, help="stops after this time, with cases in random order")
    parser.add_argument("--seed", default="1", help="the order of the cases")
    parser.add_argument("--only", help="only cases whose name contains this text")
    options = parser.parse_args()
    library = Library(options.device)
    cases = [case for case in collect_testcases(None) if has_tensors(case) and (options.only or "") in case.name]
    if options.seconds:
        random.Random(options.seed).shuffle(cases)
    end = time.monotonic() + (options.seconds or float("inf"))
    counts, reasons = collections.Counter(), collections.defaultdict(list)
    for case in cases:
        if time.monotonic() > end:
            break
        outcome, why = run(case, library)
        counts[outcome] += 1
        if outcome == "missing":
            reasons[f"{case.model.graph.node[0].op_type}: {why}"].append(case.name)
        elif outcome == "failed":
            print(f"FAILED: {case.name}: {why}", flush=True)
    for reason, names in sorted(reasons.items(), key=lambda pair: -len(pair[1])) if not options.seconds else []:
        print(f"missing: {len(names)} of {reason}")
    print(f"{counts.total()} of {len(cases)} cases: {counts['passed']} passed, {counts['missing']} missing, {counts['failed']} failed")
    return counts["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
