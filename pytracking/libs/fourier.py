"""Upstream pytracking's path to :mod:`pytracking.compat.fourier`."""
from pytracking.compat.fourier import cfft2, cifft2, sample_fs, shift_fs, sum_fs
