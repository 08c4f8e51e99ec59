"""The training log: one CSV row per epoch, readable while training runs."""
import csv
import io
from pathlib import Path

from ltr.files import write_text


class CsvLog:
    """Appends rows of numbers; the first row in the file determines the columns."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, row: dict[str, float | int | str]) -> None:
        self._write([*self._rows(), {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}])

    def cut_from_epoch(self, epoch: int) -> None:
        """Removes the rows of epochs that a resumed run will repeat."""
        if kept := [row for row in self._rows() if int(row["epoch"]) < epoch]:
            self._write(kept)
        else:
            self.path.unlink(missing_ok=True)

    def _rows(self) -> list[dict[str, str]]:
        if not self.path.is_file():
            return []
        with self.path.open(newline="") as file:
            return list(csv.DictReader(file))

    def _write(self, rows: list[dict]) -> None:
        """Rewrites the whole, small file atomically."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), extrasaction="ignore", restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text(self.path, text.getvalue())
