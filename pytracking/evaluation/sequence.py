"""An annotated sequence of frames, and a list of them."""
from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ltr.errors import UserError
from pytracking.utils.image_io import ImageReadError, read_image


class SequenceError(UserError):
    """A sequence that cannot be evaluated; the message names it and its file."""


class Sequence:
    """Frames of one video and the target's box in each of them.

    Args:
        ground_truth_rect: boxes (n, 4); NaN rows where the target is absent or the box unknown; (1, 4) if only the
            first box is published.
        target_visible: per frame, whether the target is visible; None: in frames whose box is not NaN.
        attributes: any other information from the dataset, e.g. ``{"challenges": ["occlusion"]}``.
        annotation_file: source of the boxes, for error messages.
    """

    def __init__(
        self,
        name: str,
        frames: Iterable[str | Path],
        dataset: str,
        ground_truth_rect: np.ndarray,
        *,
        target_visible: np.ndarray | None = None,
        object_class: str | None = None,
        attributes: dict[str, Any] | None = None,
        annotation_file: str | Path | None = None,
    ) -> None:
        self.name = name
        self.frames = [str(frame) for frame in frames]
        self.dataset = dataset
        self.object_class = object_class
        self.attributes = attributes or {}
        self.annotation_file = str(annotation_file) if annotation_file else None
        self.ground_truth_rect = np.asarray(ground_truth_rect, dtype=np.float64)
        self._frames_identity: dict[str, Any] | None = None  # computed on demand, as it reads the first frame
        self._check()
        if target_visible is None and len(self.ground_truth_rect) == len(self.frames):
            target_visible = ~np.isnan(self.ground_truth_rect).any(axis=1)
        self.target_visible = None if target_visible is None else np.asarray(target_visible, dtype=bool)
        if self.target_visible is not None and self.target_visible.shape != (len(self.frames),):
            raise SequenceError(
                f"{self.label}: visibility given for {self.target_visible.size} of {len(self.frames)} frames"
            )

    @property
    def label(self) -> str:
        """Describes this sequence in messages."""
        source = f" ({self.annotation_file})" if self.annotation_file else ""
        return f"sequence '{self.name}' of '{self.dataset}'{source}"

    def _check(self) -> None:
        boxes = self.ground_truth_rect
        if not self.frames:
            raise SequenceError(f"{self.label}: no frames")
        if boxes.ndim != 2 or boxes.shape[1] != 4 or len(boxes) == 0:
            raise SequenceError(f"{self.label}: ground truth must have rows of four numbers, got shape {boxes.shape}")
        if len(boxes) not in (1, len(self.frames)):
            raise SequenceError(
                f"{self.label}: {len(boxes)} ground-truth rows for {len(self.frames)} frames; "
                "give one row per frame (NaN,NaN,NaN,NaN where the target is absent) or only the first box"
            )

    def __len__(self) -> int:
        return len(self.frames)

    def __repr__(self) -> str:
        return f"Sequence({self.name!r}, {len(self)} frames, dataset={self.dataset!r})"

    def init_info(self) -> dict[str, Any]:
        """A tracker's information for the first frame: ``init_bbox`` as a list of four floats."""
        return {"init_bbox": self.ground_truth_rect[0].tolist()}

    def frame_info(self, frame_num: int) -> dict[str, Any]:
        """:meth:`init_info` for the first frame (0), nothing for the others."""
        return self.init_info() if frame_num == 0 else {}

    def init_bbox(self, frame_num: int = 0) -> list[float] | None:
        """The initial box in the first frame, None in others."""
        return self.frame_info(frame_num).get("init_bbox")

    def by_object(self) -> list[Sequence]:
        """One sequence per object: just this one, unless a subclass with several objects overrides it."""
        return [self]

    def identity(self) -> dict[str, Any]:
        """Distinguishes this sequence from others of the same name: its frames, their size and the initial box.

        Folders are left out, so that a dataset may be moved.
        """
        if self._frames_identity is None:
            height, width = self.load_frame(0).shape[:2]
            names = [os.path.basename(frame) for frame in self.frames]
            self._frames_identity = {
                "frames": len(names),
                "first_frame": names[0],
                "last_frame": names[-1],
                "names_sha256": hashlib.sha256("\n".join(names).encode()).hexdigest(),
                "size": [width, height],
            }
        return {**self._frames_identity, "first_box": self.ground_truth_rect[0].tolist()}

    def load_frame(self, index: int) -> np.ndarray:
        """Frame ``index`` (0-based) as RGB uint8 (h, w, 3); an ImageReadError names file, sequence and frame."""
        try:
            return read_image(self.frames[index])
        except ImageReadError as error:
            raise ImageReadError(f"{error} (frame {index + 1} of sequence '{self.name}')") from error


class UnknownSequenceError(UserError, KeyError):
    """No sequence of a list has this name."""


class SequenceList(list[Sequence]):
    """A list of sequences that can also be indexed by a name or by a list; sums and slices are SequenceLists, too."""

    def __getitem__(self, key: int | slice | str | list[int] | tuple[int, ...]) -> Sequence | SequenceList:
        if isinstance(key, str):
            for sequence in self:
                if sequence.name == key:
                    return sequence
            raise UnknownSequenceError(f"no sequence '{key}'; there are: {', '.join(self.names) or 'none'}")
        if isinstance(key, (list, tuple)):
            return SequenceList([self[each] for each in key])
        item = super().__getitem__(key)
        return SequenceList(item) if isinstance(key, slice) else item

    def __add__(self, other: Iterable[Sequence]) -> SequenceList:
        return SequenceList([*self, *other])

    def copy(self) -> SequenceList:
        return SequenceList(self)

    @property
    def names(self) -> list[str]:
        """Names of the sequences, in order."""
        return [sequence.name for sequence in self]
