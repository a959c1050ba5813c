#!/usr/bin/env python3
"""Checks how callers in C and C++ omit optional parameters, and pass tensors of different ranks to a kernel with a
pack of dimensions."""

import sys

from shared import callers

EXPECTED = """with a bias: 11 22 13 24
without: 1 2 3 4
without an input: launch of 'K': parameter x: f32[M, N] has 2 dimensions, but the tensor given, unknown[], has 0
in C with a bias: 11 22 13 24
in C without: 1 2 3 4
in C with sums only: 3 7 0 0
in C, a pack of 2: 3 7 0 0
a pack of 2 x 2: 1 2 3 4
an empty pack: 10 2 3 4
another shape: launch of 'K': the dimensions R.. are [2, 2] in the tensor for x[R.., C], but [1, 4] in the tensor for y[R..]
sums over the first dimension: 4 6 3 4
over the second: 3 7 3 4
over the third: 1 2 3 4
over a fourth: launch of 'K': the tensor for x[A.., C, B..] has rank 3, which does not fit the number of dimensions of its packs: A.. has 3
before the first: launch of 'K': rank_A is -1; a pack has 0 to 8 dimensions
by name, over the first: 4 6 3 4
by name, over the third: 1 2 3 4
by name, over a fourth: the tensor for x[A.., C, B..] has rank 3, which does not fit the number of dimensions of its packs: A.. has 3
by name, of no number: kernel 'sum_axis<rank_A=x>': 'rank_A=x' is not the number of dimensions of a pack
by name, twice: kernel 'sum_axis<rank_A=1, rank_A=2>': rank_A is stated twice
a row in all rows: 11 22 13 24
transposed: 2 5 5 8
both: 11 23 12 24
too many rows: launch of 'K': the dimensions N.. of the tensor for y[N..] are [4], which cannot be repeated to [2, 2], those of the tensor for z[N..]
an output with gaps: launch of 'K': the tensor for z[N..] has gaps between its elements, and the parameter is not `strided`; pass a copy without gaps
no permutation: the order of a permuted tensor must have each of its 2 dimensions once
"""

if __name__ == "__main__":
    sys.exit(callers.compare("any_shape", EXPECTED))
