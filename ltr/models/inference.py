"""Makes a trained network faster without changing its results."""
import torch
from torch import Tensor, nn

Foldable = (nn.Conv2d, nn.Linear)
Norms = (nn.BatchNorm1d, nn.BatchNorm2d)


@torch.no_grad()
def fold_norm(layer: nn.Conv2d | nn.Linear, norm: nn.Module) -> tuple[Tensor, Tensor]:
    """Weight and bias of a single layer equivalent to a convolution or linear layer followed by a batch norm.

    The layer is not changed. The norm uses its running statistics; it may also be the identity that folding leaves.
    """
    weight = layer.weight.detach()
    bias = weight.new_zeros(len(weight)) if layer.bias is None else layer.bias.detach()
    if not isinstance(norm, Norms):
        return weight, bias
    factor = norm.weight / (norm.running_var + norm.eps).sqrt()
    return weight * factor.view(-1, *[1] * (weight.dim() - 1)), (bias - norm.running_mean) * factor + norm.bias


def _fold_children(module: nn.Module) -> None:
    children = list(module.named_children())
    for (_, layer), (norm_name, norm) in zip(children, children[1:], strict=False):
        if isinstance(layer, Foldable) and isinstance(norm, Norms) and norm.num_features == len(layer.weight):
            weight, bias = fold_norm(layer, norm)
            layer.weight, layer.bias = nn.Parameter(weight), nn.Parameter(bias)
            setattr(module, norm_name, nn.Identity())
    for _, child in children:
        _fold_children(child)


def prepare_for_inference(network: nn.Module, *, channels_last: bool = True) -> nn.Module:
    """Folds batch norms, freezes parameters, removes unused layers and sets the memory layout, all in place.

    Afterwards the network cannot be trained, and its state dict no longer has the published form. CPUs and tensor cores
    are faster with ``channels_last`` weights.
    """
    if network.training:
        raise ValueError("prepare_for_inference folds batch norms, so the network must be in eval mode: call .eval()")
    if hasattr(network, "drop_unused"):
        network.drop_unused()
    _fold_children(network)
    network.requires_grad_(False)
    for module in network.modules():
        if hasattr(module, "freeze"):
            module.freeze()
    if not channels_last:
        return network
    network.to(memory_format=torch.channels_last)
    if hasattr(network, "prefer_layouts"):
        network.prefer_layouts()
    return network
