"""Upstream pytracking's path to :mod:`pytracking.compat.optimization`."""
from pytracking.compat.optimization import ConjugateGradient, GaussNewtonCG, GradientDescentL2, L2Problem
