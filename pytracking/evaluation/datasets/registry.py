"""Which module loads which dataset, and the environment key of its folder.

A loader module has ``load(root: Path | None, variant: str | None) -> SequenceList``; it is imported when asked for.
"""
from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.sequence import SequenceList
from pytracking.utils.names import unknown_name_message


@dataclass(frozen=True)
class DatasetEntry:
    """How to load one dataset."""

    module: str  # module in pytracking/evaluation/datasets
    path_key: str | None = None  # environment key of its folder; None: the loader needs no folder
    variant: str | None = None  # which part of the folder, handed to the loader


DATASETS: dict[str, DatasetEntry] = {
    "demo": DatasetEntry("demo"),
    "otb": DatasetEntry("otb", "otb_path"),
    "uav": DatasetEntry("uav", "uav_path"),
    "uav123_10fps": DatasetEntry("uav", "uav123_10fps_path", "10fps"),
    "dtb70": DatasetEntry("dtb70", "dtb70_path"),
    "nfs": DatasetEntry("nfs", "nfs_path"),
    "tpl": DatasetEntry("tpl", "tpl_path"),
    "tpl_nootb": DatasetEntry("tpl", "tpl_path", "nootb"),
    "tlp": DatasetEntry("tlp", "tlp_path"),
    "trackingnet": DatasetEntry("trackingnet", "trackingnet_path"),
    "got10k_test": DatasetEntry("got10k", "got10k_path", "test"),
    "got10k_val": DatasetEntry("got10k", "got10k_path", "val"),
    "got10k_ltrval": DatasetEntry("got10k", "got10k_path", "ltrval"),
    "lasot": DatasetEntry("lasot", "lasot_path"),
    "oxuva": DatasetEntry("oxuva", "oxuva_path", "dev"),
    "oxuva_dev": DatasetEntry("oxuva", "oxuva_path", "dev"),
    "oxuva_test": DatasetEntry("oxuva", "oxuva_path", "test"),
    "vot16": DatasetEntry("vot", "vot16_path", "vot16"),
    "vot17": DatasetEntry("vot", "vot17_path", "vot17"),
    "vot18": DatasetEntry("vot", "vot18_path", "vot18"),
    "vot19": DatasetEntry("vot", "vot19_path", "vot19"),
}
FOLDER_PREFIX = "folder:"


def dataset_names() -> list[str]:
    """Every name that :func:`get_dataset` takes, apart from ``folder:PATH``."""
    return sorted(DATASETS)


def get_dataset(*names: str) -> SequenceList:
    """Sequences of one or more datasets, in order.

    Args:
        names: registered names, or ``folder:PATH`` for any folder of sequences in the OTB layout.

    Raises:
        ValueError: for an unknown name (the message lists the known ones).
        MissingPathError: if a dataset's folder is not set.
    """
    sequences = SequenceList()
    for name in names:
        sequences.extend(_load(name))
    return sequences


def _load(name: str) -> SequenceList:
    if name.startswith(FOLDER_PREFIX):
        return _loader("folder")(Path(name[len(FOLDER_PREFIX) :]).expanduser(), None)
    entry = DATASETS.get(name)
    if entry is None:
        raise ValueError(unknown_name_message("dataset", name, [*dataset_names(), FOLDER_PREFIX + "PATH"]))
    root = env_settings().require(entry.path_key, f"dataset '{name}'") if entry.path_key else None
    return _loader(entry.module)(root, entry.variant)


def _loader(module: str):
    return importlib.import_module(f"pytracking.evaluation.datasets.{module}").load
