"""How a frame's peak compares with the usual one: a target that is covered or lost scores less than it used to.

A fixed threshold cannot tell: some targets always score high, others never do.
"""
from __future__ import annotations

RISE, FALL = 0.1, 0.02  # of a frame's peak in the running mean, where it is above and where it is below that
WHOLE_TRUST = 0.75  # of the usual peak: from here on the box is trusted as always


class UsualPeak:
    """Running mean of the peaks of frames in which the target was found.

    It falls more slowly than it rises: what is found in place of a target that has left scores less, and must not
    become usual before the target is back.
    """

    def __init__(self) -> None:
        self.value: float | None = None

    def part(self, peak: float) -> float:
        """The peak in units of the usual one, at most 1; 1 for the first."""
        return 1.0 if self.value is None else min(max(peak / self.value, 0.0), 1.0)

    def found(self, peak: float) -> None:
        """The target was found, certainly or not: a change that lasts becomes usual."""
        if self.value is None:
            self.value = peak
        self.value += (RISE if peak > self.value else FALL) * (peak - self.value)


def trust_in_box(part: float) -> float:
    """How much of a refined box to apply, 0 to 1, where the peak is this part of the usual one.

    A box head fits what it sees: the visible piece of a covered target, or whatever covers it.
    """
    return min(part / WHOLE_TRUST, 1.0) ** 2
