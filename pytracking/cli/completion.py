"""``pytracking completion bash|zsh|fish``: prints a completion script, generated from the commands' parsers."""
import argparse
from collections.abc import Iterable

from pytracking.cli.commands import COMMANDS, command_parser

SHELLS = ("bash", "zsh", "fish")
HELP = """to use it:
  bash: pytracking completion bash >> ~/.bash_completion
  zsh:  pytracking completion zsh >> ~/.zshrc
  fish: pytracking completion fish > ~/.config/fish/completions/pytracking.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, HELP
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    words = command_words()
    print(_fish(words) if args.shell == "fish" else _bash(words, zsh=args.shell == "zsh"))
    return 0


def command_words() -> dict[str, list[str]]:
    """Words that can follow each command: actions, options, trackers and datasets."""
    from pytracking.evaluation.datasets.registry import dataset_names
    from pytracking.evaluation.discovery import parameter_names, tracker_names

    trackers = [f"{name}/{parameters}" for name in tracker_names() for parameters in parameter_names(name)]
    names = [*trackers, *dataset_names(), "folder:"]
    words = {}
    for command in COMMANDS:
        parser = command_parser(command)
        words[command] = [*_actions(parser), *dict.fromkeys(parser.options()), *names]
    return words


def _actions(parser: argparse.ArgumentParser) -> Iterable[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices


def _bash(words: dict[str, list[str]], *, zsh: bool) -> str:
    cases = "\n".join(f"    {command}) words='{' '.join(listed)}' ;;" for command, listed in words.items())
    start = "autoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    return f"""{start}_pytracking() {{
  local words current="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{' '.join(words)}' -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) return ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -o bashdefault -F _pytracking pytracking"""


def _fish(words: dict[str, list[str]]) -> str:
    lines = [f"complete -c pytracking -n __fish_use_subcommand -a '{' '.join(words)}'"]
    for command, listed in words.items():
        lines.append(f"complete -c pytracking -n '__fish_seen_subcommand_from {command}' -a '{' '.join(listed)}'")
    return "\n".join(lines)
