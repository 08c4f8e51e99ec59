"""Shows a sequence with several trackers' boxes: as a self-contained HTML page with a slider, or as a video."""
import base64
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pytracking.analysis.moments import Moment, overlaps, worst_moments
from pytracking.analysis.plots import COLOURS
from pytracking.evaluation.sequence import Sequence
from pytracking.utils.contact_sheet import draw_box, legend
from pytracking.utils.files import write_text
from pytracking.utils.image_io import encode_jpeg
from pytracking.utils.video_writer import VideoWriter

TEMPLATE = Path(__file__).with_name("playback.html")
SHARED = Path(__file__).parents[1] / "web" / "static" / "shared"  # styles and components of the tracking page
TRUTH_COLOUR = "#39FF14"  # annotations are green everywhere in this project
# without green, the annotation's colour, and black, which the legend's background hides
TRACKER_COLOURS = tuple(colour for colour in COLOURS if colour not in ("#009E73", "#000000"))
MOST_FRAMES = 600  # per page; longer sequences are thinned, but the worst moments are kept
MOST_WIDTH = 720  # of a frame in a page, pixels


def write_page(
    path: Path, sequence: Sequence, boxes: dict[str, np.ndarray], *, most_frames: int = MOST_FRAMES, fps: float = 20.0
) -> list[Moment]:
    """Writes the page with at most ``most_frames`` embedded frames; returns the worst moments."""
    scores = {name: overlaps(array, sequence) for name, array in boxes.items()}
    moments = worst_moments(scores)
    indices = _chosen_frames(len(sequence), most_frames, [moment.frame for moment in moments])
    height, width = sequence.load_frame(0).shape[:2]
    scale = min(1.0, MOST_WIDTH / width)
    data = {
        "name": sequence.name,
        "frames": len(sequence),
        "indices": indices,
        "width": round(width * scale),
        "height": round(height * scale),
        "scale": scale,
        "fps": fps,
        "truth": _plain_boxes(_shown_truth(sequence)),
        "trackers": [
            {
                "name": name,
                "boxes": _plain_boxes(array),
                "overlap": [None if np.isnan(value) else round(float(value), 3) for value in scores[name]],
            }
            for name, array in boxes.items()
        ],
        "moments": [{"frame": moment.frame, "text": moment.text} for moment in moments],
        "images": [_encoded(sequence, index) for index in indices],
    }
    parts = {
        "__TITLE__": html.escape(sequence.name),
        "__STYLE__": (SHARED / "style.css").read_text(encoding="utf-8"),
        "__SCRIPT__": _script(),
        # "</" inside the data would end the script element
        "__DATA__": json.dumps(data, separators=(",", ":")).replace("</", "<\\/"),
    }
    page = TEMPLATE.read_text(encoding="utf-8")
    write_text(path, re.sub("|".join(parts), lambda mark: parts[mark.group()], page))
    return moments


def _script() -> str:
    """Joins the shared modules and this page's script: a page opened from disk cannot import modules."""
    files = [*(SHARED / name for name in ("colours.js", "drawing.js", "timeline.js")), TEMPLATE.with_suffix(".js")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return re.sub(r"^(import .*;|export )", "", text, flags=re.MULTILINE)


def write_video(path: Path, sequence: Sequence, boxes: dict[str, np.ndarray], fps: float = 20.0) -> None:
    """Writes a video with the annotation, all boxes and, below the picture, a legend with each frame's overlap."""
    scores = {name: overlaps(array, sequence) for name, array in boxes.items()}
    with VideoWriter(path, fps) as writer:
        for frame in drawn_frames(sequence, boxes, scores):
            writer.write(frame)


def drawn_frames(
    sequence: Sequence, boxes: dict[str, np.ndarray], scores: dict[str, np.ndarray]
) -> Iterator[np.ndarray]:
    """Yields RGB uint8 frames with boxes and legend."""
    truth = _shown_truth(sequence)
    for index in range(len(sequence)):
        frame = np.ascontiguousarray(sequence.load_frame(index).copy())
        thickness = max(1, round(frame.shape[1] / 320))
        draw_box(frame, truth[index], _rgb(TRUTH_COLOUR), thickness)
        lines = [(f"{sequence.name}  {index + 1}/{len(sequence)}", "#FFFFFF"), ("annotation", TRUTH_COLOUR)]
        for number, (name, array) in enumerate(boxes.items()):
            colour = TRACKER_COLOURS[number % len(TRACKER_COLOURS)]
            draw_box(frame, array[index], _rgb(colour), thickness)
            overlap = scores[name][index]
            lines.append((name if np.isnan(overlap) else f"{name}  {overlap:.2f}", colour))
        yield np.vstack([frame, legend(frame.shape[1], [(text, _rgb(colour)) for text, colour in lines])])


def _shown_truth(sequence: Sequence) -> np.ndarray:
    """Returns the annotation (n, 4), NaN where there is nothing to draw."""
    truth = np.full((len(sequence), 4), np.nan)
    truth[: len(sequence.ground_truth_rect)] = sequence.ground_truth_rect
    truth[~(truth[:, 2:] > 0).all(axis=1)] = np.nan
    return truth


def _chosen_frames(frames: int, most: int, always: list[int]) -> list[int]:
    if frames <= most:
        return list(range(frames))
    evenly = np.linspace(0, frames - 1, max(2, most - len(always))).round().astype(int)
    return sorted({*evenly.tolist(), *always})


def _encoded(sequence: Sequence, index: int) -> str:
    return base64.b64encode(encode_jpeg(sequence.load_frame(index), MOST_WIDTH)).decode("ascii")


def _plain_boxes(boxes: np.ndarray) -> list[list[float] | None]:
    return [None if np.isnan(box).any() else [round(float(value), 1) for value in box] for box in boxes]


def _rgb(colour: str) -> tuple[int, int, int]:
    return tuple(bytes.fromhex(colour.removeprefix("#")))
