"""Use a tracker through the interface of ``cv2.Tracker``, and draw its boxes with supervision.

    python examples/opencv_interface.py [--tracker rls_dimp/default] [--frames 60] [--output picture.jpg]

Needs the package ``supervision``.
"""
from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np

import pytracking
from pytracking.evaluation import get_dataset

FOUND = 0.25  # lowest score of a found target; trackers without scores always report it as found


class OpenCVTracker:
    """``init(image, box)`` and ``update(image) -> (found, box)`` with BGR images, like OpenCV's own trackers."""

    def __init__(self, tracker: str = "rls_dimp/default") -> None:
        self._tracker = pytracking.load(tracker)
        self.score = 1.0

    def init(self, image: np.ndarray, box: tuple[float, float, float, float]) -> None:
        self._tracker.init(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), box)

    def update(self, image: np.ndarray) -> tuple[bool, tuple[int, int, int, int]]:
        output = self._tracker.update(cv2.cvtColor(image, cv2.COLOR_BGR2RGB))
        self.score = float(output.get("score", 1.0))
        x, y, w, h = (round(value) for value in output["target_bbox"])
        return self.score >= FOUND, (x, y, w, h)

    def getTrackingScore(self) -> float:  # noqa: N802  (OpenCV's name)
        return self.score


def as_detections(boxes: dict[int, tuple[float, ...]], scores: dict[int, float]):
    """Converts boxes x, y, w, h by target to ``supervision.Detections``."""
    import supervision as sv

    table = np.array(list(boxes.values()), dtype=float).reshape(-1, 4)
    return sv.Detections(
        xyxy=np.hstack([table[:, :2], table[:, :2] + table[:, 2:]]),
        confidence=np.array([scores[target] for target in boxes]),
        tracker_id=np.array(list(boxes)),
    )


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracker", default="rls_dimp/default")
    parser.add_argument("--sequence", default="fish", help="sequence of the demo dataset")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--output", type=Path, default=Path("supervision.jpg"))
    args = parser.parse_args(argv)
    import supervision as sv

    sequence = get_dataset("demo")[args.sequence]
    tracker = OpenCVTracker(args.tracker)
    tracker.init(cv2.imread(str(sequence.frames[0])), tuple(sequence.init_info()["init_bbox"]))
    track = {"color_lookup": sv.ColorLookup.TRACK}  # one colour per target, as there are no classes
    trace, boxes = sv.TraceAnnotator(thickness=2, **track), sv.BoxAnnotator(thickness=2, **track)
    labels = sv.LabelAnnotator(text_scale=0.4, **track)
    for file in sequence.frames[1 : args.frames]:
        image = cv2.imread(str(file))
        found, box = tracker.update(image)
        seen = as_detections({1: box} if found else {}, {1: tracker.getTrackingScore()})
        picture = labels.annotate(trace.annotate(boxes.annotate(image.copy(), seen), seen), seen)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(args.output), picture)
    print(f"picture: {args.output}")


if __name__ == "__main__":
    main()
