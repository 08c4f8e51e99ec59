"""The training log: one csv row per epoch and phase, readable while training runs."""
from __future__ import annotations

import csv
from pathlib import Path


class CsvLog:
    """Appends rows of numbers; columns are fixed by the first row ever written to the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)

    def append(self, row: dict[str, float | int | str]) -> None:
        columns = self._columns() or list(row)
        is_new = not self.path.is_file()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore", restval="")
            if is_new:
                writer.writeheader()
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})

    def cut_from_epoch(self, epoch: int) -> None:
        """Removes rows of epochs that a resumed run will do again."""
        if not self.path.is_file():
            return
        with self.path.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if int(row["epoch"]) < epoch]
        columns = self._columns()
        self.path.unlink()
        for row in rows:
            with self.path.open("a", newline="") as file:
                writer = csv.DictWriter(file, columns)
                if file.tell() == 0:
                    writer.writeheader()
                writer.writerow(row)

    def _columns(self) -> list[str] | None:
        if not self.path.is_file():
            return None
        with self.path.open(newline="") as file:
            return next(csv.reader(file), None)
