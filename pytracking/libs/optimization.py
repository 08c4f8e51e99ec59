"""Upstream pytracking's path to :mod:`pytracking.compat.optimization`."""
from pytracking.compat.optimization import (  # noqa: F401
    ConjugateGradient,
    GaussNewtonCG,
    GradientDescentL2,
    L2Problem,
)
