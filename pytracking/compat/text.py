"""Annotations: tables of numbers, and VOT's regions."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ltr.sequence_files import parse_table
from pytracking.vot_integration.regions import box_from_region


def load_text(path: str | Path, delimiter: Any = " ", dtype: Any = np.float32, backend: str = "numpy") -> np.ndarray:
    """The numbers of a file; delimiters are found, and ``backend`` is not used."""
    data = Path(path).read_bytes()
    columns = len(data.split(b"\n", 1)[0].replace(b",", b" ").split())
    return parse_table(data, path, columns).astype(dtype)


def convert_vot_anno_to_rect(vot_anno: Sequence[float], type: str) -> list[float]:
    """The box of a polygon: "union" or "preserve_area"."""
    return box_from_region(vot_anno, type).tolist()
