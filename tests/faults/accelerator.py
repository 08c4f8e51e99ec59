"""An accelerator that is not there: operations on fake tensors of a stand-in device.

``FakeTensorMode`` runs every operation on shapes, types and devices alone. On the device "lazy", which a CPU-only build
of torch has no kernels for, it takes all operations; mixing devices raises. Whatever needs a value of the device in
Python (``item()``, ``bool()``, ``.cpu()``, ``nonzero()``) is a wait for it: here it gets a made-up value, and the place
in the project's code that asked is noted.
"""
from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode

DEVICE = torch.device("lazy", 0)
PACKAGES = ("rls_ext", "ltr", "pytracking")
ROOT = Path(__file__).parents[2]
_SCALARS: dict[Any, Callable[[Tensor], Any]] = {
    Tensor.item: lambda t: _made_up(t).item(),
    Tensor.tolist: lambda t: _made_up(t).tolist(),
    Tensor.__float__: lambda t: 0.5,
    Tensor.__int__: lambda t: 1,
    Tensor.__index__: lambda t: 1,
    Tensor.__bool__: lambda t: True,
    Tensor.numpy: lambda t: _made_up(t),
    Tensor.__array__: lambda t: _made_up(t),
}


def _made_up(tensor: Tensor) -> np.ndarray:
    """Values of the right shape and type; a map has a clear peak, so that trackers find their target."""
    kind = torch.empty(0, dtype=tensor.dtype, device="cpu")
    dtype = np.dtype(str(kind.dtype).removeprefix("torch."))
    if dtype.kind in "iub":
        return np.full(tuple(tensor.shape), dtype.kind == "b", dtype)  # places are 0, answers are yes
    if tensor.dim() == 2 and min(tensor.shape) > 4:
        values = np.zeros(tuple(tensor.shape), dtype)
        values[tensor.shape[0] // 2, tensor.shape[1] // 2] = 1.0
        return values
    return np.linspace(0.4, 0.6, max(tensor.numel(), 1)).astype(dtype)[: tensor.numel()].reshape(tuple(tensor.shape))


class Waits(TorchFunctionMode):
    """Answers what asks for values, and notes who asked; ``sites`` counts them by ``file:function``."""

    def __init__(self) -> None:
        super().__init__()
        self.sites: Counter[str] = Counter()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        first = args[0] if args else None
        if not isinstance(first, FakeTensor):
            return func(*args, **kwargs)
        there = first.device == DEVICE
        if func in _SCALARS:
            return self.answer(func, first)
        if func in (Tensor.nonzero, torch.nonzero):
            self._note()
            return torch.zeros(first.shape[0], first.dim(), dtype=torch.int64, device=first.device)
        result = func(*args, **kwargs)
        if there and isinstance(result, Tensor) and result.device.type == "cpu":
            self._note()
        return result

    def answer(self, func: Any, tensor: Tensor) -> Any:
        """What ``func(tensor)`` gets for a value."""
        if tensor.device == DEVICE:
            self._note()
        return _SCALARS[func](tensor)

    def _note(self) -> None:
        for frame in reversed(traceback.extract_stack()[:-2]):
            path = Path(frame.filename)
            if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PACKAGES:
                self.sites[f"{path.relative_to(ROOT).as_posix()}:{frame.name}"] += 1
                return
        self.sites["outside"] += 1


@contextmanager
def stand_in_accelerator() -> Iterator[Waits]:
    """In this context tensors have no values, and DEVICE is an accelerator."""
    with torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True), Waits() as waits:
        # A fake tensor has a tolist of its own, which asks for one entry after the other.
        with mock.patch.object(FakeTensor, "tolist", lambda tensor: waits.answer(Tensor.tolist, tensor)):
            yield waits


def on_device(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor there."""
    return torch.empty(*shape, dtype=dtype, device=DEVICE)


def moved(network: nn.Module) -> nn.Module:
    """A network whose parameters and buffers are there, without values; changes the network. Call it in the context."""
    places: dict[int, Tensor] = {}
    for module in network.modules():
        for held in (module._parameters, module._buffers):
            for name, tensor in held.items():
                if tensor is not None:
                    there = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=DEVICE)
                    is_parameter = isinstance(tensor, nn.Parameter)
                    places[id(tensor)] = held[name] = nn.Parameter(there, False) if is_parameter else there
    for module in network.modules():
        for conv in getattr(module, "_frozen", ()):  # plain functions that hold a module's weights
            conv.weight, conv.bias = places[id(conv.weight)], places[id(conv.bias)]
    return network
