"""Rows for operators whose attributes are graphs of other operators."""

import numpy as np
import onnx

from case import Case
from library import kind
from operators_linear import product_of


def rows(result_of):
    """Returns the rows; result_of(case) runs one node."""

    def run(c, name, inputs):
        """Returns the outputs of a graph, which can use the values around its node."""
        graph = c.attributes[name]
        values = {**c.values, **{one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer},
                  **dict(zip((one.name for one in graph.input), inputs))}
        for node in graph.node:
            values.update(zip(node.output, result_of(Case(node, values, c.version, c.library))))
        return [values[one.name] for one in graph.output]

    def if_else(c):
        return run(c, "then_branch" if c.x[0].item() else "else_branch", [])

    def loop(c):
        """The state after the last turn, and what the turns give beside it, stacked."""
        most, goes_on = c.input(0), c.input(1, np.array(True))
        state, stacks, turn = list(c.x[2:]), [], 0
        while goes_on.item() and (most is None or turn < most.item()):
            goes_on, *results = run(c, "body", [np.array(turn, "i8"), goes_on, *state])
            state = results[:len(state)]
            stacks.append(results[len(state):])
            turn += 1
        return state + [np.stack(one) for one in zip(*stacks)]

    def scan(c):
        """Like loop, over the elements of an axis of some inputs. Scans of version 8 have batches and an input for their lengths."""
        x, batched = (c.x[1:], True) if c.version == 8 else (c.x, False)
        count = c.get("num_scan_inputs")
        first = len(x) - count
        axes = c.get("scan_input_axes", [0] * count)
        ways = c.get("directions" if batched else "scan_input_directions", [0] * count)
        results = []
        for batch in range(len(x[0])) if batched else [None]:
            whole = x if batch is None else [one[batch] for one in x]
            state, stacks = whole[:first], []
            parts = [np.moveaxis(one, axis, 0)[::-1 if way else 1] for one, axis, way in zip(whole[first:], axes, ways)]
            for turn in zip(*parts):
                given = run(c, "body", [*state, *turn])
                state = given[:first]
                stacks.append(given[first:])
            results.append(state + [np.stack(one) for one in zip(*stacks)])
        if batched:
            return [np.stack(one) for one in zip(*results)]
        out = c.get("scan_output_axes", [0] * (len(results[0]) - first))
        back = c.get("scan_output_directions", [0] * (len(results[0]) - first))
        ends = [np.moveaxis(one[::-1 if way else 1], 0, axis) for one, axis, way in zip(results[0][first:], out, back)]
        return results[0][:first] + ends

    def flex_attention(c):
        """Attention whose scores and probabilities go through graphs."""
        q, k, v = c.x
        precise = np.dtype("f8" if q.dtype == np.float64 else "f4")
        if c.get("softmax_precision") is not None:
            precise = onnx.helper.tensor_dtype_to_np_dtype(c.get("softmax_precision"))
        groups = q.shape[1] // k.shape[1]
        wide = [c.convert(np.ascontiguousarray(t), precise) for t in (q, np.repeat(k, groups, 1), np.repeat(v, groups, 1))]
        scores = product_of(c, wide[0], wide[1].swapaxes(2, 3))
        scores = c.map2("multiply", scores, np.array(c.get("scale") or 1 / np.sqrt(q.shape[3]), precise))
        if "score_mod" in c.attributes:
            scores = run(c, "score_mod", [scores])[0]
        shares = np.empty(scores.shape, precise)
        flat = np.ascontiguousarray(scores).reshape(-1, scores.shape[3])
        c.library("nn", "softmax", T=kind(shares))(flat, shares.reshape(flat.shape))
        if "prob_mod" in c.attributes:
            shares = run(c, "prob_mod", [shares])[0]
        y = product_of(c, shares, wide[2])
        return c.convert(y, q.dtype)

    return {"FlexAttention": flex_attention, "If": if_else, "Loop": loop, "Scan": scan}
