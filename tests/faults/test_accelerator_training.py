"""Training on the stand-in accelerator, also in mixed precision: nothing is made elsewhere, little is waited for."""
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from ltr.actors.dimp import DimpActor
from ltr.models.tracking.dimpnet import dimpnet18
from ltr.trainers.plan import RunOptions, TrainingPlan
from ltr.trainers.trainer import Trainer
from rls_ext import RLSPreconditioner, RLSRegressor
from tests.faults.accelerator import DEVICE, on_device, stand_in_accelerator

NARROW = (F.conv2d, F.linear, torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__)


class Autocast(TorchFunctionMode):
    """Mixed precision for the stand-in, which torch has none for: products are narrow while the innermost says so."""

    open: list["Autocast"] = []
    products = 0

    def __init__(self, device_type: str, dtype: torch.dtype = torch.bfloat16, enabled: bool = True) -> None:
        super().__init__()
        assert device_type == DEVICE.type
        self.dtype, self.enabled = dtype, enabled

    def __enter__(self):
        self.open.append(self)
        return super().__enter__()

    def __exit__(self, *error):
        self.open.remove(self)
        return super().__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in NARROW and self is self.open[-1] and self.enabled:
            Autocast.products += 1
            args = [a.to(self.dtype) if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args]
        return func(*args, **(kwargs or {}))


@contextmanager
def accelerator_with_gradients() -> Iterator:
    Autocast.products = 0
    with stand_in_accelerator() as waits, torch.enable_grad(), mock.patch.object(torch, "autocast", Autocast):
        yield waits


@pytest.mark.parametrize("amp", [False, True], ids=["float32", "mixed"])
def test_a_training_step_waits_for_the_numbers_of_the_log_alone(tmp_path, amp):
    with accelerator_with_gradients() as waits:
        with DEVICE:
            network = dimpnet18()
        actor = DimpActor(network, iterations=2, proposals=4)
        plan = TrainingPlan(
            actor=actor, examples=None, parameter_groups=[{"params": list(network.parameters()), "lr": 1e-3}],
            constructor={}, metadata={}, epochs=1, batch_size=2, gradient_clip=1.0,
        )  # fmt: skip
        with mock.patch.object(DimpActor, "to"):  # it is there already, and tensors without values cannot be moved
            trainer = Trainer(plan, RunOptions(workspace=tmp_path, amp=amp), DEVICE)
        batch = {"images": torch.zeros(2, 5, 3, 288, 288, dtype=torch.uint8), "boxes": torch.rand(2, 5, 4)}
        trainer.optimizer_step(iter([batch]), 0.0)
        assert waits.sites == {"ltr/trainers/trainer.py:optimizer_step": 5}  # loss, its two terms, two rates of hits
        gradients = [p.grad for p in network.parameters() if p.grad is not None]
        assert len(gradients) > 100
        assert all(grad.device == DEVICE and grad.dtype == torch.float32 for grad in gradients)
        assert (Autocast.products > 50) is amp


@pytest.mark.parametrize("amp", [False, True], ids=["float32", "mixed"])
def test_a_preconditioned_step_waits_for_nothing(amp):
    with accelerator_with_gradients() as waits:
        with DEVICE:
            network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
        preconditioner = RLSPreconditioner(network, delta=0.1)
        for _ in range(3):
            with Autocast(DEVICE.type, enabled=amp):
                output = network(on_device(2, 3, 8, 8))
            assert output.dtype == (torch.bfloat16 if amp else torch.float32)
            output.float().square().mean().backward()
            preconditioner.step()
        assert not waits.sites
        assert all(p.grad.device == DEVICE and p.grad.dtype == torch.float32 for p in network.parameters())
        assert all(inverse.device == DEVICE for inverse in preconditioner.inverses.values())
        assert (Autocast.products > 0) is amp


def test_a_regressor_waits_for_nothing():
    with stand_in_accelerator() as waits:
        regressor = RLSRegressor(40, 2, 0.1, form="dense", device=DEVICE)
        for _ in range(3):
            regressor.update(on_device(3, 40), on_device(3, 2))
        assert regressor.predict(on_device(5, 40)).device == regressor.weight.device == DEVICE
        assert not waits.sites
