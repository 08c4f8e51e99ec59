"""Evaluator rules: the choices of each public evaluator that the papers leave open, as named options.

Evaluators disagree on the same result file: they differ in the first frame, in frames without a target, in empty boxes,
in ``>`` versus ``>=`` and in the area under a curve. ``RULES`` names every choice, and each table prints its rule.
``strict`` avoids the mistakes of the public evaluators.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ltr.errors import UserError
from pytracking.analysis import metrics

# of every command; most published numbers were computed with pytracking's evaluator
DEFAULT_RULE = "pytracking"


@dataclass(frozen=True, kw_only=True)
class EvaluatorRule:
    """The choices of one evaluator that affect scores.

    The errors of invalid frames are numbers that are compared with the thresholds like any other: ``-1`` makes such a
    frame a hit (as OTB's and pytracking's code do), ``inf`` a miss, and ``nan`` keeps the computed error.
    """

    name: str
    summary: str  # what sets the rule apart; printed under tables

    # which frames count
    skip_first_frame: bool = False  # False: the first prediction is replaced by the true box, a guaranteed hit
    # which true boxes are usable: "sized" (width and height > 0), "positive" (x and y > 0 as well: upstream's mistake)
    # or "any"
    usable_box: str = "sized"
    use_visibility: bool = True  # False: flags of invisible targets are ignored
    exclude_invalid: bool = False  # True: divide by the number of valid frames, False: by all frames
    use_cover: bool = False  # True: frames with a completely covered target do not count

    pixel_corners: bool = False  # compute overlap from inclusive last pixels; a perfect box scores 1 within 2e-16

    # values of frames without a usable true box
    invalid_overlap: float = -1.0
    invalid_centre: float = np.inf
    invalid_normalised: float = np.inf
    invisible_error: float = np.nan  # both centre errors where the target is flagged invisible; nan: as invalid

    # predictions
    repeat_empty: bool = False  # replace an empty box by the one before it
    repeat_nan: bool = False  # the same for a NaN box
    pad_short: bool = False  # pad missing rows at the end with zeros; False: an error
    cut_long: bool = False  # ignore excess rows; False: an error
    clip_to_image: bool = False
    round_boxes: bool = False  # to integers
    round_centre_error: int | None = None  # decimals

    # curves and their summaries
    gap: float = 0.05  # between overlap thresholds
    inclusive: bool = False  # success is overlap >= threshold
    auc: str = "grid_mean"  # or "trapezoid", or "exact" (the integral, which equals the mean overlap)
    error_steps: int = 50  # number of centre-error steps over 0 ... 50 px
    precision: str = "at_20"  # or "trapezoid" over 0 ... 50 px
    normalised: str = "at_0.20"  # or "trapezoid" or "grid_mean" over 0 ... 0.5

    # how sequences are combined
    pool_frames: bool = False  # True: every frame has the same weight; False: every sequence
    drop_zero_curves: bool = False  # leave sequences that are lost from the first frame out of the mean

    @property
    def overlap_thresholds(self) -> np.ndarray:
        return metrics.overlap_thresholds(self.gap)

    @property
    def pixel_thresholds(self) -> np.ndarray:
        return np.linspace(0.0, 50.0, self.error_steps + 1)

    @property
    def normalised_thresholds(self) -> np.ndarray:
        return self.pixel_thresholds / 100.0

    def for_dataset(self, dataset: str) -> EvaluatorRule:
        """Returns this rule with the exceptions that its evaluator makes for a dataset."""
        return replace(self, **_EXCEPTIONS.get((self.name, dataset), {}))


_OTB_FRAMES = dict(
    usable_box="positive",
    pixel_corners=True,
    invalid_centre=-1.0,
    invalid_normalised=-1.0,
    repeat_empty=True,
    repeat_nan=True,
)

RULES: dict[str, EvaluatorRule] = {
    rule.name: rule
    for rule in (
        EvaluatorRule(
            name="pytracking",
            summary="all frames count, invalid ones as hits of the normalised precision",
            usable_box="positive",
            pixel_corners=True,
            invalid_normalised=-1.0,
            repeat_empty=True,
            pad_short=True,
            cut_long=True,
        ),
        EvaluatorRule(
            name="strict",
            summary="only frames with a visible target of positive size count; AUC is the exact area = mean overlap",
            exclude_invalid=True,
            invalid_overlap=np.nan,
            auc="exact",
        ),
        EvaluatorRule(
            name="got10k",
            summary="first frame dropped, boxes clipped to the image, all frames pooled, 101 thresholds",
            skip_first_frame=True,
            usable_box="any",
            use_visibility=False,
            exclude_invalid=True,
            use_cover=True,
            clip_to_image=True,
            gap=0.01,
            pool_frames=True,
        ),
        EvaluatorRule(
            name="lasot",
            summary="absent frames miss, invalid ones hit the precision, lost sequences are left out",
            **_OTB_FRAMES,
            cut_long=True,
            invisible_error=np.inf,
            drop_zero_curves=True,
        ),
        EvaluatorRule(
            name="trackingnet",
            summary="boxes rounded, overlap >= threshold, trapezoid areas over 21 thresholds",
            usable_box="any",
            use_visibility=False,
            pixel_corners=True,
            round_boxes=True,
            inclusive=True,
            auc="trapezoid",
            error_steps=20,
            precision="trapezoid",
            normalised="trapezoid",
        ),
        EvaluatorRule(
            name="otb",
            summary="all frames count, invalid ones hit the precision, centre error to 4 decimals",
            **_OTB_FRAMES,
            round_centre_error=4,
        ),
    )
}

# pytracking's evaluator depends on the dataset's name; no other rule does
_EXCEPTIONS: dict[tuple[str, str], dict] = {
    ("pytracking", "uav"): {"invalid_centre": -1.0},
    ("pytracking", "lasot"): {"invisible_error": np.inf, "pad_short": False},
}


def get_rule(
    rule: str | EvaluatorRule, *, gap: float | None = None, exclude_invalid: bool | None = None
) -> EvaluatorRule:
    """Returns a rule by name; ``gap`` and ``exclude_invalid`` are pytracking's ``plot_bin_gap`` and
    ``exclude_invalid_frames``.
    """
    if isinstance(rule, str):
        if rule not in RULES:
            raise UserError(f"rule: no evaluator rule '{rule}'; there are: {', '.join(RULES)}")
        rule = RULES[rule]
    if gap is not None:
        rule = replace(rule, gap=gap)
    if exclude_invalid is not None:
        rule = replace(rule, exclude_invalid=exclude_invalid)
    metrics.overlap_thresholds(rule.gap)  # raises on a gap that does not divide 1
    return rule
