"""python3 -m unittest discover tests"""

import unittest

import numpy as np

import @NAME@


class Kernels(unittest.TestCase):
    def test_axpy(self):
        x = np.array([1, 2, 3], "f4")
        y = np.array([10, 20, 30], "f4")
        @NAME@.axpy(2.0, x, y)
        np.testing.assert_array_equal(y, np.array([12, 24, 36], "f4"))


if __name__ == "__main__":
    unittest.main()
