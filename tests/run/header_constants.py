#!/usr/bin/env python3
"""Checks integer parameters that cannot be derived from any tensor: the functions of a header have an
argument for each of them, and run the variant that belongs to the argument's value."""

import sys

from shared import callers

EXPECTED = """3, 1: 4 7 10 13
5, 2: 7 12 17 22
4, 1: launch of 'K': kernel 'K' cannot run on host: no variant has these constants; the variants have T=f32, S=3, queue=1, T=f32, S=3, queue=2, T=f32, S=5, queue=1 and T=f32, S=5, queue=2
sums of 2: 3 7 17 22
in C: 6 11 16 21
sums of 4: 10 11 16 21
"""

if __name__ == "__main__":
    sys.exit(callers.compare("header_constants", EXPECTED, "-D", "S=3,5", "-D", "queue=1,2", "-D", "D=2,4", "-D", "T=f32"))
