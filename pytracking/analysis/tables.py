"""A table of numbers that prints as text, Markdown, LaTeX or CSV."""
import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ltr.errors import UserError

FORMATS = ("text", "markdown", "latex", "csv")
_LATEX_WORDS = {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
_LATEX_SPECIAL = {letter: "\\" + letter for letter in "&%$#_{}"} | _LATEX_WORDS


@dataclass(frozen=True)
class Number:
    """A number with its decimals and, optionally, the half width of its 95 % interval."""

    value: float
    interval: float = float("nan")
    decimals: int = 2

    def shown(self) -> str:
        if math.isnan(self.value):
            return "-"
        text = f"{self.value:.{self.decimals}f}"
        return text if math.isnan(self.interval) else f"{text} ± {self.interval:.{self.decimals}f}"


Cell = str | int | Number


@dataclass
class Table:
    """Rows under a header."""

    title: str
    header: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)  # the first cell of a row is its name
    notes: list[str] = field(default_factory=list)  # lines below the table, e.g. the evaluator rule
    best: Sequence[str] = ()  # columns whose largest number is bold in LaTeX and Markdown

    def render(self, style: str = "text") -> str:
        """Renders the table in one of ``FORMATS``."""
        if style not in FORMATS:
            raise UserError(f"format: one of {', '.join(FORMATS)}, not '{style}'")
        return {"text": self._text, "markdown": self._markdown, "latex": self._latex, "csv": self._csv}[style]()

    def __str__(self) -> str:
        return self.render("text")

    def _text(self) -> str:
        cells = [list(self.header), *([_show(cell) for cell in row] for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.header))]
        lines = []
        for row in cells:
            numbers = [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
            lines.append("  ".join([row[0].ljust(widths[0]), *numbers]))
        rule = "-" * len(lines[0])
        return "\n".join([self.title, rule, lines[0], rule, *(line.rstrip() for line in lines[1:]), rule, *self.notes])

    def _markdown(self) -> str:
        lines = [f"**{self.title}**", "", _pipes(self.header), _pipes([":---", *["---:"] * (len(self.header) - 1)])]
        for row in self._marked("**{}**"):
            lines.append(_pipes(cell.replace("|", "\\|") for cell in row))
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)])

    def _latex(self) -> str:
        lines = [
            rf"% {self.title}",
            rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
            r"\toprule",
            " & ".join(_escape(name) for name in self.header) + r" \\",
            r"\midrule",
        ]
        for row in self._marked(r"\textbf{{{}}}", _escape):
            lines.append(" & ".join(cell.replace("±", r"$\pm$") for cell in row) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *(f"% {note}" for note in self.notes)])

    def _csv(self) -> str:
        """Full-precision numbers; a column that has intervals is followed by a column of them."""
        columns: list[list[object]] = []
        for name, *cells in zip(self.header, *self.rows, strict=True):
            numbers = [cell if isinstance(cell, Number) else Number(math.nan) for cell in cells]
            values = [cell.value if isinstance(cell, Number) else cell for cell in cells]
            columns.append([name, *("" if value != value else value for value in values)])  # NaN is empty
            if not all(math.isnan(number.interval) for number in numbers):
                widths = ("" if math.isnan(number.interval) else number.interval for number in numbers)
                columns.append([f"{name} ± 95 %", *widths])
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows(zip(*columns, strict=True))
        return stream.getvalue() + "".join(f"# {note}\n" for note in self.notes)

    def _marked(self, bold: str, clean=lambda text: text) -> list[list[str]]:
        """Returns the cells as text, with the largest number of each ``best`` column in bold."""
        shown = [[clean(_show(cell)) for cell in row] for row in self.rows]
        for column, name in enumerate(self.header):
            values = [row[column].value for row in self.rows if isinstance(row[column], Number)]
            top = max((value for value in values if not math.isnan(value)), default=None)
            if name not in self.best or top is None or len(self.rows) < 2:
                continue
            for row, texts in zip(self.rows, shown, strict=True):
                if isinstance(row[column], Number) and row[column].value == top:
                    texts[column] = bold.format(texts[column])
        return shown


def _show(cell: Cell) -> str:
    return cell.shown() if isinstance(cell, Number) else str(cell)


def _pipes(cells) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape(text: str) -> str:
    return "".join(_LATEX_SPECIAL.get(letter, letter) for letter in text)
