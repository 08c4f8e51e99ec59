"""pytracking's dataset classes, and sequences with several objects."""
from collections.abc import Mapping
from typing import Any

import numpy as np

from ltr.errors import UserError
from pytracking.evaluation import sequence as ours
from pytracking.evaluation.datasets.registry import get_dataset
from pytracking.evaluation.environment import EnvSettings, env_settings
from pytracking.evaluation.sequence import SequenceList


class BaseDataset:
    """Base class for users' own datasets."""

    def __init__(self) -> None:
        self.env_settings: EnvSettings = env_settings()

    def __len__(self) -> int:
        return len(self.get_sequence_list())

    def get_sequence_list(self) -> SequenceList:
        """Returns all sequences."""
        raise NotImplementedError


class Dataset(BaseDataset):
    """One of this project's datasets, by name."""

    def __init__(self, name: str, attribute: str | None = None) -> None:
        super().__init__()
        self.name, self.attribute = name, attribute

    def get_sequence_list(self) -> SequenceList:
        sequences = get_dataset(self.name)
        if self.attribute is None:
            return sequences
        return SequenceList([sequence for sequence in sequences if self.attribute in _attributes(sequence)])

    def get_attribute_names(self, mode: str = "short") -> list[str]:
        """Returns the sequences' attributes; ``mode`` is ignored, as each attribute has only one name here."""
        return sorted({name for sequence in get_dataset(self.name) for name in _attributes(sequence)})


def load_dataset(name: str, **kwargs: Any) -> Dataset:
    """Returns a dataset by name."""
    return Dataset(name, **kwargs)


def get_dataset_attributes(name: str, mode: str = "short", **kwargs: Any) -> dict[str, SequenceList]:
    """Returns the sequences of each attribute; a dataset without attributes has one entry, under its own name."""
    dataset = load_dataset(name, **kwargs)
    names = dataset.get_attribute_names(mode)
    if not names:
        return {name: dataset.get_sequence_list()}
    return {attribute: load_dataset(name, attribute=attribute).get_sequence_list() for attribute in names}


def _attributes(sequence: ours.Sequence) -> list[str]:
    return sequence.attributes.get("challenges", [])


class Sequence(ours.Sequence):
    """A sequence with pytracking's arguments; a mapping of boxes by object stands for one sequence per object.

    ``init_data`` gives the frame in which each object starts: ``{frame: {"bbox": {object: box}}}``; other objects start
    in the first frame. The runner uses the sequences of :meth:`by_object`, named ``<name>_<object>`` like pytracking's
    results.
    """

    def __init__(
        self,
        name: str,
        frames: list[str],
        dataset: str,
        ground_truth_rect: np.ndarray | Mapping[Any, np.ndarray],
        ground_truth_seg: Any = None,
        init_data: Mapping[int, Mapping[str, Any]] | None = None,
        object_class: str | None = None,
        target_visible: np.ndarray | None = None,
        object_ids: list[Any] | None = None,
        multiobj_mode: bool = False,
    ) -> None:
        if ground_truth_seg is not None:
            raise UserError(f"sequence '{name}': only boxes can be tracked, not masks")
        self.object_ids, self.multiobj_mode = object_ids, multiobj_mode
        self.objects: dict[Any, np.ndarray] = {}
        if isinstance(ground_truth_rect, Mapping):
            self.objects = {key: np.asarray(boxes, dtype=np.float64) for key, boxes in ground_truth_rect.items()}
            self.object_ids = list(self.objects) if object_ids is None else object_ids
            ground_truth_rect = self.objects[self.object_ids[0]]
        self.starts = {
            key: frame
            for frame, data in sorted((init_data or {}).items(), reverse=True)
            for key in (data["bbox"] if isinstance(data.get("bbox"), Mapping) else [None])
        }
        first = 0 if self.objects else min(self.starts.values(), default=0)
        boxes = np.asarray(ground_truth_rect)[first:]
        visible = None if target_visible is None else np.asarray(target_visible)[first:]
        super().__init__(name, frames[first:], dataset, boxes, target_visible=visible, object_class=object_class)

    def by_object(self) -> list[ours.Sequence]:
        if not self.objects:
            return [self]
        sequences = []
        for key in self.object_ids:
            start = self.starts.get(key, 0)
            sequences.append(
                ours.Sequence(
                    f"{self.name}_{key}",
                    self.frames[start:],
                    self.dataset,
                    self.objects[key][start:],
                    object_class=self.object_class,
                )
            )
        return sequences

    def init_info(self) -> dict[str, Any]:
        if not self.objects:
            return super().init_info()
        boxes = {key: self.objects[key][0].tolist() for key in self.object_ids if self.starts.get(key, 0) == 0}
        known = {"object_ids": self.object_ids, "sequence_object_ids": self.object_ids}
        return {"init_bbox": boxes, "init_object_ids": list(boxes), **known}

    def frame_info(self, frame_num: int) -> dict[str, Any]:
        later = [key for key in self.objects if frame_num and self.starts.get(key, 0) == frame_num]
        if not later:
            return super().frame_info(frame_num)
        return {"init_bbox": {key: self.objects[key][frame_num].tolist() for key in later}, "init_object_ids": later}
