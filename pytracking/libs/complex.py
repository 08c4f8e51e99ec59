"""Upstream pytracking's path to :mod:`pytracking.compat.complex`."""
from pytracking.compat.complex import abs, abs_sqr, complex, conj, exp_imag, imag, is_complex, mult, mult_conj, real
