"""Error messages about unknown names, and safe file names."""
import difflib
import re
from collections.abc import Iterable, Mapping


def unknown_name_message(
    kind: str, name: str, existing: Iterable[str], *, senses: Mapping[str, str] | None = None, order: bool = True
) -> str:
    """Message that a name does not exist, with the nearest existing name and a list of all.

    Args:
        senses: synonyms used by other programs, e.g. ``{"lr": "learning_rate"}``.
        order: list the names alphabetically.
    """
    existing = sorted(existing) if order else list(existing)
    near = nearest(name, existing, senses or {})
    hint = f" Did you mean '{near}'?" if near else ""
    return f"there is no {kind} '{name}'.{hint} There are: {', '.join(existing) or 'none'}"


def shortened(lines: list[str], most: int = 10) -> list[str]:
    """The first ``most`` lines and, if there are more, a line with their number."""
    return lines if len(lines) <= most else [*lines[:most], f"... and {len(lines) - most} more"]


def file_stem(name: str) -> str:
    """Makes a name safe for use in file names on any system."""
    return re.sub(r"[^\w.@-]", "_", name).strip("_")


def nearest(name: str, existing: list[str], senses: Mapping[str, str]) -> str | None:
    """The name that was probably meant: a synonym, a similar spelling, or a name that shares words with it."""
    meant = senses.get(name.lower().replace("-", "_"))
    if meant in existing:
        return meant
    close = difflib.get_close_matches(name, existing, n=1, cutoff=0.6)
    if close:
        return close[0]
    words = set(name.lower().replace("-", "_").split("_"))
    shared = {other: len(words & set(other.split("_"))) for other in existing}
    best = max(shared, key=lambda other: (shared[other], -len(other)), default=None)
    if best is not None and shared[best]:
        return best
    return next(iter(difflib.get_close_matches(name, existing, n=1, cutoff=0.5)), None)
