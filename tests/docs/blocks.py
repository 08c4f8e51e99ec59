"""Code blocks of the documents."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(pytracking|python|make|\./install\.sh|pip|mkdir|echo|source|ffmpeg|pre-commit)\b")


@dataclass(frozen=True)
class Block:
    """One block and where it stands."""

    page: str
    line: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Lines of a shell block without comments; none if the block is a picture of files."""
        lines = [re.sub(r"\s+#.*$", "", line).strip() for line in self.text.splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        return lines if self.language == "bash" or all(COMMAND.match(line) for line in lines) else []


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(page.relative_to(ROOT).as_posix(), line, match["language"], match["text"]))
    return found


def python_pages() -> dict[str, list[Block]]:
    """The Python blocks of each page, in order: later ones build on earlier ones."""
    pages: dict[str, list[Block]] = {}
    for block in blocks():
        if block.language == "python":
            pages.setdefault(block.page, []).append(block)
    return pages


def shell_commands() -> list[tuple[str, str]]:
    """Every command of a shell block, with its page."""
    return [(block.page, line) for block in blocks() if block.language != "python" for line in block.commands]
