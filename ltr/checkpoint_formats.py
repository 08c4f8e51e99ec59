"""Parses the dictionaries in checkpoint files: our own, pytracking's, RT-MDNet's, and bare state dicts."""
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ltr.errors import UserError
from ltr.pickle_limits import brief
from ltr.restricted_pickle import InertRecord

FORMAT = "rls-tracking checkpoint"
METADATA_NODES = 20_000  # more than any real file has; a few bytes of pickle can describe exponentially many


class CheckpointError(UserError):
    """A checkpoint cannot be used; the message names the file, the reason and the remedy."""


@dataclass(slots=True)
class Checkpoint:
    """Content of a checkpoint file."""

    net: dict[str, Tensor]  # the state dict
    constructor: dict[str, Any] | None  # {"function": dotted name, "kwargs": {...}}, if the file records it
    metadata: dict[str, Any] = field(default_factory=dict)  # JSON-like; "format" is the kind of file


def parse_content(path: Path, content: Any) -> Checkpoint:
    """Interprets what ``torch.save`` wrote to ``path``; raises a CheckpointError if it is not a checkpoint."""
    if not isinstance(content, Mapping):
        raise CheckpointError(f"{path}: holds a {type(content).__name__}, not a checkpoint's dictionary")
    if content.get("format") == FORMAT:
        return _parse_own(path, content)
    if "net" in content:
        return _parse_pytracking(path, content)
    if "shared_layers" in content:
        return _parse_mdnet(path, content)
    if content and all(isinstance(value, Tensor) for value in content.values()):
        return Checkpoint(dict(content), None, {"format": "state dict"})
    raise CheckpointError(
        f"{path}: has neither 'net' (pytracking) nor 'shared_layers' (MDNet) and is not a plain state dict; "
        f"it contains {brief(list(content))}"
    )


def _state_dict(path: Path, value: Any) -> dict[str, Tensor]:
    named = isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
    if not named or not all(isinstance(tensor, Tensor) for tensor in value.values()):
        raise CheckpointError(f"{path}: its network is not a dictionary of tensors")
    return dict(value)


def _parse_own(path: Path, content: Mapping[str, Any]) -> Checkpoint:
    net = _state_dict(path, content.get("net"))
    constructor, metadata = (_plain(path, content.get(key)) for key in ("constructor", "metadata"))
    if not isinstance(constructor, dict) or not isinstance(metadata, dict):
        raise CheckpointError(f"{path}: constructor and metadata must be dictionaries")
    upcast = {name: t.float() if t.dtype == torch.float16 else t for name, t in net.items()}
    return Checkpoint(upcast, constructor, {"format": FORMAT, **metadata})


def _parse_pytracking(path: Path, content: Mapping[str, Any]) -> Checkpoint:
    record = content.get("constructor")
    constructor = None
    if isinstance(record, InertRecord):
        module, name = (record.attributes.get(key, "") for key in ("fun_module", "fun_name"))
        if not isinstance(module, str) or not isinstance(name, str):
            raise CheckpointError(f"{path}: its constructor is {brief(module)} {brief(name)}, not two names")
        module = module.removeprefix("dlframework.")
        kwargs = _plain(path, record.attributes.get("kwds") or {})
        constructor = {"function": f"{module}.{name}", "kwargs": kwargs}
        if record.attributes.get("args"):
            raise CheckpointError(f"{path}: its constructor takes unnamed arguments {brief(record.attributes['args'])}")
    keys = ("epoch", "actor_type", "net_type", "net_info", "stats")
    metadata = {key: _plain(path, content[key]) for key in keys if key in content}
    return Checkpoint(_state_dict(path, content["net"]), constructor, {"format": "pytracking", **metadata})


def _parse_mdnet(path: Path, content: Mapping[str, Any]) -> Checkpoint:
    layers = _state_dict(path, content["shared_layers"])
    net = {f"layers.{name}": tensor for name, tensor in layers.items()}
    constructor = {"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": {}}
    return Checkpoint(net, constructor, {"format": "mdnet"})


def _plain(path: Path, value: Any) -> Any:
    """A JSON-like copy of bounded size: records become dictionaries, values of other types their type's name."""
    budget = METADATA_NODES

    def copy(item: Any) -> Any:
        nonlocal budget
        budget -= 1
        if budget < 0:
            raise CheckpointError(f"{path}: refused: its metadata has more entries than any real checkpoint's")
        if item is None or isinstance(item, (bool, int, float, str)):
            return item
        if isinstance(item, InertRecord):
            return copy(item.attributes)
        if isinstance(item, Mapping):
            return {str(key): copy(entry) for key, entry in item.items()}
        if isinstance(item, (list, tuple)):
            return [copy(entry) for entry in item]
        return f"tensor{tuple(item.shape)}" if isinstance(item, Tensor) else type(item).__name__

    try:
        return copy(value)
    except RecursionError:
        raise CheckpointError(f"{path}: refused: its metadata contains itself") from None
