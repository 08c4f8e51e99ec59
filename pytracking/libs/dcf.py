"""Upstream pytracking's path to :mod:`pytracking.compat.dcf`."""
from pytracking.compat.dcf import gauss_spatial, hann1d, hann2d, hann2d_clipped, label_function_spatial, max2d
