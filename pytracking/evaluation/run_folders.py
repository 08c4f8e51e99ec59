"""Which runs of which parameters a tracker's result folder holds, as ``<param>[_%03d]`` folders or zips of them."""
from __future__ import annotations

import re
from pathlib import Path


def list_runs(folder: Path, param: str) -> dict[int | None, Path]:
    """Runs of a parameter in a tracker's folder, by number (None: the one without)."""
    runs: dict[int | None, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        stem = path.name.removesuffix(".zip")
        number = re.fullmatch(re.escape(param) + r"(?:_(\d{3}))?", stem)
        if number and (path.is_dir() or path.suffix == ".zip"):
            runs.setdefault(int(number[1]) if number[1] else None, path)
    return runs


def parameter_folders(folder: Path) -> list[str]:
    """Parameters that a tracker's folder has results of."""
    if not folder.is_dir():
        return []
    stems = (path.name.removesuffix(".zip") for path in folder.iterdir() if path.is_dir() or path.suffix == ".zip")
    return sorted({re.sub(r"_\d{3}$", "", stem) for stem in stems})
