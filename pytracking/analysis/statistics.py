"""Uncertainty of scores: intervals over runs, and a paired test between two trackers."""
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

# 97.5 % quantiles of Student's t for 1 ... 30 degrees of freedom (two-sided 95 %)
_T_975 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
_Z_975 = 1.959963984540054
EXACT_UP_TO = 14  # sequences; up to here all 2^n sign patterns are tried
RESAMPLES = 10_000


def t_quantile_975(degrees: int) -> float:
    """Returns the 97.5 % quantile of Student's t (four decimals)."""
    if degrees < 1:
        raise ValueError(f"degrees: at least 1, not {degrees}")
    if degrees <= len(_T_975):
        return _T_975[degrees - 1]
    z, d = _Z_975, float(degrees)
    # Cornish-Fisher expansion about the normal quantile
    return z + (z**3 + z) / (4 * d) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * d**2)


def mean_and_interval(values: ArrayLike) -> tuple[float, float]:
    """Returns the mean over runs and the half width of its 95 % interval, which is NaN for a single run."""
    runs = np.asarray(values, np.float64).ravel()
    if runs.size < 2:
        return float(runs.mean()), float("nan")
    return float(runs.mean()), t_quantile_975(runs.size - 1) * float(runs.std(ddof=1)) / np.sqrt(runs.size)


@dataclass(frozen=True)
class PairedComparison:
    """Tracker A against tracker B on the same sequences."""

    difference: float  # mean of A - B over sequences
    low: float  # 95 % bootstrap interval of the mean difference; NaN for a single sequence
    high: float
    p_value: float  # two-sided, sign-flip permutation test; NaN for a single sequence
    wins: int  # sequences where A is better
    losses: int
    ties: int

    @property
    def interval(self) -> str:
        """The interval as text for a table."""
        return "-" if np.isnan(self.low) else f"[{self.low:+.3f}, {self.high:+.3f}]"


def compare_paired(a: ArrayLike, b: ArrayLike, seed: int = 0) -> PairedComparison:
    """Tests whether A and B differ on these sequences (n,) by more than random signs would explain.

    Scores are means over runs. The same seed gives the same numbers.
    """
    gaps = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    if gaps.ndim != 1 or gaps.size == 0:
        raise ValueError(f"a, b: one score per sequence, got {gaps.shape}")
    rng = np.random.default_rng(seed)
    low = high = p_value = np.nan
    if gaps.size > 1:
        counts = rng.multinomial(gaps.size, np.full(gaps.size, 1.0 / gaps.size), size=RESAMPLES)  # a bootstrap
        low, high = np.percentile(counts @ gaps / gaps.size, [2.5, 97.5])
        p_value = _sign_flip_p(gaps, rng)
    return PairedComparison(
        difference=float(gaps.mean()),
        low=float(low),
        high=float(high),
        p_value=float(p_value),
        wins=int((gaps > 0).sum()),
        losses=int((gaps < 0).sum()),
        ties=int((gaps == 0).sum()),
    )


def _sign_flip_p(gaps: np.ndarray, rng: np.random.Generator) -> float:
    """Fraction of sign patterns with a mean at least as far from 0; tries all patterns if there are few sequences."""
    nonzero = gaps[gaps != 0]
    if nonzero.size == 0:
        return 1.0
    observed = abs(nonzero.sum()) * (1 - 1e-12)  # sums that are equal up to rounding must compare as equal
    if nonzero.size <= EXACT_UP_TO:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=nonzero.size)))
        return float((np.abs(signs @ nonzero) >= observed).mean())
    signs = rng.integers(0, 2, (RESAMPLES, nonzero.size), dtype=np.int8) * 2.0 - 1.0
    return float(((np.abs(signs @ nonzero) >= observed).sum() + 1) / (RESAMPLES + 1))
