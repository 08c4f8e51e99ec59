"""Engines that compute the frozen parts of a network: ``torch``, the reference, and ``onnxruntime``, faster on CPUs.

A network that supports other engines has ``frozen_part()``, a module whose outputs depend only on the images, and calls
``network.engine`` instead if one is attached. The ONNX graph is built from the loaded network in memory in 0.06 s
(ResNet-50: 0.5 s), so there are no files to create, find or keep up to date.
"""
import warnings

import torch
from torch import Tensor, nn

from ltr.engine.onnx_file import GraphFile
from ltr.engine.translate import Translator, UntranslatableError
from ltr.errors import UserError
from ltr.models.bbreg import TargetIoU

CPU = torch.device("cpu")
ENGINES = ("auto", "torch", "onnxruntime")
PROVIDERS = {  # torch's device: ONNX Runtime's provider and the package that contains it
    "cpu": ("CPUExecutionProvider", "onnxruntime"),
    "cuda": ("CUDAExecutionProvider", "onnxruntime-gpu"),
    "mps": ("CoreMLExecutionProvider", "onnxruntime"),
}
PROBE_SIDE = 64  # side in pixels of the image on which a new engine is compared with torch
PROBE_TOLERANCE = 1e-3  # relative to the largest value of each output; rounding stays below 1e-4


class EngineFallbackWarning(UserWarning):
    """An engine cannot be used; torch replaces it."""


def choose_engine(name: str, device: torch.device) -> str:
    """Resolves ``name`` to "torch" or "onnxruntime" for a device; "auto" means the latter on CPUs only.

    Falls back to torch with a warning if ONNX Runtime is unavailable. An unknown name raises a UserError.
    """
    if name not in ENGINES:
        raise UserError(f"engine {name!r} does not exist; use one of {', '.join(ENGINES)}")
    if name == "torch" or (name == "auto" and device.type != "cpu"):
        return "torch"
    try:
        import onnxruntime
    except ImportError as error:
        if name == "onnxruntime":
            _fall_back(f"cannot be imported ({error}); `pip install onnxruntime`")
        return "torch"
    provider, package = PROVIDERS.get(device.type, ("", ""))
    if provider not in onnxruntime.get_available_providers():
        where = f"; `pip install {package}`" if package else ""
        _fall_back(f"has no provider installed for the device {device}{where}")
        return "torch"
    return "onnxruntime"


def attach_engine(network: nn.Module, name: str, device: torch.device, threads: int) -> str:
    """Attaches an engine to compute a network's frozen part.

    Args:
        network: result of :func:`ltr.models.inference.prepare_for_inference`, with a ``frozen_part()``.
        name: one of :data:`ENGINES`.
        device: of the network.
        threads: maximal number of threads of the engine; results do not depend on it.

    Returns:
        The engine in use: "torch" if the requested one is unavailable.
    """
    network.engine = None
    if choose_engine(name, device) == "torch":
        return "torch"
    try:
        engine = OnnxEngine(network, threads, device)
        _compare_with_torch(network, engine, device)
    except UntranslatableError as error:
        _fall_back(f"has no translation of this network's {error}")
        return "torch"
    except Exception as error:  # whatever goes wrong in ONNX Runtime, torch still works
        _fall_back(f"failed ({type(error).__name__}: {error})")
        return "torch"
    network.engine = engine
    return "onnxruntime"


class OnnxEngine:
    """Runs a network's frozen parts on ONNX Runtime.

    Attributes:
        box_head: the IoU-Net on ONNX Runtime; None on devices other than the CPU, where torch keeps it, because its
            steps are too short to pay for copying data back and forth.
    """

    def __init__(self, network: nn.Module, threads: int, device: torch.device = CPU) -> None:
        from ltr.engine.box_head import OnnxBoxHead
        from ltr.engine.runtime import AdaptiveSession

        self._device = device
        self._features = AdaptiveSession(frozen_graph(network), threads, PROVIDERS[device.type][0], batched=["images"])
        self.box_head = OnnxBoxHead(network.bb_regressor, threads) if device.type == "cpu" else None

    def __call__(self, images: Tensor) -> dict[str, Tensor]:
        """Outputs of ``frozen_part()`` by name, for normalised images (B, 3, H, W)."""
        results = self._features.run({"images": images}, tuple(images.shape))
        return {name: found.to(self._device) for name, found in zip(self._features.outputs, results, strict=True)}


def frozen_graph(network: nn.Module, part: nn.Module | None = None) -> bytes:
    """Content of an ONNX file with the input ``images`` (batch, 3, height, width) and one output per map.

    Args:
        network: with a ``frozen_part()``.
        part: module to write instead of the frozen part; its ``outputs`` are channels by name.

    Raises:
        UntranslatableError: if the network uses an operation without a translation.
    """
    part = part or network.frozen_part()
    file = GraphFile(type(network).__name__)
    images = file.input("images", ("batch", 3, "height", "width"))
    results = Translator(file, part).run(images)
    for (name, channels), value in zip(part.outputs.items(), results, strict=True):
        file.output(name, value, ("batch", channels, f"{name}_rows", f"{name}_columns"))
    return file.to_bytes()


@torch.no_grad()
def _compare_with_torch(network: nn.Module, engine: OnnxEngine, device: torch.device) -> None:
    """Raises an ArithmeticError if an engine's results differ from torch's."""
    generator = torch.Generator().manual_seed(0)
    images = (torch.rand(1, 3, PROBE_SIDE, PROBE_SIDE, generator=generator) * 4 - 2).to(device)
    part, found = network.frozen_part(), engine(images)
    for (name, output), expected in zip(found.items(), part(images), strict=True):
        _check(f"output '{name}'", output, expected)
    box = torch.tensor([[0.3, 0.2, 0.4, 0.5]]) * PROBE_SIDE
    modulation = network.bb_regressor.modulation(found, box.to(device))
    predictors = [TargetIoU(network.bb_regressor, modulation, head).at(found) for head in (engine.box_head, None)]
    for name, *both in zip(("value", "gradient"), *(each.iou_and_gradient(box) for each in predictors), strict=True):
        _check(f"a box's {name}", *both)


def _check(what: str, found: Tensor, expected: Tensor) -> None:
    error = (found - expected).abs().max() / expected.abs().max().clamp(min=1e-12)
    if not error < PROBE_TOLERANCE:
        raise ArithmeticError(f"{what} differs from torch's by {float(error):.2g} of its largest value")


def _fall_back(reason: str) -> None:
    warnings.warn(f"engine onnxruntime {reason}: using torch instead", EngineFallbackWarning, stacklevel=3)
