"""Recursive least squares for the layers of any model: gradients are multiplied by P before the optimizer steps."""
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .capture import Layer, LayerCapture
from .errors import HyperparameterError, MissingGradientError, StateMismatchError, UnsupportedModuleError
from .inverse_correlation import InverseCorrelation

_OVERRIDES = ("delta", "beta", "form", "dtype", "on_loss", "rank_tol", "memory_budget", "when_full", "input_from")
_COLUMNS_COMPARED = 32


class RLSPreconditioner:
    """Makes any optimizer step along grad P instead of grad (Eqs. RLS_update_RTMDNet and derivativenewATOM).

        preconditioner = RLSPreconditioner(model, delta=0.1)
        loss.backward(); preconditioner.step(); optimizer.step(); optimizer.zero_grad()

    Weight and bias of a layer form one matrix [W | b] whose inputs end in 1. Supported: ``nn.Linear`` (inputs of any
    number of dimensions) and ``nn.Conv2d`` with groups=1; several forwards and backwards per step; autocast; frozen
    weights or biases (their part of the gradient counts as zero and is not written). Not supported: layers called
    inside ``torch.func`` transforms, one weight shared by two layers, sparse gradients, sharded parameters.

    Args:
        modules: A model (all its supported layers are taken), a layer, a list of layers, or a mapping name -> layer.
        delta: P_0 = I/delta of every layer.
        beta: Forgetting factor.
        form: Representation of P, as for ``InverseCorrelation``.
        overrides: By layer or by name, a dict of ``delta``, ``beta``, ``form``, ``dtype``, ``on_loss``, ``rank_tol``,
            ``memory_budget``, ``when_full`` or ``input_from`` (another module whose input gives the virtual input: e.g.
            the dropout before a layer, if P should see the features before dropout).
        low_rank: Where it is cheaper, use that the gradient of b samples is a product D^T X of two factors with b rows.
    """

    def __init__(
        self,
        modules: nn.Module | Iterable[nn.Module] | Mapping[str, nn.Module],
        delta: float,
        beta: float = 1.0,
        form: str = "auto",
        *,
        overrides: Mapping[nn.Module | str, Mapping[str, Any]] | None = None,
        low_rank: bool = True,
    ) -> None:
        layers = _named_layers(modules)
        settings = _settings_by_name(layers, overrides or {}, {"delta": delta, "beta": beta, "form": form})
        self._captures: dict[str, LayerCapture] = {}
        self._inverses: dict[str, InverseCorrelation] = {}
        for name, layer in layers.items():
            options = dict(settings[name])
            factors = low_rank and layer.weight.device.type == "cpu"  # elsewhere, checking them waits for the device
            capture = LayerCapture(name, layer, options.pop("input_from", None), factors)
            self._captures[name] = capture
            options.setdefault("dtype", torch.promote_types(layer.weight.dtype, torch.float32))
            self._inverses[name] = InverseCorrelation(capture.dim, device=layer.weight.device, **options)
        self._enabled = True

    @property
    def enabled(self) -> bool:
        """If False, nothing is captured and ``step()`` changes nothing."""
        return self._enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._enabled = bool(value)
        for capture in self._captures.values():
            capture.enabled = self._enabled
            capture.clear()

    @property
    def inverses(self) -> dict[str, InverseCorrelation]:
        """The P of every layer, by name."""
        return dict(self._inverses)

    @torch.no_grad()
    def step(self, virtual_inputs: Mapping[nn.Module | str, Tensor] | None = None) -> None:
        """Update the P of every layer that ran since the last step, then replace its gradients by grad P.

        Args:
            virtual_inputs: Vectors (p + 1 long with a bias) that replace the captured ones, by layer or name.

        Raises:
            MissingGradientError: Layers ran, but none of them has a gradient.
        """
        if not self._enabled:
            return
        given = {self._name_of(key): value for key, value in (virtual_inputs or {}).items()}
        ran = [name for name, capture in self._captures.items() if capture.samples or name in given]
        ready = [name for name in ran if _has_gradient(self._captures[name].module)]
        if ran and not ready:
            raise MissingGradientError(f"no gradients in {', '.join(ran)}: call backward() before step()")
        for name in ready:
            capture, inverse = self._captures[name], self._inverses[name]
            inverse.update(given[name] if name in given else capture.virtual_input())
            self._precondition(capture, inverse)
        self.clear()

    def clear(self) -> None:
        """Discard the inputs captured since the last step."""
        for capture in self._captures.values():
            capture.clear()

    def reset(self) -> None:
        """Set every P back to I/delta and discard the captured inputs."""
        self.clear()
        for inverse in self._inverses.values():
            inverse.reset()

    def remove(self) -> None:
        """Remove all hooks from the model."""
        for capture in self._captures.values():
            capture.remove()

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue later."""
        return {"enabled": self._enabled, "layers": {name: p.state_dict() for name, p in self._inverses.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a ``state_dict()`` made for layers of the same names and sizes."""
        if set(state["layers"]) != set(self._inverses):
            raise StateMismatchError(f"state has layers {sorted(state['layers'])}, this model {sorted(self._inverses)}")
        for name, inverse in self._inverses.items():
            inverse.load_state_dict(state["layers"][name])
        self.enabled = state["enabled"]

    def _name_of(self, key: nn.Module | str) -> str:
        for name, capture in self._captures.items():
            if key == name or key is capture.module:
                return name
        raise HyperparameterError(f"{key!r} is not one of the layers {list(self._captures)}")

    def _precondition(self, capture: LayerCapture, inverse: InverseCorrelation) -> None:
        weight, bias = capture.module.weight, capture.module.bias
        gradient = _joined_gradient(weight, bias)  # (q, dim)
        product = self._product_from_factors(capture, inverse, gradient)
        if product is None:
            product = inverse.precondition(gradient)
        if weight.grad is not None:
            weight.grad.copy_(product[:, : weight[0].numel()].reshape(weight.shape))
        if bias is not None and bias.grad is not None:
            bias.grad.copy_(product[:, -1])

    @staticmethod
    def _product_from_factors(capture: LayerCapture, inverse: InverseCorrelation, gradient: Tensor) -> Tensor | None:
        """grad P as D^T (X P), if that is cheaper and D^T X really is the gradient; otherwise None."""
        factors = capture.gradient_factors()
        if factors is None or not _factors_are_cheaper(len(factors[0]), len(gradient), inverse):
            return None
        inputs, deltas = factors
        if not _is_product(gradient, deltas, inputs):
            return None
        return deltas.T @ inverse.precondition(inputs)


def _factors_are_cheaper(samples: int, outputs: int, inverse: InverseCorrelation) -> bool:
    """Compare the multiplications of D^T (X P) with those of grad P."""
    return samples * (inverse.row_cost + outputs * inverse.dim) < 0.8 * outputs * inverse.row_cost


def _is_product(gradient: Tensor, deltas: Tensor, inputs: Tensor) -> bool:
    """Whether gradient = D^T X up to rounding.

    It is not if the gradient was clipped, accumulated over steps or changed by a regulariser. Those affect every
    column, so comparing a few columns detects them; a product with a random vector detects changes of single columns.
    """
    generator = torch.Generator().manual_seed(gradient.shape[1])
    columns = torch.randint(gradient.shape[1], (_COLUMNS_COMPARED,), generator=generator)
    probe = torch.randn(gradient.shape[1], generator=generator).to(gradient)
    few = torch.cat((inputs[:, columns], (inputs @ probe).unsqueeze(1)), dim=1)  # (b, columns + 1)
    seen = torch.cat((gradient[:, columns], (gradient @ probe).unsqueeze(1)), dim=1)  # (q, columns + 1)
    size = torch.cat((inputs[:, columns].abs(), (inputs.abs() @ probe.abs()).unsqueeze(1)), dim=1)
    allowed = 32 * torch.finfo(gradient.dtype).eps * (deltas.T.abs() @ size)
    return bool(((seen - deltas.T @ few).abs() <= allowed).all())


def _joined_gradient(weight: Tensor, bias: Tensor | None) -> Tensor:  # (q, dim)
    rows = torch.zeros_like(weight) if weight.grad is None else weight.grad
    rows = rows.reshape(len(rows), -1)
    if bias is None:
        return rows
    last = torch.zeros_like(bias) if bias.grad is None else bias.grad
    return torch.cat((rows, last.unsqueeze(1)), dim=1)


def _has_gradient(module: Layer) -> bool:
    return module.weight.grad is not None or (module.bias is not None and module.bias.grad is not None)


def _named_layers(modules: nn.Module | Iterable[nn.Module] | Mapping[str, nn.Module]) -> dict[str, Layer]:
    layers: dict[str, Any]  # LayerCapture refuses anything that is not a layer
    if isinstance(modules, nn.Linear | nn.Conv2d):
        layers = {"0": modules}
    elif isinstance(modules, nn.Module):
        layers = {name: m for name, m in modules.named_modules() if isinstance(m, nn.Linear | nn.Conv2d)}
    elif isinstance(modules, Mapping):
        layers = dict(modules)
    else:
        layers = {str(number): module for number, module in enumerate(modules)}
    if not layers:
        raise UnsupportedModuleError("no nn.Linear or nn.Conv2d among the modules given")
    owners: dict[int, str] = {}
    for name, layer in layers.items():
        first = owners.setdefault(id(getattr(layer, "weight", layer)), name)
        if first != name:
            raise UnsupportedModuleError(f"{name} shares its weight with {first}: its gradient has no single input")
    return layers


def _settings_by_name(
    layers: dict[str, Layer], overrides: Mapping[nn.Module | str, Mapping[str, Any]], common: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    settings = {name: dict(common) for name in layers}
    for key, values in overrides.items():
        names = [name for name, layer in layers.items() if key == name or key is layer]
        if not names:
            raise HyperparameterError(f"overrides name {key!r}, which is not one of the layers {list(layers)}")
        unknown = set(values) - set(_OVERRIDES)
        if unknown:
            raise HyperparameterError(f"overrides of {names[0]}: unknown {sorted(unknown)}, known are {_OVERRIDES}")
        settings[names[0]].update(values)
    return settings
