#!/usr/bin/env python3
"""Tests the backward kernels of stdlib/gradients.kdl: what they compute must be the differences of the results of the forward kernels for
arguments that differ by little, in f64. Contracts of both are tested by `kernelc test`."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python"

CODE = '''
import sys
import numpy as np
import kernelc

STDLIB, RANDOM = sys.argv[1], np.random.default_rng(7)


def kernel(file, name, **defines):
    module = kernelc.compile(f"{STDLIB}/{file}.kdl", kernel=name, defines={"T": "f64", **defines})
    return lambda *args: getattr(module, name)(*args)


def numbers(*shape):
    return RANDOM.standard_normal(shape) * 0.5


def differences(forward, inputs, g, step=1e-5):
    """Returns the gradients of sum(g * forward(inputs)) by all inputs."""
    results = []
    for x in inputs:
        d = np.empty_like(x)
        for at in np.ndindex(x.shape):
            old, ends = x[at], []
            for sign in (1, -1):
                x[at] = old + sign * step
                ends.append((g * forward(*inputs)).sum())
            x[at], d[at] = old, (ends[0] - ends[1]) / (2 * step)
        results.append(d)
    return results


def compare(name, got, wanted):
    for number, (a, b) in enumerate(zip(got, wanted)):
        error = np.abs(a - b).max() / max(np.abs(b).max(), 1e-3)
        if not error < 1e-6:
            print(f"{name}: gradient {number} differs by {error:.3g}")
            sys.exit(1)


def with_result(shape, call):
    """Returns a function that allocates the result of a kernel."""
    def forward(*inputs):
        y = np.empty(shape)
        call(*inputs, y)
        return y
    return forward


def mapped(backward, function):
    x, g = numbers(20), numbers(20)
    call = kernel("elementwise", "map", F=function)
    wide = lambda x, y: call(x.reshape(1, 1, -1), y.reshape(1, 1, -1))
    dx = np.empty_like(x)
    kernel("gradients", "map_backward", F=backward)(x, g, dx)
    compare(backward, [dx], differences(with_result(x.shape, wide), [x], g))


def rows(name):
    x, g = numbers(4, 7), numbers(4, 7)
    forward = with_result(x.shape, kernel("nn", name))
    dx = np.empty_like(x)
    kernel("gradients", f"{name}_backward")(forward(x), g, dx)
    compare(name, [dx], differences(forward, [x], g))


def layer_norm():
    x, scale, bias, g = numbers(4, 7), numbers(7), numbers(7), numbers(4, 7)
    mean, inverse, call = np.empty(4), np.empty(4), kernel("nn", "layer_norm")
    forward = with_result(x.shape, lambda x, scale, bias, y: call(x, scale, bias, 0.01, y, mean, inverse))
    wanted = differences(forward, [x, scale, bias], g)
    forward(x, scale, bias)
    got = [np.empty_like(t) for t in (x, scale, bias)]
    kernel("gradients", "layer_norm_backward")(x, scale, mean, inverse, g, *got)
    compare("layer_norm", got, wanted)


def rms_norm():
    x, scale, g = numbers(4, 7), numbers(7), numbers(4, 7)
    call, got = kernel("nn", "rms_norm"), [np.empty_like(x), np.empty_like(scale)]
    kernel("gradients", "rms_norm_backward")(x, scale, 0.01, g, *got)
    compare("rms_norm", got, differences(with_result(x.shape, lambda x, scale, y: call(x, scale, 0.01, y)), [x, scale], g))


def batch_norm():
    x, scale, bias, g = numbers(2, 3, 5), numbers(3), numbers(3), numbers(2, 3, 5)
    moments, norm, states = kernel("nn", "channel_moments"), kernel("nn", "batch_norm"), [np.empty(3), np.empty(3)]

    def call(x, scale, bias, y):
        moments(x, *states)
        norm(x, scale, bias, *states, 0.01, y)
    wanted = differences(with_result(x.shape, call), [x, scale, bias], g)
    moments(x, *states)
    got = [np.empty_like(t) for t in (x, scale, bias)]
    kernel("gradients", "batch_norm_backward")(x, scale, *states, 0.01, g, *got)
    compare("batch_norm", got, wanted)


def cross_entropy():
    x, weight, g, label = numbers(5, 4), abs(numbers(4)), numbers(5), np.array([0, 3, 1, 2, 2])
    log_softmax, loss = kernel("nn", "log_softmax"), kernel("nn", "nll_loss", L="i64")

    def forward(x):
        y, losses, used = np.empty_like(x), np.empty((5, 1)), np.empty((5, 1))
        log_softmax(x, y)
        loss(y.reshape(5, 4, 1), label.reshape(5, 1), weight, 2, losses, used)
        return losses[:, 0]
    y, dx = np.empty_like(x), np.empty_like(x)
    log_softmax(x, y)
    kernel("gradients", "cross_entropy_backward", L="i64")(y, label, weight, 2, g, dx)
    compare("cross_entropy", [dx], differences(forward, [x], g))


def convolution():
    sizes = {"KD": 1, "KH": 3, "KW": 2, "SH": 2, "SW": 1, "PH": 1, "PW": 1, "DIH": 1, "DIW": 2}
    x, w, bias, g = numbers(2, 2, 2, 1, 5, 4), numbers(2, 3, 2, 1, 3, 2), numbers(2, 3), numbers(2, 2, 3, 1, 3, 4)
    wanted = differences(with_result(g.shape, kernel("windows", "conv3d", **sizes)), [x, w, bias], g)
    dx, dw, dbias = (np.empty_like(t) for t in (x, w, bias))
    kernel("gradients", "conv3d_backward", **sizes)(x, g, dw, dbias)
    turned = np.ascontiguousarray(w)
    kernel("windows", "conv_transpose3d", **sizes)(g, turned, np.zeros((2, 2)), dx)
    compare("conv3d", [dx, dw, dbias], wanted)


def attention(causal):
    q, k, v, g = numbers(2, 5, 3), numbers(2, 6, 3), numbers(2, 6, 4), numbers(2, 5, 4)
    call, mask, offset = kernel("nn", "attention"), np.zeros((1, 2, 5, 6)), np.zeros(1, "i8")
    forward = with_result(g.shape, lambda q, k, v, y: call(q[None], k[None], v[None], mask, 0.7, 0.0, causal, offset, y[None]))
    got = [np.empty_like(t) for t in (q, k, v)]
    kernel("gradients", "attention_backward")(q, k, v, forward(q, k, v), 0.7, causal, g, *got)
    compare(f"attention, causal = {causal}", got, differences(forward, [q, k, v], g))


for backward, function in [("relu", "nn.relu"), ("logistic", "sigmoid"), ("hyperbolic", "tanh"), ("silu", "nn.silu"), ("gelu", "nn.gelu"),
                           ("softplus", "nn.softplus")]:
    mapped(backward, function)
rows("softmax")
rows("log_softmax")
layer_norm()
rms_norm()
batch_norm()
cross_entropy()
convolution()
attention(False)
attention(True)
'''


def main():
    if not list(PACKAGE.glob("kernelc/_core*.so")):
        print("the build has no Python package, because Python's headers are missing")
        return 77
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "KDL_CACHE_DIR": cache}
        done = subprocess.run(["/usr/bin/python3", "-c", CODE, str(ROOT / "stdlib")], env=environment, capture_output=True, text=True)
        checks.expect("gradients", done.returncode == 0, done.stdout + done.stderr)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
