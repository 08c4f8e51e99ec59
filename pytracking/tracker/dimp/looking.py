"""Looking for the target around its last position, and once more in a wider patch where that shows little.

A small patch is fast and holds few look-alikes. A target that left it, behind something or by a jump, is found again in
the wide one, which is seen at the same scale.
"""
from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from pytracking.tracker.dimp.confidence import UsualPeak
from pytracking.tracker.dimp.geometry import PatchFrame, TargetState
from pytracking.tracker.dimp.localization import Localization, Localizer
from pytracking.tracker.dimp.params import DimpParams

TRUSTED = ("normal", "hard_negative")  # flags of frames that are learnt from


@dataclass(frozen=True, slots=True)
class Sight:
    """What a patch shows."""

    frame: PatchFrame
    backbone: dict[str, Tensor]  # the network's maps
    features: Tensor  # (1, C, h, w) that the filter acts on
    found: Localization
    part_of_usual: float  # the peak, in units of the usual one


class LooksForTarget:
    """The part of a tracker that looks for the target."""

    params: DimpParams
    state: TargetState
    patch_size: np.ndarray  # (h, w), pixels
    cell_pixels: np.ndarray  # (h, w) of a score cell, patch pixels
    localize: Localizer
    usual_peak: UsualPeak

    def cut_patch(self, image: np.ndarray, size: np.ndarray | None = None) -> tuple[Tensor, PatchFrame]:
        """The patch of ``size`` (h, w), pixels, or of ``patch_size``, around the last position; where it lies."""
        raise NotImplementedError

    def sample_features(self, backbone: dict[str, Tensor]) -> Tensor:
        """What the filter acts on and memory keeps (1, C, h, w)."""
        raise NotImplementedError

    def score_map(self, features: Tensor) -> Tensor:
        """What the target is localised in (h, w)."""
        raise NotImplementedError

    def wide_patch_size(self) -> np.ndarray | None:
        """(h, w) of the second look, pixels; None where there is none.

        Rounded up to pairs of cells more than the first, so that a target in the middle meets the filter in one way.
        A cosine window says that the target is near, which a wider look would contradict.
        """
        side = self.params.wide_sample_size
        if side is None or side <= self.patch_size.max() or self.params.window_output:
            return None
        pair = 2 * self.cell_pixels
        return self.patch_size + (np.ceil((side - self.patch_size) / pair) * pair).astype(int)

    def look(self, image: np.ndarray) -> Generator[Tensor, dict[str, Tensor], Sight]:
        """The best sight of the target; patches to send through the network are yielded."""
        near = yield from self._look_at(image)
        wide_size = self.wide_patch_size()
        if wide_size is None or not self._shows_little(near):
            return near
        wide = yield from self._look_at(image, wide_size)
        if wide.found.flag not in TRUSTED:
            return near
        # followed, but not learnt from: the memory's samples are of one size
        return replace(wide, found=replace(wide.found, flag="uncertain"))

    def _look_at(self, image: np.ndarray, *size: np.ndarray) -> Generator[Tensor, dict[str, Tensor], Sight]:
        patch, frame = self.cut_patch(image, *size)
        backbone = yield patch
        features = self.sample_features(backbone)
        scores = self.score_map(features).cpu().numpy()  # (h, w)
        found = self.localize(scores, self.cell_pixels * frame.scale, self.state.pos - frame.pos, self.state.size)
        sight = Sight(frame, backbone, features, found, self.usual_peak.part(found.max_score))
        if found.flag != "not_found" and self._shows_little(sight):
            return replace(sight, found=replace(found, flag="uncertain"))
        return sight

    def _shows_little(self, seen: Sight) -> bool:
        limit = self.params.uncertain_part
        return seen.found.flag == "not_found" or (limit is not None and seen.part_of_usual < limit)
