"""A tracker as people write it: ``tracker/parameters[@network][#run]``, or the two names with a space between them."""
from __future__ import annotations

import re
from dataclasses import dataclass

from ltr.errors import UserError

FORM = "TRACKER/PARAMETERS[@NETWORK][#RUN]"
RESULTS_FORM = "TRACKER/PARAMETERS[@NETWORK][#RUNS]"
EXAMPLE = "rls_dimp/default, rls_dimp/default@dimp_mobile#0"
_NAME = r"[^/:=@#\s]+"
_REFERENCE = re.compile(
    rf"(?P<tracker>{_NAME})(?:(?:[/:]|\s+)(?P<parameters>{_NAME}))?(?:@(?P<network>[^#]+))?(?:#(?P<run>\d+))?"
)


class TrackerReferenceError(UserError):
    """A text that does not name a tracker."""


@dataclass(frozen=True, slots=True)
class TrackerReference:
    """A tracker, its parameters, and where stated the network and the run."""

    tracker: str
    parameters: str = "default"
    network: str | None = None
    run: int | None = None

    @classmethod
    def parse(cls, text: str) -> TrackerReference:
        """Reads ``tracker/parameters[@network][#run]``; ``tracker parameters`` and ``tracker:parameters`` as well."""
        match = _REFERENCE.fullmatch(text.strip())
        if match is None:
            raise TrackerReferenceError(f"'{text}' does not name a tracker: expected {FORM}, e.g. {EXAMPLE}")
        run = int(match["run"]) if match["run"] else None
        return cls(match["tracker"], match["parameters"] or "default", match["network"], run)

    def __str__(self) -> str:
        network = f"@{self.network}" if self.network else ""
        return f"{self.tracker}/{self.parameters}{network}" + ("" if self.run is None else f"#{self.run}")


def join_words(words: list[str]) -> list[str]:
    """Trackers of a list of words: ``["a", "x", "b/y"]`` becomes ``["a/x", "b/y"]``.

    A word without ``/`` or ``:`` names a tracker, and the next word of that kind its parameters.
    """
    joined: list[str] = []
    half = ""  # a tracker whose parameters are still to come
    for word in words:
        whole = "/" in word or ":" in word or " " in word
        if half:
            joined.append(half if whole else f"{half}/{word}")
            half = ""
            if not whole:
                continue
        if whole:
            joined.append(word)
        else:
            half = word
    return [*joined, half] if half else joined
