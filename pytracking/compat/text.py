"""Reads tables of numbers and converts VOT regions to boxes."""
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ltr.sequence_files import parse_table
from pytracking.vot_integration.regions import box_from_region


def load_text(path: str | Path, delimiter: Any = " ", dtype: Any = np.float32, backend: str = "numpy") -> np.ndarray:
    """Reads the numbers of a file; ``delimiter`` and ``backend`` are ignored, as delimiters are detected."""
    data = Path(path).read_bytes()
    columns = len(data.split(b"\n", 1)[0].replace(b",", b" ").split())
    return parse_table(data, path, columns).astype(dtype)


def convert_vot_anno_to_rect(vot_anno: Sequence[float], type: str) -> list[float]:
    """Converts a polygon to a box; ``type`` is "union" or "preserve_area"."""
    return box_from_region(vot_anno, type).tolist()
