"""Random inputs including numbers for which code tends to be wrong: zeros of both signs, quiet and signalling
NaNs, infinities, subnormal numbers, limits of types, and midpoints between two numbers of a narrower type."""

import numpy as np

from element_types import FORMATS

STORED = {"bool": "?", "f16": "f2", "bf16": "V2", "f32": "f4", "f64": "f8", **{t: "u1" for t, f in FORMATS.items() if f.bytes == 1}}
SHARE = 0.25


def memory_type(type_):
    """Returns the NumPy type that stores elements of this type in files."""
    return np.dtype(STORED.get(type_) or f"{type_[0]}{int(type_[1:]) // 8}")


def is_nan(type_, bits):
    """Returns which of the bit patterns are NaNs."""
    form = FORMATS[type_]
    magnitude = bits & bits.dtype.type(form.sign - 1)
    return magnitude > form.largest + form.has_infinity


def floats(random, type_):
    """Returns special bit patterns of a float type."""
    form = FORMATS[type_]
    fraction = form.fraction
    one, most = 1 << fraction, (1 << form.exponent) - 1
    bias = most >> 1
    patterns = [0, 0, 1, one - 1, one, most * one - 1, most * one, most * one | one >> 1, most * one | 1, bias * one, bias * one - 1]
    for _ in range(8):
        cut = int(random.integers(1, fraction + 1))
        digits = int(random.integers(0, one)) >> cut << cut | 1 << (cut - 1)
        exponent = min(max(bias + int(random.integers(-24, 66)), 0), most - 1)
        patterns.append(exponent * one | min(max(digits + int(random.integers(-1, 2)), 0), one - 1))
    return patterns + [pattern | form.sign for pattern in patterns]


def integers(random, bits):
    patterns = [0, 1, -1, (1 << (bits - 1)) - 1, 1 << (bits - 1), (1 << (bits - 1)) + 1, -2]
    for _ in range(8):
        cut = int(random.integers(1, bits))
        number = int(random.integers(0, 1 << 62)) << cut | 1 << (cut - 1)
        patterns += [number + int(random.integers(-1, 2)), (1 << cut) - 1, -(1 << cut)]
    return [pattern & (1 << bits) - 1 for pattern in patterns]


def ordinary(random, type_, shape):
    """Returns the bits of numbers in [-1, 1), of small integers, or of booleans."""
    if type_ == "bool":
        return random.integers(0, 2, shape).astype(np.uint8)
    if type_ not in FORMATS:
        return random.integers(0 if type_[0] == "u" else -100, 101, shape).astype(memory_type(type_)).view(f"u{int(type_[1:]) // 8}")
    form = FORMATS[type_]
    size = form.bytes
    if size == 1:
        return (random.integers(0, form.one, shape) + random.integers(0, 2, shape) * form.sign).astype(np.uint8)
    values = random.uniform(-1, 1, shape)
    if type_ == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(memory_type(type_)).view(f"u{size}")


def float_mix(random, type_):
    """Returns special bit patterns of a float type, and the share of the elements that they are. Because a NaN can hide the
    effects of other numbers, half of the mixes have none, and one of eight consists of zeros of both signs only."""
    mix = int(random.integers(0, 8))
    if mix == 0:
        return [0, FORMATS[type_].sign], 1.0
    patterns = floats(random, type_)
    if mix % 2 == 1:
        size = memory_type(type_).itemsize
        patterns = [bits for bits in patterns if not is_nan(type_, np.array(bits, dtype=f"u{size}"))]
    return patterns, SHARE


def drawn(random, type_, shape):
    values, share = ordinary(random, type_, shape), SHARE
    if type_ == "bool":
        patterns = [0, 1, 2, 255]
    elif type_ in FORMATS:
        patterns, share = float_mix(random, type_)
    else:
        patterns = integers(random, 8 * values.dtype.itemsize)
    chosen = random.choice(np.array(patterns, dtype=values.dtype), shape)
    return np.where(random.random(shape) < share, chosen, values).astype(values.dtype).view(memory_type(type_))
