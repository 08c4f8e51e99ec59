"""Writes text files into a zip or a folder atomically, and reads them back for validation."""
from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

from ltr.errors import UserError
from pytracking.utils.files import replacing


class SubmissionError(UserError):
    """A submission that the benchmark would refuse or score wrongly; the message says why."""


def write_files(path: Path, files: dict[str, str]) -> None:
    """Writes texts by relative name to ``path``: a zip if it ends in .zip, otherwise a new folder."""
    if path.suffix == ".zip":
        with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise SubmissionError(f"{path} already exists; remove it or choose another --output")
    building = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        for name, text in files.items():
            target = building / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        if path.exists():
            path.rmdir()
        os.replace(building, path)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def read_files(path: Path) -> dict[str, str]:
    """Reads texts by relative name from a zip or a folder."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name).decode("utf-8") for name in archive.namelist() if not name.endswith("/")}
    found = sorted(file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): file.read_text(encoding="utf-8") for file in found}


def remove(path: Path) -> None:
    """Removes what :func:`write_files` wrote."""
    if path.suffix == ".zip":
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)
