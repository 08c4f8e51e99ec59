"""Creates workspaces of the official toolkit: configuration, trackers and sequences."""
import configparser
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytracking
from ltr.errors import UserError
from pytracking.evaluation.environment import VARIABLE_PREFIX
from pytracking.utils.files import write_text
from pytracking.utils.names import unknown_name_message
from pytracking.vot_integration.sequences import SourceSequence, write_sequences
from pytracking.vot_integration.trackers import TrackerSpec

DEFAULT_TIMEOUT = 600  # seconds per answer: a deep tracker's first frame on a busy CPU takes minutes


class WorkspaceError(UserError):
    """A workspace cannot be created or used; the message names the folder and the remedy."""


@dataclass(frozen=True)
class StackChanges:
    """Changes to a stack whose own settings do not suit the data or the computer."""

    repetitions: int | None = None  # of the supervised experiments without time limit
    eao_interval: tuple[int, int] | None = None  # sequence lengths over which EAO averages

    def __bool__(self) -> bool:
        return self.repetitions is not None or self.eao_interval is not None

    def applied(self, stack: dict[str, Any]) -> dict[str, Any]:
        """Returns the changed stack, with the changes in its title and without the dataset that it was made for."""
        stack = {key: value for key, value in stack.items() if key != "dataset"}
        changes = [] if self.repetitions is None else [f"{self.repetitions} repetitions"]
        changes += [] if self.eao_interval is None else ["EAO over lengths {} to {}".format(*self.eao_interval)]
        stack["title"] = f"{stack.get('title', 'stack')}, changed: {', '.join(changes)}"
        for experiment in stack["experiments"].values():
            if self.repetitions is not None and experiment["type"] == "supervised" and "realtime" not in experiment:
                experiment["repetitions"] = self.repetitions
            for analysis in experiment.get("analyses", []):
                if self.eao_interval is not None and analysis["type"] == "supervised_eao_score":
                    analysis["low"], analysis["high"] = self.eao_interval
        return stack


def is_workspace(folder: str | Path) -> bool:
    """Whether a folder holds a workspace."""
    return (Path(folder) / "config.yaml").is_file()


def create_workspace(
    folder: str | Path,
    stack: str,
    trackers: Iterable[TrackerSpec],
    sequences: Iterable[SourceSequence] | None,
    *,
    changes: StackChanges | None = None,
    timeout: int = DEFAULT_TIMEOUT,
) -> list[str]:
    """Writes a workspace.

    Args:
        stack: one of the toolkit's, e.g. ``vot2018/shortterm``, or the path of a ``.yaml`` file.
        sequences: the sequences to write; None lets the toolkit download the stack's dataset.

    Returns:
        Names of the sequences left out because the target is absent in some frames and the stack is reset-based.
    """
    folder = Path(folder).expanduser().resolve()
    if is_workspace(folder):
        raise WorkspaceError(f"'{folder}' is already a workspace; give another folder, or just --trackers to add some")
    stack_name, definition = read_stack(stack, changes)
    left_out: list[str] = []
    if sequences is not None:
        kept, left_out = _usable(sequences, definition)
        write_sequences(kept, folder / "sequences")
    else:
        _download(definition, folder / "sequences")
    for name in ("results", "logs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    add_trackers(folder, trackers, timeout=timeout)
    if stack_name == "stack.yaml":
        write_text(folder / "stack.yaml", _yaml(definition))
    write_text(folder / "config.yaml", _yaml({"registry": ["./trackers.ini"], "stack": stack_name}))
    return left_out


def add_trackers(folder: str | Path, trackers: Iterable[TrackerSpec], *, timeout: int = DEFAULT_TIMEOUT) -> None:
    """Adds entries to a workspace's ``trackers.ini``; entries of the same name are replaced, others are kept."""
    registry = Path(folder) / "trackers.ini"
    entries = configparser.ConfigParser()
    entries.read(registry)
    for spec in trackers:
        entries[spec.identifier] = {
            key: value.replace("%", "%%") for key, value in _registry_entry(spec, timeout).items()
        }
    text = io.StringIO()
    entries.write(text)
    write_text(registry, text.getvalue())


def _registry_entry(spec: TrackerSpec, timeout: int) -> dict[str, str]:
    # A tenth of the timeout remains for logging where the tracker hangs, before the toolkit ends it.
    arguments = [sys.executable, "-m", "pytracking.run_vot", spec.name, spec.parameter]
    arguments += ["--timeout", f"{0.9 * timeout:g}"]
    if spec.network is not None:
        arguments += ["--network", spec.network]
    command = subprocess.list2cmdline(arguments) if sys.platform == "win32" else shlex.join(arguments)
    # The toolkit starts trackers in a temporary folder, so every path must be absolute.
    package_root = str(Path(pytracking.__file__).resolve().parents[1])
    search_path = [package_root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    entry = {
        "label": spec.label,
        "protocol": "trax",
        "command": command,
        "timeout": str(timeout),
        "meta_tracker": spec.name,
        "meta_parameter": spec.parameter,
        "meta_network": spec.network or "",
        "meta_other_network": "yes" if spec.other_network else "",
        "env_pythonpath": os.pathsep.join(os.path.abspath(path) for path in search_path),
    }
    for name, value in sorted(os.environ.items()):
        if name.startswith(VARIABLE_PREFIX) and name.endswith("_PATH") and value:
            entry[f"env_{name.lower()}"] = os.path.abspath(os.path.expanduser(value))
    return entry


def registered_spec(tracker: Any) -> TrackerSpec | None:
    """The project's tracker for an entry of a workspace's registry; None for other trackers."""
    if not tracker.metadata("tracker"):
        return None
    network = tracker.metadata("network") or None
    other_network = bool(tracker.metadata("other_network"))
    return TrackerSpec(tracker.metadata("tracker"), tracker.metadata("parameter"), network, other_network)


def read_stack(name: str, changes: StackChanges | None) -> tuple[str, dict[str, Any]]:
    """Returns the stack's name in config.yaml (``stack.yaml`` if it is the workspace's own file) and its content."""
    import yaml
    from vot.stack import list_integrated_stacks, resolve_stack

    own = Path(name).expanduser()
    is_file = own.suffix in (".yaml", ".yml")
    path = own if is_file and own.is_file() else resolve_stack(name)
    if path is None or not Path(path).is_file():
        raise WorkspaceError(unknown_name_message("stack", name, list_integrated_stacks()))
    with open(path, encoding="utf-8") as stream:
        definition = yaml.safe_load(stream)
    if not isinstance(definition, dict) or not isinstance(definition.get("experiments"), dict):
        raise WorkspaceError(f"{path}: a stack needs a mapping 'experiments'")
    if changes:
        return "stack.yaml", changes.applied(definition)
    return ("stack.yaml" if is_file else name), definition


def _usable(
    sequences: Iterable[SourceSequence], stack: dict[str, Any]
) -> tuple[list[SourceSequence], list[str]]:
    sequences = list(sequences)
    resets = any(experiment.get("type") == "supervised" for experiment in stack["experiments"].values())
    kept = [sequence for sequence in sequences if sequence.always_visible or not resets]
    if not kept:
        raise WorkspaceError(
            "in every sequence the target is absent in some frames, which reset-based experiments do not support; "
            "use a long-term stack, e.g. vot2019/longterm"
        )
    return kept, [sequence.name for sequence in sequences if sequence not in kept]


def _download(stack: dict[str, Any], folder: Path) -> None:
    from vot.workspace import Workspace

    if not stack.get("dataset"):
        raise WorkspaceError("this stack names no dataset to download; give --sequences PATH or --dataset NAME")
    folder.mkdir(parents=True, exist_ok=True)
    Workspace.download_dataset(stack["dataset"], str(folder))
    if not (folder / "list.txt").is_file():
        raise WorkspaceError(f"the download of {stack['dataset']} into '{folder}' is incomplete; run it again")


def _yaml(content: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(content, sort_keys=False)
