"""Adapts ``cv2.Tracker`` to the contract of this package."""
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
    """This build of OpenCV lacks the tracker."""


class OpenCVTracker(BaseTracker):
    """Boxes go in and out as integers, as ``cv2.Tracker`` has them.

    No seed reaches these trackers: all but MIL are deterministic, and MIL seeds itself from the clock.
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
            if score >= 0:  # -1 stands for "this tracker has none"
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
            raise FileNotFoundError(f"TrackerNano's second network is missing: put {head.name} into {head.parent}")
        return head


def check_available(algorithm: str) -> None:
    """Raises MissingOpenCVTracker, with the remedy, if this build of OpenCV lacks a tracker."""
    if algorithm not in FACTORIES:
        raise UserError(unknown_name_message("OpenCV tracker", algorithm, FACTORIES))
    if hasattr(cv2, FACTORIES[algorithm]):
        return
    if algorithm in CONTRIB_ONLY:
        raise MissingOpenCVTracker(
            f"OpenCV's '{algorithm}' is only in its contrib build, and this cv2 {cv2.__version__} is another one. "
            "Install the contrib build alone, as two cv2 packages overwrite each other's files: ./install.sh in a "
            "checkout, elsewhere pip uninstall -y opencv-python && pip install opencv-contrib-python"
        )
    raise MissingOpenCVTracker(f"this cv2 {cv2.__version__} has no '{algorithm}'; install opencv-python 4.8 or newer")


def _integer_box(box: list[float], image_size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The box rounded and cut to the image, at least one pixel large: OpenCV aborts on others."""
    height, width = image_size
    x, y, w, h = np.round(clip_to_image(np.array(box), image_size)).astype(int).tolist()
    x, y = min(x, width - 1), min(y, height - 1)
    return x, y, max(1, min(w, width - x)), max(1, min(h, height - y))
