"""The float element types, read from the table that compiler and runtime use."""

import dataclasses
import pathlib
import re

ROWS = pathlib.Path(__file__).resolve().parents[2] / "include/kdl/scalars.def"


@dataclasses.dataclass(frozen=True)
class Format:
    bytes: int
    is_narrow: bool
    exponent: int  # number of exponent bits
    fraction: int
    has_infinity: bool
    has_nan: bool

    @property
    def sign(self):
        return 1 << (self.exponent + self.fraction)

    @property
    def one(self):
        return ((1 << (self.exponent - 1)) - 1) << self.fraction

    @property
    def largest(self):
        """Returns the bits of the largest number."""
        return self.sign - 1 - (1 << self.fraction if self.has_infinity else self.has_nan)


def formats():
    found = {}
    for narrow, columns in re.findall(r"^KDL_(NARROW_)?FLOAT\((.*), \".*\"\)$", ROWS.read_text(), re.MULTILINE):
        _, _, spelling, _, bits, *_, exponent, fraction, infinities, nans, _ = columns.split(", ")
        found[spelling] = Format(int(bits) // 8, bool(narrow), int(exponent), int(fraction), infinities == "1", nans == "1")
    return dict(sorted(found.items(), key=lambda item: item[1].bytes))


FORMATS = formats()
NARROW_FLOATS = [type_ for type_, format_ in FORMATS.items() if format_.is_narrow and format_.fraction]
SCALES = [type_ for type_, format_ in FORMATS.items() if not format_.fraction]  # types that can only be converted
