"""Parses trackers as users write them: ``tracker/parameters[@network][#run]``, or two names separated by a space."""
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
    """The text does not name a tracker."""


@dataclass(frozen=True, slots=True)
class TrackerReference:
    """A tracker, its parameters, and optionally the network and the run."""

    tracker: str
    parameters: str = "default"
    network: str | None = None
    run: int | None = None

    @classmethod
    def parse(cls, text: str) -> TrackerReference:
        """Parses ``tracker/parameters[@network][#run]``; also ``tracker parameters`` and ``tracker:parameters``."""
        match = _REFERENCE.fullmatch(text.strip())
        if match is None:
            raise TrackerReferenceError(f"'{text}' does not name a tracker: expected {FORM}, e.g. {EXAMPLE}")
        run = int(match["run"]) if match["run"] else None
        return cls(match["tracker"], match["parameters"] or "default", match["network"], run)

    def __str__(self) -> str:
        network = f"@{self.network}" if self.network else ""
        return f"{self.tracker}/{self.parameters}{network}" + ("" if self.run is None else f"#{self.run}")


def join_words(words: list[str]) -> list[str]:
    """Joins trackers given as two words: ``["a", "x", "b/y"]`` becomes ``["a/x", "b/y"]``.

    A word without ``/`` or ``:`` names a tracker, and the next such word its parameters.
    """
    joined, remaining = [], list(words)
    while remaining:
        word = remaining.pop(0)
        followed = remaining and not any(re.search("[/: ]", each) for each in (word, remaining[0]))
        joined.append(f"{word}/{remaining.pop(0)}" if followed else word)
    return joined
