"""``run.json``: what made the results of a folder."""
from __future__ import annotations

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
# Views of the run, not part of what is computed. ("stated": in records of earlier versions.)
IGNORED_PARAMETERS = {"debug", "device", "engine", "cpu_threads", "network_file", "stated"}


class ChangedRunError(UserError):
    """A folder's results were made with other settings or other data than the run that would extend them."""


def run_record(tracker: Tracker) -> dict[str, Any]:
    """The record of a run that is about to start: every parameter as it will run, and who stated it.

    A parameter that ``provenance`` does not name has the value that its class gives it.
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
        "cpu_threads": most_threads(computing["cpu_threads"]),  # origin/ has what each result was really computed with
        "machine": platform.platform(),
        "python": platform.python_version(),
        "packages": _versions(),
        "start": now(),
        "end": None,
    }


def recorded_parameters(params: TrackerParams) -> dict[str, Any]:
    """Parameters by name, each as JSON holds it."""
    return {name: _plain(value) for name, value in parameter_values(params).items()}


def read_record(folder: str | Path) -> dict[str, Any] | None:
    """The record of a result folder; None where there is none, or an unreadable one.

    An OSError passes: the record may be there, so nothing must be concluded.
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
    """A digest that is equal for runs with the same parameters on the same network."""
    counted = {name: value for name, value in record["parameters"].items() if name not in IGNORED_PARAMETERS}
    text = json.dumps([counted, record.get("weights_sha256")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def changes(before: dict[str, Any], record: dict[str, Any]) -> list[str]:
    """How the settings of two records differ, one line per difference."""
    old, new = before.get("parameters", {}), record["parameters"]
    lines = [
        f"{name}: {old.get(name)!r} before, {new.get(name)!r} now"
        for name in sorted({*old, *new} - IGNORED_PARAMETERS)
        if old.get(name) != new.get(name)
    ]
    if before.get("weights_sha256") != record["weights_sha256"]:
        lines.append(f"network: {before.get('weights')} before, {record['weights']} now, with other content")
    return lines


def _plain(value: Any) -> Any:
    """A value as JSON can hold it, so that it compares equal after reading it back."""
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
def _digest(path: Path, _: int) -> str:
    """A large file is read once for the many runs of an experiment; the second argument is its time of change."""
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
    """The time of day, as records have it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
