"""How a frame's peak compares with the usual one: a target that is covered or lost scores less than it used to.

Absolute thresholds cannot tell: some targets always score high, others never do.
"""
from __future__ import annotations

RATE = 0.1  # of a trusted frame's peak in the running mean


class UsualPeak:
    """Running mean of the peaks of trusted frames, from 1 on: what the filter is trained to give to the target."""

    def __init__(self) -> None:
        self.value = 1.0

    def part(self, peak: float) -> float:
        """The peak in units of the usual one, at most 1."""
        return min(max(peak / self.value, 0.0), 1.0)

    def trust(self, peak: float) -> None:
        """A frame whose sample is learnt."""
        self.value += RATE * (peak - self.value)
