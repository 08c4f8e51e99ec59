"""The parser of every command: uniform options, one way to write a tracker, hints for misspelled names."""
import argparse
import difflib
import os
import re
import sys
from collections.abc import Container, Iterator, Sequence
from typing import Any, NoReturn

# Options of pytracking's scripts and of older versions -> ours; not applied if a command has the old option itself.
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
    """Accepts options with dashes or, as in pytracking's scripts, with underscores.

    Args:
        tracker_first: the first two positional arguments are a tracker and its parameters; they may be written as one
            word, ``tracker/parameters[@network][#run]``.
    """

    def __init__(self, *, tracker_first: bool = False, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        super().__init__(**options)
        self._tracker_first = tracker_first

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:  # type: ignore[override]
        """Registers options with dashes, even if they are given with underscores."""
        return super().add_argument(*dict.fromkeys(map(_with_dashes, names)), **options)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Like argparse's, after normalising options and the tracker."""
        words = _normalised(list(sys.argv[1:] if args is None else args), self._option_string_actions)
        if self._tracker_first:
            words = self._split_tracker(words)
        return super().parse_known_args(words, namespace)

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> argparse.Namespace:  # type: ignore[override]
        """Like argparse's; the error for an unknown option suggests the nearest one."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown_words_message(unknown))
        return parsed

    def error(self, message: str) -> NoReturn:
        """Exits with the message; argparse's long usage, which would hide it, is left out."""
        self.exit(2, f"error: {message}\n`{self.prog} --help` shows all options\n")

    def options(self) -> Iterator[str]:
        """Every option, including those of actions such as "init" and "run"."""
        for action in self._actions:
            yield from (name for name in action.option_strings if name.startswith("--"))
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    yield from parser.options()

    def _unknown_words_message(self, words: list[str]) -> str:
        for word in words:
            if word.startswith("-"):
                near = difflib.get_close_matches(word.split("=")[0], list(self.options()), n=1, cutoff=0.6)
                return f"there is no option {word}" + (f"; did you mean {near[0]}?" if near else "")
        return f"too many arguments: {' '.join(words)}"

    def _split_tracker(self, words: list[str]) -> list[str]:
        """Replaces ``tracker/parameters@network#run`` by two words and the options."""
        candidates = (i for i in range(len(words)) if not (i and self._takes_value(words[i - 1])))
        index = next((i for i in candidates if _is_reference(words[i], first=i == 0)), None)
        if index is None:
            return words
        from pytracking.evaluation.reference import TrackerReference, TrackerReferenceError

        try:
            reference = TrackerReference.parse(words[index])
        except TrackerReferenceError as error:
            self.error(str(error))
        extra = [] if reference.network is None else ["--network", reference.network]
        if reference.run is not None:
            if "--run-id" not in self.options():
                self.error(f"'{words[index]}': a video has no numbered runs; leave out #{reference.run}")
            extra += ["--run-id", str(reference.run)]
        return [*words[:index], reference.tracker, reference.parameters, *words[index + 1 :], *extra]

    def _takes_value(self, word: str) -> bool:
        action = self._option_string_actions.get(word)
        return action is not None and action.nargs != 0


def _with_dashes(name: str) -> str:
    return name.replace("_", "-") if name.startswith("--") else name


def _normalised(words: list[str], known: Container[str]) -> list[str]:
    """Options with dashes, under the names that the parser knows; words after ``--`` stay as they are."""
    end = words.index("--") if "--" in words else len(words)
    options = []
    for word in words[:end]:
        name, equals, value = word.partition("=")
        name = _with_dashes(name)
        new_name = OTHER_NAMES.get(name)
        options.append((new_name if name not in known and new_name in known else name) + equals + value)
    return options + words[end:]


def _is_reference(word: str, *, first: bool) -> bool:
    """Whether a word is a tracker with its parameters; not if it is an existing path, unless a tracker has its name."""
    if word.startswith("-") or not any(mark in word for mark in "/: @#"):
        return False
    from pytracking.evaluation.discovery import tracker_names  # a late import keeps `pytracking --help` fast

    head = TRACKER_END.split(word, maxsplit=1)[0]
    return head in tracker_names() or (first and not os.path.exists(word) and "://" not in word and bool(head))
