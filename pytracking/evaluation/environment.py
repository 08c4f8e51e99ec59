"""Paths of results, networks and datasets.

Each key is looked up in this order: command-line flags, environment variables (``PYTRACKING_<KEY>``),
``pytracking/evaluation/local.py`` if the user has one, the user's config file, the default. A misspelled key is an
error that suggests the nearest one.
"""
import difflib
import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

from ltr.admin.environment import ConfigError, config_file, read_config
from ltr.errors import UserError
from pytracking.utils.names import unknown_name_message

LOCAL_FILE = Path(__file__).with_name("local.py")
VARIABLE_PREFIX = "PYTRACKING_"
# Folders without a default that single commands read: users' trackers, GOT-10k's reports.
OPTIONAL_KEYS = ("tracker_path", "got_reports_path")
TYPO_SIMILARITY = 0.8  # an unknown name at least this similar to a key is taken for a misspelling


class MissingPathError(UserError):
    """A path that a command needs is not set; the message shows how to set it."""


class EnvSettings:
    """Paths by key; keys that are not set read as None, unknown keys raise an AttributeError."""

    def __init__(self, **paths: str | Path | None) -> None:
        for key, value in paths.items():
            setattr(self, key, value)

    def __setattr__(self, key: str, value: str | Path | None) -> None:
        # In pytracking's local.py files '' means "not set".
        if isinstance(value, (str, os.PathLike)):
            value = Path(value).expanduser() if str(value) else None
        object.__setattr__(self, key, value)

    def __getattr__(self, key: str) -> None:
        if key.startswith("_"):  # copy and pickle ask for these
            raise AttributeError(key)
        if key not in known_keys():
            raise AttributeError(unknown_name_message("setting", key, known_keys()))
        return None

    def require(self, key: str, purpose: str = "this command") -> Path:
        """Returns the path of ``key``, or raises a MissingPathError that shows how to set it."""
        path = getattr(self, key)
        if path is None:
            raise MissingPathError(f"{purpose} needs the path '{key}', which is not set.\n{how_to_set(key)}")
        return path


def how_to_set(key: str) -> str:
    """The lines that set a key, for error messages."""
    return (
        f"Add this line to {config_file()}:\n"
        f'    {key} = "/path/to/it"\n'
        f"or, for the current shell:\n"
        f"    export {VARIABLE_PREFIX}{key.upper()}=/path/to/it"
    )


def known_keys() -> set[str]:
    """Every key: results, networks and caches, and the folder of each dataset."""
    # Not imported at the top: the registry imports this module.
    registry = importlib.import_module("pytracking.evaluation.datasets.registry")
    return {*_defaults(), *OPTIONAL_KEYS, *(entry.path_key for entry in registry.DATASETS.values() if entry.path_key)}


def env_settings() -> EnvSettings:
    """All settings, merged in the documented order."""
    merged: dict[str, Any] = _from_config_file(config_file())
    merged.update(_from_local_file(LOCAL_FILE))
    merged.update(_from_variables())
    return EnvSettings(**{**_defaults(merged.get("results_path")), **merged})


def apply_flags(**paths: str | Path | None) -> None:
    """Gives command-line values priority over everything else, in this process and the workers it starts."""
    for key, value in paths.items():
        if value is not None:
            os.environ[VARIABLE_PREFIX + key.upper()] = os.path.abspath(Path(value).expanduser())


def _defaults(results: str | Path | None = None) -> dict[str, Path]:
    """Default paths; plots and segmentations go into subfolders of the user's results folder."""
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file():
        base = checkout
    else:
        base = _user_folder("XDG_DATA_HOME", ".local/share") / "pytracking"
    results = Path(results or base / "results")
    return {
        "results_path": results,
        "network_path": base / "networks",
        "result_plot_path": results / "plots",
        "segmentation_path": results / "segmentation",
        "cache_path": _user_folder("XDG_CACHE_HOME", ".cache") / "pytracking",
    }


def _user_folder(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback)


def _from_config_file(path: Path) -> dict[str, str]:
    values = read_config(path)
    paths = {key: value for key, value in values.items() if not isinstance(value, dict)}  # [training] is ltr's
    for key, value in paths.items():
        if key not in known_keys():
            raise ConfigError(f"{path}: " + unknown_name_message("setting", key, known_keys()))
        if not isinstance(value, str):
            raise ConfigError(f'{path}: {key} must be a path in quotes, e.g. {key} = "/data/OTB100"')
    return paths


def _from_variables() -> dict[str, str]:
    names = [name for name, value in os.environ.items() if name.startswith(VARIABLE_PREFIX) and value]
    keys = {name: name.removeprefix(VARIABLE_PREFIX).lower() for name in names}
    return {key: os.environ[name] for name, key in keys.items() if _is_ours(key, f"environment variable {name}")}


def _is_ours(key: str, source: str) -> bool:
    """Whether a key exists; raises a ConfigError for a misspelled one.

    Other unknown keys are ignored: pytracking's local.py files have keys unused here, and not every variable is a path.
    """
    keys = known_keys()
    near = difflib.get_close_matches(key, keys, n=1, cutoff=TYPO_SIMILARITY)
    if key not in keys and near:
        raise ConfigError(f"{source}: there is no setting '{key}'. Did you mean '{near[0]}'?")
    return key in keys


def _from_local_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    spec = importlib.util.spec_from_file_location("pytracking.evaluation.local", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        settings = module.local_env_settings()
    except Exception as error:
        raise ConfigError(f"{path}: {type(error).__name__}: {error}; repair or remove the file") from error
    return {key: value for key, value in vars(settings).items() if _is_ours(key, str(path)) and value is not None}
