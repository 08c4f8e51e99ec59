"""The parser of every command: one spelling of options, one way to write a tracker, hints for near misses."""
from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Container, Iterator, Sequence
from typing import Any, NoReturn

# What options are called in pytracking's scripts and in older versions; where a command has no such option itself.
OTHER_NAMES = {
    "--dataset-name": "--dataset",
    "--runid": "--run-id",
    "--threads": "--workers",
    "--save": "--output",
    "--into": "--output",
    "--optional-box": "--box",
    "--start-frame": "--start",
    "--network-engine": "--engine",
}
TRACKER_END = re.compile(r"[/:@#\s]")


class CommandParser(argparse.ArgumentParser):
    """Options are written with dashes; underscores, as in pytracking's scripts, mean the same.

    Args:
        tracker_first: the first two positional arguments are a tracker and its parameters, and may be written as one,
            ``tracker/parameters[@network][#run]``.
    """

    def __init__(self, *, tracker_first: bool = False, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        super().__init__(**options)
        self._tracker_first = tracker_first

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:  # type: ignore[override]
        """Registers options with dashes, however they are written here."""
        return super().add_argument(*dict.fromkeys(map(_with_dashes, names)), **options)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """As argparse's, after all words are brought into one form."""
        words = _one_spelling(list(sys.argv[1:] if args is None else args), self._option_string_actions)
        if self._tracker_first:
            words = self._with_two_words(words)
        return super().parse_known_args(words, namespace)

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> argparse.Namespace:  # type: ignore[override]
        """As argparse's; an unknown option is answered with the nearest one."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(self._about_unknown(unknown))
        return parsed

    def error(self, message: str) -> NoReturn:
        """Exits with a message and where to read more; argparse's list of all options would hide it."""
        self.exit(2, f"error: {message}\n`{self.prog} --help` shows what there is\n")

    def options(self) -> Iterator[str]:
        """Every option, those of the actions ("init", "run") included."""
        for action in self._actions:
            yield from (name for name in action.option_strings if name.startswith("--"))
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    yield from parser.options()

    def _about_unknown(self, words: list[str]) -> str:
        for word in words:
            if word.startswith("-"):
                near = difflib.get_close_matches(word.split("=")[0], list(self.options()), n=1, cutoff=0.6)
                return f"there is no option {word}" + (f"; did you mean {near[0]}?" if near else "")
        return f"too many arguments: {' '.join(words)}"

    def _with_two_words(self, words: list[str]) -> list[str]:
        place = next((i for i, word in enumerate(words) if _names_tracker(word, first=i == 0)), None)
        if place is None:
            return words
        from pytracking.evaluation.reference import TrackerReference, TrackerReferenceError

        try:
            reference = TrackerReference.parse(words[place])
        except TrackerReferenceError as error:
            self.error(str(error))
        extra = [] if reference.network is None else ["--network", reference.network]
        if reference.run is not None:
            if "--run-id" not in self.options():
                self.error(f"'{words[place]}': a video has no numbered runs; leave out #{reference.run}")
            extra += ["--run-id", str(reference.run)]
        return [*words[:place], reference.tracker, reference.parameters, *words[place + 1 :], *extra]


def _with_dashes(name: str) -> str:
    return name.replace("_", "-") if name.startswith("--") else name


def _one_spelling(words: list[str], own: Container[str]) -> list[str]:
    """Options with dashes, by the names that this parser has; everything after ``--`` stays as it is."""
    end = words.index("--") if "--" in words else len(words)
    options = []
    for word in words[:end]:
        name, equals, value = word.partition("=")
        name = _with_dashes(name)
        other = OTHER_NAMES.get(name)
        options.append((other if name not in own and other in own else name) + equals + value)
    return options + words[end:]


def _names_tracker(word: str, *, first: bool) -> bool:
    """Whether a word is a tracker and its parameters in one; an existing path is not, unless a tracker has its name."""
    if word.startswith("-") or not any(mark in word for mark in "/: @#"):
        return False
    from pytracking.evaluation.discovery import tracker_names  # here so that `pytracking --help` stays instant

    head = TRACKER_END.split(word, maxsplit=1)[0]
    return head in tracker_names() or (first and not os.path.exists(word) and "://" not in word and bool(head))
