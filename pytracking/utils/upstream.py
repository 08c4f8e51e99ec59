"""Upstream pytracking's names in modules that both projects have; loaded from :mod:`pytracking.compat` on demand.

Each of our modules only needs ``__getattr__ = upstream_names(__name__)``. Names that are not in the table raise
AttributeError as usual.
"""
import importlib
from collections.abc import Callable
from typing import Any

COMPAT = "pytracking.compat"
LIBS = ("complex", "dcf", "fourier", "operation", "optimization")
CLASSES = ("Blur", "FlipHorizontal", "FlipVertical", "Identity", "Rotate", "Scale", "Transform", "Translation")
DATASETS = {name: f"{COMPAT}.datasets:{name}" for name in ("get_dataset_attributes", "load_dataset")}
# Our module -> upstream name -> implementation, as module or module:name.
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
    """Returns a ``__getattr__`` for ``module``."""

    def find(name: str) -> Any:
        implementation = NAMES[module].get(name)
        if implementation is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        source, _, attribute = implementation.partition(":")
        imported = importlib.import_module(source)
        return getattr(imported, attribute) if attribute else imported

    return find
