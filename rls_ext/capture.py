"""Records one layer's virtual input and the two factors of its gradient between two steps."""
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .devices import in_full_precision
from .errors import ShapeError, UnsupportedModuleError
from .virtual_inputs import virtual_input_conv, virtual_input_linear

Layer = nn.Linear | nn.Conv2d


class LayerCapture:
    """Hooks on one ``nn.Linear`` or ``nn.Conv2d``.

    Only forwards that record gradients count, so evaluation under ``torch.no_grad()`` leaves P alone. Several
    forwards in one step count as one batch made of all their samples.
    """

    def __init__(self, name: str, module: Layer, input_from: nn.Module | None = None, factors: bool = True) -> None:
        """input_from: capture this module's input instead. factors: keep the tensors ``gradient_factors`` needs."""
        _refuse_unsupported(name, module)
        self.name, self.module, self.enabled = name, module, True
        self.clear()
        self._handles = [(input_from or module).register_forward_pre_hook(self._see_input)]
        if factors and isinstance(module, nn.Linear):
            self._handles.append(module.register_forward_hook(self._see_output))

    @property
    def dim(self) -> int:
        """Length of the input vector of one output unit, including the 1 for the bias."""
        return self.module.weight[0].numel() + (self.module.bias is not None)

    @property
    def samples(self) -> int:
        """Number of samples captured since the last ``clear()``."""
        return self._samples

    def clear(self) -> None:
        """Discard what was captured."""
        self._sum: Tensor | None = None  # sum of the samples' virtual inputs, (dim,)
        self._samples = 0
        self._inputs: list[Tensor] = []  # (b, p) of each forward
        self._deltas: dict[int, Tensor] = {}  # number of a forward -> gradient of its output, (b, q)

    def remove(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()

    def virtual_input(self) -> Tensor:
        """Eq. mean2 (fully connected) or Eq. mean3 with gamma = 1/N (convolution) over all captured samples, (dim,)."""
        assert self._sum is not None
        return self._sum / self._samples

    def gradient_factors(self) -> tuple[Tensor, Tensor] | None:
        """X (b, dim) and D (b, q) with gradient D^T X, or None if some forward has not been back-propagated."""
        if not self._inputs or len(self._deltas) != len(self._inputs):
            return None
        inputs = torch.cat(self._inputs).to(self.module.weight.dtype)
        deltas = torch.cat([self._deltas[number] for number in range(len(self._inputs))]).to(inputs.dtype)
        return (inputs if self.module.bias is None else F.pad(inputs, (0, 1), value=1.0)), deltas

    def _see_input(self, _: nn.Module, args: tuple[Any, ...]) -> None:
        if not self.enabled or not torch.is_grad_enabled():
            return
        seen = args[0].detach()
        mean = in_full_precision(seen.device, lambda: self._mean(seen))
        samples = seen.shape[0] if isinstance(self.module, nn.Conv2d) else seen.numel() // seen.shape[-1]
        self._sum = mean * samples if self._sum is None else self._sum + mean * samples
        self._samples += samples

    def _mean(self, seen: Tensor) -> Tensor:
        module = self.module
        return self._conv_mean(module, seen) if isinstance(module, nn.Conv2d) else self._linear_mean(module, seen)

    def _linear_mean(self, linear: nn.Linear, seen: Tensor) -> Tensor:
        mean = virtual_input_linear(seen, bias=linear.bias is not None)
        if len(mean) != self.dim:
            wanted = linear.in_features
            raise ShapeError(f"{self.name}: input_from sees {seen.shape[-1]} features, the layer takes {wanted}")
        return mean

    def _conv_mean(self, conv: nn.Conv2d, seen: Tensor) -> Tensor:
        if seen.dim() == 3:
            seen = seen.unsqueeze(0)
        sides = conv._reversed_padding_repeated_twice  # the layer's own padding; covers 'same' and all modes
        mode = "constant" if conv.padding_mode == "zeros" else conv.padding_mode
        weights = seen.new_full((len(seen),), 1.0 / len(seen), dtype=torch.float32)
        return virtual_input_conv(
            F.pad(seen, sides, mode=mode),
            conv.kernel_size,
            weights,
            conv.stride,
            0,
            dilation=conv.dilation,
            bias=conv.bias is not None,
        )

    def _see_output(self, _: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        if not self.enabled or not torch.is_grad_enabled() or not output.requires_grad:
            return
        number, deltas = len(self._inputs), self._deltas
        self._inputs.append(args[0].detach().reshape(-1, args[0].shape[-1]))

        def keep(gradient: Tensor) -> None:
            rows = gradient.detach().reshape(-1, gradient.shape[-1])
            deltas[number] = deltas[number] + rows if number in deltas else rows  # backward may run twice on a graph

        output.register_hook(keep)


def _refuse_unsupported(name: str, module: nn.Module) -> None:
    if not isinstance(module, nn.Linear | nn.Conv2d):
        raise UnsupportedModuleError(f"{name}: {type(module).__name__} is neither nn.Linear nor nn.Conv2d")
    if isinstance(module, nn.Conv2d) and module.groups != 1:
        raise UnsupportedModuleError(
            f"{name}: a convolution with groups={module.groups} has an input correlation per group; only groups=1 works"
        )
    if isinstance(module.weight, nn.parameter.UninitializedParameter):
        raise UnsupportedModuleError(f"{name}: run the lazy layer once before giving it to RLSPreconditioner")
