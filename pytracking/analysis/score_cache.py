"""Caches scores by content, so that a changed file, annotation, rule or program never yields an old number.

The key of a score is a digest of the result file's bytes, of the annotation and attributes that the evaluator reads,
of the rule, and of the scoring code. Timestamps and names do not matter. An unreadable cache file is computed again.
"""
import hashlib
import importlib.util
import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from pytracking.analysis.rules import EvaluatorRule
from pytracking.evaluation.sequence import Sequence
from pytracking.utils.files import replacing

# all modules between the text file and the cached number; a test follows the imports
SCORING_MODULES = (
    "ltr.overlap",
    "ltr.sequence_files",
    "pytracking.analysis.frames",
    "pytracking.analysis.metrics",
    "pytracking.analysis.rules",
    "pytracking.analysis.score_cache",
    "pytracking.analysis.score_files",
    "pytracking.analysis.scores",
    "pytracking.evaluation.results",
)
KEY_BYTES = 16
KEPT_ROWS = 5000  # per run; beyond this the oldest scores are dropped


@lru_cache
def code_digest() -> bytes:
    """Digests the scoring code: the text of its modules and numpy's version."""
    digest = hashlib.blake2b(np.__version__.encode(), digest_size=KEY_BYTES)
    for name in SCORING_MODULES:
        digest.update(f"|{name}|".encode())
        digest.update(Path(importlib.util.find_spec(name).origin).read_bytes())
    return digest.digest()


def sequence_digest(sequence: Sequence, rule: EvaluatorRule, options: str = "") -> bytes:
    """Digests the scoring code, the sequence data it reads, the rule and further options."""
    digest = hashlib.blake2b(code_digest(), digest_size=KEY_BYTES)
    digest.update(f"{rule!r} {options}".encode())
    facts = (sequence.ground_truth_rect, sequence.target_visible, *evaluator_facts(sequence).values())
    for value in facts:
        digest.update(b"-" if value is None else np.ascontiguousarray(value, dtype=np.float64).tobytes() + b"|")
    return digest.digest()


def evaluator_facts(sequence: Sequence) -> dict[str, object]:
    """Returns the keywords of :func:`pytracking.analysis.frames.frame_errors` that come from the dataset."""
    return {key: sequence.attributes.get(key) for key in ("image_size", "cover")}


def result_key(sequence_key: bytes, boxes: bytes, times: bytes | None) -> bytes:
    """Returns the key of one run on one sequence."""
    digest = hashlib.blake2b(boxes, digest_size=KEY_BYTES, key=sequence_key)
    digest.update(b"|times|" + times if times is not None else b"|none|")
    return digest.digest()


class ScoreCache:
    """Stores rows of numbers by key, in one file per run folder; without ``folder`` nothing is kept on disk."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._rows: dict[Path, dict[bytes, np.ndarray]] = {}
        self._changed: set[Path] = set()

    def get(self, run: Path, key: bytes) -> np.ndarray | None:
        """Returns the row of a key, or None."""
        return self._load(run).get(key)

    def put(self, run: Path, key: bytes, row: np.ndarray) -> None:
        """Adds a row; :meth:`save` writes it."""
        self._load(run)[key] = row
        self._changed.add(run)

    def save(self) -> None:
        """Writes added rows atomically; does nothing where the cache is not writable."""
        for run in self._changed:
            path = self._path(run)
            if path is None:
                continue
            groups: dict[int, list[bytes]] = {}
            for key, row in list(self._rows[run].items())[-KEPT_ROWS:]:
                groups.setdefault(len(row), []).append(key)  # rules differ in the number of thresholds
            arrays = {}
            for width, keys in groups.items():
                arrays[f"keys_{width}"] = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, KEY_BYTES)
                arrays[f"rows_{width}"] = np.stack([self._rows[run][key] for key in keys])
            try:
                with replacing(path) as temporary:
                    np.savez(temporary, **arrays)
            except OSError:
                continue
        self._changed.clear()

    def _load(self, run: Path) -> dict[bytes, np.ndarray]:
        if run not in self._rows:
            self._rows[run] = _read(self._path(run))
        return self._rows[run]

    def _path(self, run: Path) -> Path | None:
        if self._folder is None:
            return None
        name = hashlib.blake2b(os.path.abspath(run).encode(), digest_size=KEY_BYTES).hexdigest()
        return self._folder / f"{name}.npz"


def _read(path: Path | None) -> dict[bytes, np.ndarray]:
    rows: dict[bytes, np.ndarray] = {}
    if path is None or not path.exists():
        return rows
    try:
        with np.load(path, allow_pickle=False) as stored:
            for name in stored.files:
                if name.startswith("keys_"):
                    keys, values = stored[name], stored["rows_" + name.removeprefix("keys_")]
                    rows.update((key.tobytes(), row) for key, row in zip(keys, values, strict=True))
    except Exception:  # a damaged zip, header or length: the scores are computed again
        return {}
    return rows
