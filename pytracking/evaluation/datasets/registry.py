"""The table of datasets: the module that loads each, and the environment key of its folder.

A loader module has ``load(root: Path | None, variant: str | None) -> SequenceList``; it is imported on demand. Options
follow the name: ``folder:PATH?origin=1`` (annotations count pixels from 1), ``otb?missing=skip`` (use the available
sequences of an incomplete download).
"""
import importlib
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from ltr.errors import UserError
from pytracking.evaluation.datasets.base import IncompleteDatasetError
from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.sequence import SequenceList
from pytracking.utils.names import unknown_name_message


@dataclass(frozen=True)
class DatasetEntry:
    """How to load one dataset."""

    module: str  # module in pytracking/evaluation/datasets
    path_key: str | None = None  # environment key of its folder; None: the loader needs no folder
    variant: str | None = None  # part of the dataset, passed to the loader


DATASETS: dict[str, DatasetEntry] = {
    "demo": DatasetEntry("demo"),
    "otb": DatasetEntry("otb", "otb_path"),
    "otb2013": DatasetEntry("otb", "otb_path", "otb2013"),
    "otb50": DatasetEntry("otb", "otb_path", "otb50"),
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
    "lasot_extension_subset": DatasetEntry("lasot", "lasot_extension_subset_path", "extension"),
    "avist": DatasetEntry("avist", "avist_path"),
    "oxuva": DatasetEntry("oxuva", "oxuva_path", "dev"),
    "oxuva_dev": DatasetEntry("oxuva", "oxuva_path", "dev"),
    "oxuva_test": DatasetEntry("oxuva", "oxuva_path", "test"),
    "vot": DatasetEntry("vot", "vot_path", "vot"),  # as in pytracking: the videos of 2018, named without the year
    "vot16": DatasetEntry("vot", "vot16_path", "vot16"),
    "vot17": DatasetEntry("vot", "vot17_path", "vot17"),
    "vot18": DatasetEntry("vot", "vot18_path", "vot18"),
    "vot19": DatasetEntry("vot", "vot19_path", "vot19"),
}
FOLDER_PREFIX = "folder:"


def dataset_names() -> list[str]:
    """Every name that :func:`get_dataset` accepts, except ``folder:PATH``."""
    return sorted(DATASETS)


def get_dataset(*names: str) -> SequenceList:
    """Loads the sequences of one or more datasets, in order.

    Names are registered ones, or ``folder:PATH`` for any folder of sequences in the OTB layout; options may follow
    (``folder:PATH?origin=1``, ``otb?missing=skip``). Raises a UserError for an unknown name, a MissingPathError if a
    dataset's folder is not set, and an IncompleteDatasetError if sequences are missing.
    """
    sequences = SequenceList()
    for name in names:
        sequences.extend(_load(name))
    return sequences


def split_options(text: str) -> tuple[str, dict[str, str]]:
    """Splits ``NAME?key=value&key=value`` into the name and its options."""
    match = re.fullmatch(r"(?P<name>.+?)(?:\?(?P<options>\w+=[^?&/]*(?:&\w+=[^?&/]*)*))?", text)
    pairs = match["options"].split("&") if match and match["options"] else []
    return (match["name"] if match else text), dict(pair.split("=") for pair in pairs)


def _load(text: str) -> SequenceList:
    name, options = split_options(text)
    is_folder = name.startswith(FOLDER_PREFIX)
    entry = DATASETS.get(name.lower())
    if entry is None and not is_folder:
        if os.path.isdir(os.path.expanduser(name)):
            raise UserError(f"'{text}' is a folder, not the name of a dataset; write {FOLDER_PREFIX}{text}")
        raise UserError(unknown_name_message("dataset", name.lower(), [*dataset_names(), FOLDER_PREFIX + "PATH"]))
    unknown = set(options) - {"origin" if is_folder else "missing"}
    if unknown or options.get("missing", "skip") != "skip":
        known = f"{FOLDER_PREFIX}PATH?origin=1" if is_folder else f"{name}?missing=skip"
        raise UserError(f"dataset '{text}': options are written like '{known}'")
    if is_folder:
        return _loader("folder")(Path(name[len(FOLDER_PREFIX) :]).expanduser(), None, **options)
    root = env_settings().require(entry.path_key, f"dataset '{name}'") if entry.path_key else None
    try:
        return _loader(entry.module)(root, entry.variant)
    except IncompleteDatasetError as error:
        if "missing" not in options or not error.present:
            raise
        warnings.warn(f"{name}: only {len(error.present)} of {error.expected} sequences are available", stacklevel=3)
        return error.present


def _loader(module: str):
    return importlib.import_module(f"pytracking.evaluation.datasets.{module}").load
