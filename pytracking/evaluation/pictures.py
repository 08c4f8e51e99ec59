"""Contact sheets of sequences, with the annotation and a tracker's boxes."""
from collections.abc import Iterable

import numpy as np

from pytracking.evaluation.sequence import Sequence
from pytracking.utils.contact_sheet import COLOURS, captioned, draw_box, grid


def sequence_row(sequence: Sequence, count: int, width: int, boxes: np.ndarray | None = None) -> list[np.ndarray]:
    """Captions ``count`` evenly spaced frames of a sequence: the annotation in green, ``boxes`` (n, 4) in orange."""
    row, last = [], len(sequence) - 1
    for index in sorted({round(index) for index in np.linspace(0, last, min(count, last + 1))}):
        image = sequence.load_frame(index).copy()
        thickness = max(1, round(image.shape[1] / 200))
        if index < len(sequence.ground_truth_rect):
            draw_box(image, sequence.ground_truth_rect[index], COLOURS["truth"], thickness)
        if boxes is not None:
            draw_box(image, boxes[index], COLOURS["prediction"], thickness)
        hidden = sequence.target_visible is not None and not sequence.target_visible[index]
        caption = f"{sequence.name} {index + 1}/{len(sequence)}" + (" (not visible)" if hidden else "")
        row.append(captioned(image, caption, width))
    return row


def contact_sheet(
    sequences: Iterable[Sequence], boxes: dict[str, np.ndarray] | None = None, *, columns: int = 6, width: int = 240
) -> np.ndarray:
    """Draws one row per sequence; ``boxes`` has a tracker's boxes (n, 4) by sequence name."""
    return grid([sequence_row(sequence, columns, width, (boxes or {}).get(sequence.name)) for sequence in sequences])
