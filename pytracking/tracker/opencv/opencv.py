"""Adapts ``cv2.Tracker`` to the interface of this package."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ltr.errors import MissingPackageError, UserError
from pytracking.tracker.base import BaseTracker
from pytracking.tracker.opencv.params import OpenCVParams
from pytracking.utils.boxes import clip_to_image
from pytracking.utils.names import unknown_name_message

FACTORIES = {
    "csrt": "TrackerCSRT_create",
    "kcf": "TrackerKCF_create",
    "mil": "TrackerMIL_create",
    "nano": "TrackerNano_create",
    "vit": "TrackerVit_create",
}
CONTRIB_ONLY = {"csrt", "kcf"}


class MissingOpenCVTracker(MissingPackageError):
    """The installed build of OpenCV lacks the tracker."""


class OpenCVTracker(BaseTracker):
    """One of OpenCV's trackers. Boxes are rounded to integers, as in ``cv2.Tracker``.

    The seed has no effect: all trackers but MIL are deterministic, and MIL seeds itself from the clock.
    """

    def __init__(self, params: OpenCVParams) -> None:
        super().__init__(params)
        check_available(params.algorithm)
        self._box: list[float] | None = None

    def initialize(self, image: np.ndarray, info: dict[str, Any]) -> None:
        self._tracker = self._create()
        self._box = [float(value) for value in info["init_bbox"]]
        self._tracker.init(cv2.cvtColor(image, cv2.COLOR_RGB2BGR), _integer_box(self._box, image.shape[:2]))

    def track(self, image: np.ndarray, info: dict[str, Any] | None = None) -> dict[str, Any]:
        found, box = self._tracker.update(cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
        if found:
            self._box = [float(value) for value in box]
        output = {"target_bbox": list(self._box), "flag": "normal" if found else "not_found"}
        if hasattr(self._tracker, "getTrackingScore"):
            score = float(self._tracker.getTrackingScore())
            if score >= 0:  # -1 if the tracker has no score
                output["score"] = score
        return output

    def _create(self) -> cv2.Tracker:
        algorithm = self.params.algorithm
        create = getattr(cv2, FACTORIES[algorithm])
        if algorithm == "nano":
            networks = cv2.TrackerNano_Params()
            networks.backbone = str(self.params.network_file)
            networks.neckhead = str(self._head_file())
            return create(networks)
        if algorithm == "vit":
            networks = cv2.TrackerVit_Params()
            networks.net = str(self.params.network_file)
            return create(networks)
        return create()

    def _head_file(self) -> Path:
        head = Path(self.params.network_file).with_name(self.params.head_weights)
        if not head.is_file():
            raise FileNotFoundError(f"the second network of TrackerNano is missing: put {head.name} into {head.parent}")
        return head


def check_available(algorithm: str) -> None:
    """Raises MissingOpenCVTracker, with installation advice, if this build of OpenCV lacks a tracker."""
    if algorithm not in FACTORIES:
        raise UserError(unknown_name_message("OpenCV tracker", algorithm, FACTORIES))
    if hasattr(cv2, FACTORIES[algorithm]):
        return
    if algorithm in CONTRIB_ONLY:
        raise MissingOpenCVTracker(
            f"OpenCV's '{algorithm}' is only in its contrib build, and this cv2 {cv2.__version__} is another build. "
            "Install only the contrib build, as two cv2 packages overwrite each other's files: in a checkout run "
            "./install.sh, otherwise pip uninstall -y opencv-python && pip install opencv-contrib-python"
        )
    raise MissingOpenCVTracker(f"this cv2 {cv2.__version__} has no '{algorithm}'; install opencv-python 4.8 or newer")


def _integer_box(box: list[float], image_size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The box rounded and clipped to the image, at least one pixel large: OpenCV aborts on other boxes."""
    height, width = image_size
    x, y, w, h = np.round(clip_to_image(np.array(box), image_size)).astype(int).tolist()
    x, y = min(x, width - 1), min(y, height - 1)
    return x, y, max(1, min(w, width - x)), max(1, min(h, height - y))
