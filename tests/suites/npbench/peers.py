"""NumPy functions for the problems of NPBench: the results to compare with, and baselines. Numba compiles them with
`parallel=True` if it can be imported. Those of NAME.kdl are in NAME.py. Code of our own; see ../README.md."""

from learning import *  # noqa: F401, F403
from networks import *  # noqa: F401, F403
from physics import *  # noqa: F401, F403
from products import *  # noqa: F401, F403
from solvers import *  # noqa: F401, F403
from stencils import *  # noqa: F401, F403
from waves import *  # noqa: F401, F403
