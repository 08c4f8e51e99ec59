"""Compares a frame's peak score with the target's usual peak: covered or lost targets score lower than before.

A fixed threshold cannot detect this: some targets always score high, others never do.
"""

RISE, FALL = 0.1, 0.02  # weight of a frame's peak in the running mean: peaks above it, peaks below it
FULL_TRUST = 0.75  # relative peak from which a refined box is fully trusted, and a lost target found again


class UsualPeak:
    """Running mean of the peak scores of frames in which the target was found.

    It falls more slowly than it rises: when the target has left, the lower scores of whatever is found instead must not
    become usual before the target is back.
    """

    def __init__(self) -> None:
        self.value: float | None = None
        self.lost = False  # since a frame in which nothing was found, until a peak has FULL_TRUST

    def relative(self, peak: float) -> float:
        """The peak divided by the usual one, clipped to 0..1; 1 if there is no positive usual peak."""
        return 1.0 if self.value is None or self.value <= 0 else min(max(peak / self.value, 0.0), 1.0)

    def is_low(self, peak: float, part: float) -> bool:
        """Whether a found target's peak is below ``part`` of the usual one.

        After a loss it has to reach FULL_TRUST instead, because what is found first is often something else.
        """
        low = self.relative(peak) < (FULL_TRUST if self.lost else part)
        self.lost &= low
        return low

    def update(self, peak: float) -> None:
        """Adds the peak of a frame in which the target was found, uncertain or not: lasting changes become usual."""
        if self.value is None:
            self.value = peak
        self.value += (RISE if peak > self.value else FALL) * (peak - self.value)


def trust_in_box(relative_peak: float) -> float:
    """Fraction of a box refinement to apply, 0 to 1.

    The box head fits whatever it sees: the visible part of a covered target, or what covers it.
    """
    return min(relative_peak / FULL_TRUST, 1.0) ** 2
