"""Names of pytracking in modules that are ours too: found in :mod:`pytracking.compat` when somebody asks for them.

A module of ours has ``__getattr__ = upstream_names(__name__)`` and knows no more about it. Names that are not in the
table are errors as everywhere.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

COMPAT = "pytracking.compat"
LIBS = ("complex", "dcf", "fourier", "operation", "optimization")
CLASSES = ("Blur", "FlipHorizontal", "FlipVertical", "Identity", "Rotate", "Scale", "Transform", "Translation")
DATASETS = {name: f"{COMPAT}.datasets:{name}" for name in ("get_dataset_attributes", "load_dataset")}
# Module of ours: name there: where it really is, as module or module:name.
NAMES: dict[str, dict[str, str]] = {
    "pytracking": {
        "TensorList": f"{COMPAT}.tensorlist:TensorList",
        **{name: f"pytracking.libs.{name}" for name in LIBS},
    },
    "pytracking.utils": {name: f"{COMPAT}.params:{name}" for name in ("Choice", "FeatureParams", "TrackerParams")},
    "pytracking.features.augmentation": {name: f"{COMPAT}.augmentation:{name}" for name in CLASSES},
    "pytracking.evaluation": DATASETS,
    "pytracking.evaluation.datasets": DATASETS,
    "pytracking.analysis.plot_results": {
        name: f"{COMPAT}.analysis:{name}" for name in ("plot_got_success", "print_results_per_attribute")
    },
}


def upstream_names(module: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``."""

    def find(name: str) -> Any:
        place = NAMES[module].get(name)
        if place is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        source, _, attribute = place.partition(":")
        found = importlib.import_module(source)
        return getattr(found, attribute) if attribute else found

    return find
