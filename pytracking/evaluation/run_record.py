"""``run.json``: records how the results of a folder were made."""
import dataclasses
import functools
import hashlib
import json
import platform
import re
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from ltr.engine import choose_engine
from ltr.errors import UserError
from pytracking.evaluation.parameters import parameter_values
from pytracking.evaluation.seeds import seed_for
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.base import TrackerParams
from pytracking.utils.device import select_device, wanted_engine
from pytracking.utils.files import sha256, write_text
from pytracking.utils.threads import most_threads

RECORD_NAME = "run.json"
PACKAGES = (
    "rls-tracking", "torch", "numpy", "onnxruntime", "opencv-python", "opencv-contrib-python", "opencv-python-headless",
)  # fmt: skip
# Not compared between runs: they are not settings of the algorithm. ("stated" occurs in records of earlier versions.)
IGNORED_PARAMETERS = {"debug", "device", "engine", "cpu_threads", "network_file", "stated"}


class ChangedRunError(UserError):
    """A folder's results were made with other settings or other data than this run uses."""


def run_record(tracker: Tracker) -> dict[str, Any]:
    """Returns the record of a run that is about to start: the value and the source of every parameter.

    A parameter missing from ``provenance`` has its class's default value.
    """
    params = tracker.get_parameters()
    computing = {"device": "auto", "engine": "auto", "cpu_threads": None, **parameter_values(params)}
    device = select_device(str(computing["device"]))
    weights = tracker.weights.file
    return {
        "tracker": tracker.name,
        "parameter": tracker.parameter_name,
        "run_id": tracker.run_id,
        "parameters": recorded_parameters(params),
        "provenance": dict(sorted(getattr(params, "provenance", {}).items())),
        "weights": weights.name if weights else None,
        "weights_sha256": _digest(weights, weights.stat().st_mtime_ns) if weights else None,
        "seed": f"seed_for({tracker.run_id or 0}, sequence), e.g. {seed_for(tracker.run_id, 'demo')} for 'demo'",
        "device": str(device),
        "engine": choose_engine(wanted_engine(computing["engine"]), device),
        "cpu_threads": most_threads(computing["cpu_threads"]),  # origin/ has the actual number for each result
        "machine": platform.platform(),
        "python": platform.python_version(),
        "packages": _versions(),
        "start": now(),
        "end": None,
    }


def recorded_parameters(params: TrackerParams) -> dict[str, Any]:
    """Parameters by name, as JSON values."""
    return {name: _plain(value) for name, value in parameter_values(params).items()}


def read_record(folder: str | Path) -> dict[str, Any] | None:
    """Reads the record of a result folder; None if it is missing or damaged.

    Other OSErrors are raised, because a record may exist.
    """
    try:
        record = json.loads((Path(folder) / RECORD_NAME).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("parameters"), dict) else None


def write_record(folder: str | Path, record: dict[str, Any]) -> None:
    """Writes a record atomically."""
    write_text(Path(folder) / RECORD_NAME, json.dumps(record, indent=2) + "\n")


def settings_digest(record: dict[str, Any]) -> str:
    """Returns a digest that is equal for runs with the same parameters and the same network."""
    counted = {name: value for name, value in record["parameters"].items() if name not in IGNORED_PARAMETERS}
    text = json.dumps([counted, record.get("weights_sha256")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def changes(before: dict[str, Any], record: dict[str, Any]) -> list[str]:
    """Lists the differences between the settings of two records, one line each."""
    old, new = before.get("parameters", {}), record["parameters"]
    lines = [
        f"{name}: {old.get(name)!r} before, {new.get(name)!r} now"
        for name in sorted({*old, *new} - IGNORED_PARAMETERS)
        if old.get(name) != new.get(name)
    ]
    if before.get("weights_sha256") != record["weights_sha256"]:
        lines.append(f"network: {before.get('weights')} before, {record['weights']} now, with different content")
    return lines


def _plain(value: Any) -> Any:
    """Converts a value to what JSON can hold, so that it compares equal after being read back."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))  # an object's address in memory is not a setting


@functools.lru_cache
def _digest(path: Path, modified: int) -> str:
    """SHA-256 of a file, cached until it is modified: an experiment's many runs read a large network once."""
    return sha256(path)


def _versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def now() -> str:
    """The current time (UTC), as written in records."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
