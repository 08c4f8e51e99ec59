"""Messages about names that do not exist."""
from __future__ import annotations

import difflib
from collections.abc import Iterable


def unknown_name_message(kind: str, name: str, existing: Iterable[str]) -> str:
    """Says that a name does not exist, which one is nearest, and which ones there are."""
    existing = sorted(existing)
    near = difflib.get_close_matches(name, existing, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"there is no {kind} '{name}'.{hint} There are: {', '.join(existing) or 'none'}"
