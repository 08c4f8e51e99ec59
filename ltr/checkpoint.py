"""Checkpoints: reads published ones safely, writes our own as plain tensors with JSON-like metadata."""
import importlib
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ltr.checkpoint_formats import FORMAT, Checkpoint, CheckpointError, parse_content
from ltr.files import is_web_page
from ltr.pickle_limits import DamagedFileError, UnsafeFileError, brief
from ltr.torch_file import read_torch_file, write_torch_file

NETWORKS = (
    "ltr.models.tracking.dimpnet.dimpnet18",
    "ltr.models.tracking.dimpnet.dimpnet50",
    "ltr.models.tracking.dimpnet.dimpnet50_simple",
    "ltr.models.tracking.dimpnet.klcedimpnet18",
    "ltr.models.tracking.dimpnet.klcedimpnet50",
    "ltr.models.tracking.dimpnet.dimpnet_mobile",
    "ltr.models.tracking.mdnet.mdnet",
    "ltr.models.bbreg.atom.atom_resnet18",
    "ltr.models.bbreg.atom.atom_resnet50",
)
SPARE_ENTRIES, SPARE_TENSORS = 2**22, 2000  # allowed beyond those in the file, e.g. MDNet's branches


def read_checkpoint(path: str | Path, *, tensors: bool = True) -> Checkpoint:
    """Reads our own, pytracking's (all formats) and RT-MDNet's files without executing pickled code.

    With ``tensors=False``, only names, shapes and metadata are read. A CheckpointError names the file and the problem.
    """
    path = Path(path)
    _check_file_start(path)
    try:
        content = read_torch_file(path, tensors=tensors)
    except UnsafeFileError as error:
        raise CheckpointError(f"{path}: refused: {error}. Get the network from another source.") from error
    except (DamagedFileError, OSError) as error:
        raise CheckpointError(f"{path}: {error}. Download or copy the file again.") from error
    return parse_content(path, content)


def save_checkpoint(
    path: str | Path,
    net_state: Mapping[str, Tensor],
    constructor: dict[str, Any],
    metadata: dict[str, Any] | None = None,
    *,
    half: bool = False,
) -> None:
    """Writes plain tensors and JSON-like metadata atomically; ``torch.load(path, weights_only=True)`` reads the file.

    ``constructor`` is ``{"function": one of NETWORKS, "kwargs": {...}}``. With ``half``, floating-point tensors are
    stored in 16 bits; :func:`read_checkpoint` converts them back to 32.
    """
    if constructor.get("function") not in NETWORKS:
        raise CheckpointError(f"constructor function {constructor.get('function')!r} is not one of {list(NETWORKS)}")
    tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in net_state.items()}
    if half:
        tensors = {name: t.half() if t.is_floating_point() else t for name, t in tensors.items()}
        overflowed = [name for name, t in tensors.items() if t.is_floating_point() and not torch.isfinite(t).all()]
        if overflowed:
            raise CheckpointError(f"{overflowed[:4]} do not fit into 16 bits; save with half=False")
    content = {
        "format": FORMAT,
        "version": 1,
        "net": tensors,
        "constructor": _json_like(constructor, "constructor"),
        "metadata": _json_like(metadata or {}, "metadata"),
    }
    write_torch_file(path, content)


def load_network(path: str | Path, device: str | torch.device = "cpu", **overrides: Any) -> nn.Module:
    """Builds the network that a checkpoint describes, in eval mode, with the file's weights and ``metadata``.

    ``overrides`` replace recorded constructor arguments; pass ``constructor=dotted name`` for files that record none.

    Raises:
        CheckpointError: the file is damaged, unsafe, or matches no network of this package.
    """
    path = Path(path)
    checkpoint = read_checkpoint(path)
    build = _builder(path, checkpoint, overrides)
    with _NetworkSize(checkpoint.net), _NoRandomNumbers():
        network = build()
    expected = network.state_dict()
    unstored = tuple(getattr(network, "unstored_prefixes", ()))
    new = [name for name in expected if name.startswith(unstored) and name not in checkpoint.net] if unstored else []
    _require_same_names(path, checkpoint.net, {name: t for name, t in expected.items() if name not in new})
    if new:
        network = build()  # parts that files never contain keep their random initialisation
        checkpoint.net.update({name: network.state_dict()[name] for name in new})
    weights = {name: t.float() if t.is_floating_point() else t.clone() for name, t in checkpoint.net.items()}
    network.load_state_dict(weights, strict=True, assign=True)
    network.metadata = checkpoint.metadata
    return network.to(device).eval()


class _NoRandomNumbers(TorchFunctionMode):
    """Skips random initialisation, which loading overwrites and which takes longer than reading the file."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in (Tensor.normal_, Tensor.uniform_):
            return args[0]
        return func(*args, **(kwargs or {}))


class _NetworkSize(TorchFunctionMode):
    """Refuses to build a network much larger than the stored weights: the arguments in a file may ask for any size."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        self._entries = 4 * sum(tensor.numel() for tensor in weights.values()) + SPARE_ENTRIES
        self._tensors = 4 * len(weights) + SPARE_TENSORS

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in (torch.empty, torch.zeros, torch.ones, torch.full):
            sizes = args[0] if args and isinstance(args[0], (tuple, list)) else args
            self._entries -= math.prod(side for side in sizes if isinstance(side, int))
            self._tensors -= 1
            if self._entries < 0 or self._tensors < 0:
                raise ValueError("they describe a network many times larger than the file's tensors")
        return func(*args, **(kwargs or {}))


def _builder(path: Path, checkpoint: Checkpoint, overrides: dict[str, Any]) -> Callable[[], nn.Module]:
    function = overrides.pop("constructor", None) or (checkpoint.constructor or {}).get("function")
    if function is None:
        raise CheckpointError(f"{path}: does not say which network it is; pass constructor= one of {list(NETWORKS)}")
    if function not in NETWORKS:
        raise CheckpointError(f"{path}: the network is a {brief(function)}; this package has {list(NETWORKS)}")
    module, name = function.rsplit(".", 1)
    constructor = getattr(importlib.import_module(module), name)
    recorded = (checkpoint.constructor or {}).get("kwargs", {})
    if not isinstance(recorded, dict):
        raise CheckpointError(f"{path}: the recorded arguments of {name} are {brief(recorded)}, not a dictionary")
    arguments = {**recorded, **overrides}

    def build() -> nn.Module:
        try:
            return constructor(**arguments)
        except CheckpointError:
            raise
        except Exception as error:  # the arguments come from the file and may be anything
            reason = f"{type(error).__name__}: {str(error)[:200]}"
            raise CheckpointError(f"{path}: {name} cannot be built from the recorded arguments: {reason}") from error

    return build


def _require_same_names(path: Path, found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    missing = [name for name in expected if name not in found]
    surplus = [name for name in found if name not in expected]
    shapes = [
        f"{name} is {tuple(found[name].shape)} instead of {tuple(tensor.shape)}"
        for name, tensor in expected.items()
        if name in found and found[name].shape != tensor.shape
    ]
    problems = [
        f"{len(names)} {what} ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"
        for names, what in ((missing, "missing"), (surplus, "unknown"), (shapes, "of another shape"))
        if names
    ]
    if problems:
        raise CheckpointError(f"{path}: these weights belong to another network: {'; '.join(problems)}")


def _check_file_start(path: Path) -> None:
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file; `pytracking weights list` says where to get networks")
    with open(path, "rb") as file:
        start = file.read(512)
    if not start.strip():
        raise CheckpointError(f"{path}: is empty. Download it again.")
    if is_web_page(start):
        raise CheckpointError(
            f"{path}: is a web page, not a network: the download server (usually Google Drive) answered with a form. "
            "Open the link in a browser, download the file there and run `pytracking weights import FILE`."
        )
    if start.lstrip().lower().startswith(b"version https://git-lfs"):
        raise CheckpointError(f"{path}: is a Git LFS pointer, not the file; run `git lfs pull` where it came from")


def _json_like(value: Any, name: str) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{name} must be JSON-like: {error}") from error
