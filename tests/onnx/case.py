"""One case of ONNX's node tests: the inputs and attributes of a node, and calls of the library for it."""

import numpy as np
import onnx

import four_bits
from library import Missing, around, kind


def array(value):
    """Returns a tensor of a case as an array, or as FourBits."""
    if not isinstance(value, onnx.TensorProto):
        return np.asarray(value)
    read = four_bits.read(value)
    return onnx.numpy_helper.to_array(value) if read is None else read


class Case:
    def __init__(self, node, values, version, library):
        self.node = node
        self.values = values  # of all names that the node can use
        self.x = [values.get(name) for name in node.input]  # None for an optional input that is absent
        self.attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        self.version = version
        self.library = library

    def get(self, name, default=None):
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def input(self, number, default=None):
        """Returns an input, or the default if it is absent."""
        return self.x[number] if len(self.x) > number and self.x[number] is not None else default

    def only(self, name, *values):
        """Reports a case as missing if an attribute has another value."""
        if self.get(name, values[0]) not in values:
            raise Missing(f"{name} = {self.get(name)}")

    def map(self, function, x, *numbers, name=None):
        kernel = name or ("map", "map_with", "map_with2")[len(numbers)]
        return self.library("elementwise", kernel, F=function, T=kind(x))(x, *numbers)

    def test(self, function, x):
        return self.library("elementwise", "test", F=function, T=kind(x))(x)

    def map2(self, function, x, y):
        return self.library("elementwise", "map2", F=function, T=kind(x))(x, y)

    def compare(self, function, x, y):
        return self.library("elementwise", "compare", F=function, T=kind(x))(x, y)

    def select(self, c, x, y):
        return self.library("elementwise", "select", T=kind(x))(c, x, y)

    def convert(self, x, dtype):
        if x.dtype == dtype:
            return x
        y = np.empty(x.shape, dtype)
        self.library("convert", "convert", T=kind(x), U=kind(y))(x, y)
        return y

    def positions(self, x):
        """Returns the numbers of the true elements of x, in row-major order."""
        return self.library("index", "positions")(np.ascontiguousarray(x).reshape(-1))

    def take(self, x, index, axis):
        """Returns x[…, index, …]."""
        x, index = (np.asarray(one, order="C") for one in (x, index))
        return self.library("nn", "gather", T=kind(x), I=kind(index))(x, index, rank_A=axis % x.ndim)

    def copy(self, x, into=None):
        """Copies a view."""
        y = np.empty(x.shape, x.dtype) if into is None else into
        self.library("elementwise", "copied", T=kind(x))(x, y)
        return y

    def reduce(self, kernel, x, axes, keep=True, **functions):
        """Reduces axes; an empty list means that nothing is reduced."""
        if x.dtype == bool:
            return self.reduce(kernel, x.view("u1"), axes, keep, **functions).view(bool)
        axes = sorted({axis % x.ndim for axis in axes}) if x.ndim else []
        view, first = around(x, axes)
        if first == view.ndim - 1:
            y = self.library("reduce", kernel.replace("axis", "rows"), T=kind(x), **functions)(view)
        else:
            y = self.library("reduce", kernel, T=kind(x), **functions)(view, rank_A=first)
        y = np.expand_dims(y, axes) if keep else y
        return y if y.dtype == x.dtype else self.convert(y, x.dtype)
