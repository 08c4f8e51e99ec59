"""The command line: ``pytracking COMMAND``, or ``python -m pytracking COMMAND``."""
import sys

from pytracking import __version__
from pytracking.cli.commands import COMMANDS, command_module, command_parser, run_command
from pytracking.utils.names import unknown_name_message


def main(argv: list[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help"):
        print(usage(), file=sys.stdout if argv else sys.stderr)
        return 0 if argv else 2
    if argv[0] in ("-V", "--version"):
        print(f"pytracking (rls-tracking) {__version__}")
        return 0
    command, rest = argv[0], argv[1:]
    if command not in COMMANDS:
        print(f"error: {_unknown_command_message(argv)}", file=sys.stderr)
        return 2
    return run_command(command_parser(command), command_module(command).run, rest)


def usage() -> str:
    """What ``pytracking --help`` prints."""
    lines = [f"  {name:<12} {text}" for name, text in COMMANDS.items()]
    examples = (
        "  pytracking run rls_dimp/default --dataset demo\n"
        "  pytracking video rls_dimp/default my.mp4 --output tracked.mp4\n"
        "  pytracking analyze demo rls_dimp/default opencv/csrt"
    )
    head = "usage: pytracking COMMAND [ARGUMENTS]      (pytracking COMMAND --help shows a command's arguments)"
    return "\n".join([head, "", "commands:", *lines, "", "examples:", examples])


def _unknown_command_message(argv: list[str]) -> str:
    from pytracking.evaluation.discovery import tracker_names

    if argv[0].replace(":", "/").split("/")[0] in tracker_names():
        return f"'{argv[0]}' is a tracker; to run it: pytracking run {' '.join(argv)}"
    return unknown_name_message("command", argv[0], COMMANDS, order=False)


if __name__ == "__main__":
    sys.exit(main())
