"""Upstream pytracking's path to :mod:`pytracking.compat.preprocessing`."""
from pytracking.compat.preprocessing import (  # noqa: F401
    numpy_to_torch,
    sample_patch,
    sample_patch_multiscale,
    sample_patch_transformed,
    torch_to_numpy,
)
