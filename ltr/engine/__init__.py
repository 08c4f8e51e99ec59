"""Engines that compute the frozen parts of a network: ``torch``, the reference, and ``onnxruntime``, faster on CPUs.

A network that can run on another engine has ``frozen_part()``, a module whose outputs depend on the images alone, and
calls ``network.engine`` instead of it where one is attached. A graph is written from the loaded network in memory,
in 0.06 s (ResNet-50: 0.5 s), so no file has to be made, found or kept up to date.
"""
from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ltr.engine.onnx_file import GraphFile
from ltr.engine.translate import Translator, UntranslatableError
from ltr.models.bbreg import IoUNet, LocalCrop
from ltr.models.inference import fold_norm

ENGINES = ("auto", "torch", "onnxruntime")
LEVEL_NAMES = ("fine", "coarse")
PROBE_SIDE = 64  # pixels of the image on which a new engine is compared with torch
PROBE_TOLERANCE = 1e-3  # of the largest value of each output; rounding stays below 1e-4


class EngineFallbackWarning(UserWarning):
    """An engine cannot be used, so torch computes everything."""


def choose_engine(name: str, device: torch.device) -> str:
    """The engine that ``name`` means on a device: "torch" or "onnxruntime".

    Raises:
        ValueError: if there is no such engine.
    """
    if name not in ENGINES:
        raise ValueError(f"engine {name!r} does not exist; use one of {', '.join(ENGINES)}")
    if name == "torch" or device.type != "cpu":
        if name == "onnxruntime":
            _fall_back(f"runs on the CPU, but the tracker's device is {device}")
        return "torch"
    try:
        import onnxruntime  # noqa: F401
    except ImportError as error:
        if name == "onnxruntime":
            _fall_back(f"cannot be imported ({error}); `pip install onnxruntime`")
        return "torch"
    return "onnxruntime"


def attach_engine(network: nn.Module, name: str, device: torch.device, threads: int) -> str:
    """Lets an engine compute a network's frozen part from now on.

    Args:
        network: made by :func:`ltr.models.inference.prepare_for_inference`, with a ``frozen_part()``.
        name: one of :data:`ENGINES`.
        device: of the network.
        threads: most threads that the engine may use; how many it uses changes no result.

    Returns:
        The engine that runs: "torch" where the one asked for cannot.
    """
    network.engine = None
    if choose_engine(name, device) == "torch":
        return "torch"
    try:
        engine = OnnxEngine(network, threads)
        _compare(network, engine)
    except UntranslatableError as error:
        _fall_back(f"has no translation of this network's {error}")
        return "torch"
    except Exception as error:  # whatever goes wrong in there, torch can do the work
        _fall_back(f"failed ({type(error).__name__}: {error})")
        return "torch"
    network.engine = engine
    return "onnxruntime"


class OnnxEngine:
    """ONNX Runtime on a network's frozen parts.

    Args:
        network: see :func:`attach_engine`.
        threads: most threads to use.
    """

    def __init__(self, network: nn.Module, threads: int) -> None:
        from ltr.engine.runtime import AdaptiveSession

        self._features = AdaptiveSession(frozen_graph(network), threads)
        self._boxes = AdaptiveSession(box_graph(network.bb_regressor), threads)

    def __call__(self, images: Tensor) -> dict[str, Tensor]:
        """Outputs of ``frozen_part()`` by name, for normalised images (B, 3, H, W)."""
        results = self._features.run({"images": images}, tuple(images.shape))
        return dict(zip(self._features.outputs, results, strict=True))

    def box_maps(self, crops: Sequence[LocalCrop]) -> list[Tensor]:
        """The IoU-Net's test branch on a part of each level's map; see :class:`ltr.models.bbreg.LocalCrop`."""
        inputs = {}
        for level, crop in zip(LEVEL_NAMES, crops, strict=True):
            inputs[level] = crop.features
            for number, margins in enumerate((crop.first_margins, crop.second_margins), 1):
                left, right, top, bottom = margins
                inputs[f"{level}_margins{number}"] = torch.tensor([0, 0, top, left, 0, 0, bottom, right])
        return self._boxes.run(inputs)


def frozen_graph(network: nn.Module, part: nn.Module | None = None) -> bytes:
    """The content of an ONNX file: input ``images`` (batch, 3, height, width), one output for each map.

    Args:
        network: with a ``frozen_part()``.
        part: what to write instead of that; with ``outputs``, channels by name.

    Raises:
        UntranslatableError: if the network does something that has no translation.
    """
    part = part or network.frozen_part()
    file = GraphFile(type(network).__name__)
    images = file.input("images", ("batch", 3, "height", "width"))
    results = Translator(file, part).run(images)
    for (name, channels), value in zip(part.outputs.items(), results, strict=True):
        file.output(name, value, ("batch", channels, f"{name}_rows", f"{name}_columns"))
    return file.to_bytes()


def box_graph(network: IoUNet) -> bytes:
    """The content of an ONNX file: the IoU-Net's test branch on a part of each level's map.

    Inputs are ``fine`` and ``coarse`` (1, C, rows, columns) and, for each, how many zeros belong around the input of
    the first and of the second convolution (``fine_margins1`` …, as ONNX's Pad takes them). Outputs (1, columns, rows,
    channels).
    """
    file = GraphFile("BoxBranches")
    blocks = ((network.conv3_1t, network.conv3_2t), (network.conv4_1t, network.conv4_2t))
    for level, convs in zip(LEVEL_NAMES, blocks, strict=True):
        x = file.input(level, (1, convs[0][0].in_channels, f"{level}_rows", f"{level}_columns"))
        for number, block in enumerate(convs, 1):
            margins = file.input(f"{level}_margins{number}", (8,), np.int64)
            weight, bias = fold_norm(block[0], block[1])
            padded = file.node("Pad", x, margins)
            conv = file.node("Conv", padded, *(file.constant(t.contiguous().numpy()) for t in (weight, bias)))
            x = file.node("Relu", conv)
        sides = (1, f"{level}_out_columns", f"{level}_out_rows", len(bias))
        file.output(f"{level}_map", file.node("Transpose", x, perm=[0, 3, 2, 1]), sides)
    return file.to_bytes()


@torch.no_grad()
def _compare(network: nn.Module, engine: OnnxEngine) -> None:
    """Raises where an engine does not compute what torch does."""
    images = torch.rand(1, 3, PROBE_SIDE, PROBE_SIDE, generator=torch.Generator().manual_seed(0)) * 4 - 2
    part = network.frozen_part()
    for (name, found), expected in zip(engine(images).items(), part(images), strict=True):
        error = (found - expected).abs().max() / expected.abs().max().clamp(min=1e-12)
        if not error < PROBE_TOLERANCE:
            raise ArithmeticError(f"output '{name}' differs from torch's by {float(error):.2g} of its largest value")


def _fall_back(reason: str) -> None:
    warnings.warn(f"engine onnxruntime {reason}: torch computes everything", EngineFallbackWarning, stacklevel=3)
