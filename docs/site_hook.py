"""Adds pages from outside this folder to the site (model cards, changes, contributing) and extends its menu."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
INCLUDED = {  # file in the repository: page of the site
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "ltr/bundled/dimp_mobile.md": "card_dimp_mobile.md",
    "ltr/bundled/rtmdnet_small.md": "card_rtmdnet_small.md",
}
TITLES = {  # pages of the menu's last section
    "benchmarks.md": "Benchmarks",
    "failures.md": "Failures",
    "pytracking_users.md": "For users of pytracking",
    "architecture.md": "Architecture",
    "reliability.md": "Reliability",
    "changelog.md": "Changes",
    "contributing.md": "Contributing",
    "card_dimp_mobile.md": "Card of dimp_mobile",
    "card_rtmdnet_small.md": "Card of rtmdnet_small",
}
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?P<rest>#[^)]*)?\)")


def on_config(config: Any) -> Any:
    """Adds existing pages to the menu."""
    existing = [page for page in TITLES if page in INCLUDED.values() or (ROOT / "docs" / page).is_file()]
    project = next(section["Project"] for section in config.nav if "Project" in section)
    project[:0] = [{TITLES[page]: page} for page in existing]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the included pages to the site."""
    for source, page in INCLUDED.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Redirects links out of this folder to the included page, or removes them."""
    origin = next((ROOT / source for source, name in INCLUDED.items() if name == page.file.src_uri), None)
    folder = (origin or ROOT / "docs" / page.file.src_uri).parent

    def redirect(match: re.Match[str]) -> str:
        target, rest = match["target"], match["rest"] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        path = (folder / target).resolve()
        try:
            inside = path.relative_to(ROOT).as_posix()
        except ValueError:
            return match[0]
        if inside in INCLUDED:
            return f"]({INCLUDED[inside]}{rest})"
        if inside.startswith("docs/"):
            return f"]({inside.removeprefix('docs/')}{rest})" if origin else match[0]
        return "]" if path.exists() else match[0]

    return LINK.sub(redirect, markdown)
