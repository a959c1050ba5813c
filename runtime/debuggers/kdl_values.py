"""What gdb and lldb do not know about the values of kernels: narrow floats."""

import struct

#: The bits of the exponent and of the fraction of each type, and whether it has infinities.
FLOATS = {"bf16": (8, 7, True), "f8e4m3": (4, 3, False), "f8e5m2": (5, 2, True), "f8e8m0": (8, 0, False)}


def narrow_float(bits, exponent_bits, fraction_bits, has_infinities):
    """Returns the number with these bits: a sign, an exponent and a fraction, or only an exponent."""
    if fraction_bits == 0:
        return float("nan") if bits == (1 << exponent_bits) - 1 else 2.0 ** (bits + 1 - (1 << (exponent_bits - 1)))
    sign = -1.0 if bits >> (exponent_bits + fraction_bits) else 1.0
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == (1 << exponent_bits) - 1:
        if has_infinities:
            return float("nan") if fraction else sign * float("inf")
        if fraction == (1 << fraction_bits) - 1:
            return float("nan")
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias - fraction_bits)
    return sign * (1 + fraction / (1 << fraction_bits)) * 2.0 ** (exponent - bias)


def narrow_text(bits, name):
    """Returns the text of a number of the type with this name, such as `0.5`."""
    number = narrow_float(bits, *FLOATS[name])
    return f"{struct.unpack('f', struct.pack('f', number))[0]:g}"
