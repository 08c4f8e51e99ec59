"""The training loop: epochs of optimizer steps, with checkpoints; a resumed run gives the same results.

No random state is carried from step to step: the order of the examples derives from (seed, epoch), the random numbers
of a step from (seed, epoch, step). So checkpoints only need the weights, the optimizer and two counters.
"""
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset
from tqdm import tqdm

from ltr.data.examples import Examples
from ltr.errors import UserError
from ltr.torch_file import write_torch_file
from ltr.trainers import distributed
from ltr.trainers.csv_log import CsvLog
from ltr.trainers.plan import RunOptions, TrainingPlan


class Trainer:
    """Runs a plan in a workspace."""

    def __init__(self, plan: TrainingPlan, options: RunOptions, device: torch.device) -> None:
        self.plan, self.options, self.device = plan, options, device
        plan.actor.to(device)
        self.actor = distributed.wrapped(plan.actor, device)
        self.network = plan.actor.network
        self.optimizer = _make_optimizer(plan)
        self.base_rates = [group["lr"] for group in self.optimizer.param_groups]
        self.scaler = torch.amp.GradScaler(device.type, enabled=options.amp and device.type == "cuda")
        self.log = CsvLog(options.workspace / "log.csv")
        self.state_file = options.workspace / "state.pth"  # from which a killed run resumes
        self.epoch, self.step = 0, 0  # step: optimizer steps done in this epoch

    def run(self, epochs: int | None = None) -> None:
        """Trains up to `epochs` (default: the plan's number), resuming from the workspace's state if there is one."""
        self._resume()
        while self.epoch < (self.plan.epochs if epochs is None else epochs):
            row = {"epoch": self.epoch, **self._train_epoch()}
            if self.plan.validation is not None:
                row |= {f"validation_{name}": value for name, value in self._validate().items()}
            self.epoch, self.step = self.epoch + 1, 0
            if distributed.is_main_process():
                self.log.append(row)
                self._save()

    def _resume(self) -> None:
        path = self.state_file
        if not path.is_file():
            return
        state = load_state(path, self.device)
        if state["progress"]["seed"] != self.options.seed:
            raise UserError(
                f"{path} was trained with seed {state['progress']['seed']}, not {self.options.seed}: "
                "use that seed or another workspace"
            )
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.epoch, self.step = state["progress"]["epoch"], state["progress"]["step"]
        if distributed.is_main_process():
            self.log.cut_from_epoch(self.epoch)

    def _save(self) -> None:
        progress = {"epoch": self.epoch, "step": self.step, "seed": self.options.seed}
        save_state(self.state_file, self.network, self.optimizer, self.scaler.state_dict(), progress)

    def _train_epoch(self) -> dict[str, float]:
        plan = self.plan
        order = np.random.default_rng([self.options.seed, self.epoch]).permutation(len(plan.examples)).tolist()
        loader, batches = self._loader(plan.examples, order, skip_batches=self.step * plan.accumulate)
        self.actor.train()
        for module in plan.frozen:
            module.eval()
        meters: dict[str, list[float]] = defaultdict(list)
        steps = batches // plan.accumulate
        bar = tqdm(
            total=steps,
            initial=self.step,
            desc=f"epoch {self.epoch + 1}/{plan.epochs}",
            unit="step",
            disable=not distributed.is_main_process(),
            mininterval=1.0,
        )
        source = iter(loader)
        while self.step < steps:
            for name, value in self.optimizer_step(source, self.epoch + self.step / steps).items():
                meters[name].append(value)
            self.step += 1
            bar.update()
            bar.set_postfix({name: f"{np.mean(values[-50:]):.4g}" for name, values in meters.items()}, refresh=False)
            if self.step % plan.checkpoint_every == 0 and self.step < steps and distributed.is_main_process():
                self._save()
        bar.close()
        return {name: distributed.mean_over_processes(float(np.mean(values))) for name, values in meters.items()}

    def optimizer_step(self, source: Any, fractional_epoch: float) -> dict[str, float]:
        """Makes one step on the next batches of ``source`` and returns statistics for the log."""
        factor = self.plan.learning_rate_factor(fractional_epoch)
        for group, rate in zip(self.optimizer.param_groups, self.base_rates, strict=True):
            group["lr"] = rate * factor
        torch.manual_seed(_step_seed(self.options.seed, self.epoch, self.step, distributed.process_rank()))
        self.optimizer.zero_grad(set_to_none=True)
        totals: dict[str, float] = defaultdict(float)
        for _ in range(self.plan.accumulate):
            batch = _moved(next(source), self.device)
            with self._precision():
                loss, stats = self.actor(batch)
            self.scaler.scale(loss / self.plan.accumulate).backward()
            for name, value in stats.items():
                totals[name] += float(value) / self.plan.accumulate
        if not math.isfinite(totals["loss"]):
            raise FloatingPointError(f"loss {totals['loss']} in epoch {self.epoch}, step {self.step}: lower the rates")
        self.scaler.unscale_(self.optimizer)
        if self.plan.gradient_clip is not None:
            trained = [p for group in self.optimizer.param_groups for p in group["params"]]
            torch.nn.utils.clip_grad_norm_(trained, self.plan.gradient_clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return totals

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        self.actor.eval()
        torch.manual_seed(_step_seed(self.options.seed, 0, 0, 0))  # the same proposals in every validation
        loader, _ = self._loader(self.plan.validation, list(range(len(self.plan.validation))), 0)
        meters: dict[str, list[float]] = defaultdict(list)
        for batch in loader:
            with self._precision():
                _, stats = self.plan.actor(_moved(batch, self.device))
            for name, value in stats.items():
                meters[name].append(float(value))
        return {name: distributed.mean_over_processes(float(np.mean(values))) for name, values in meters.items()}

    def _precision(self) -> torch.autocast:
        dtype = torch.float16 if self.device.type == "cuda" else torch.bfloat16
        return torch.autocast(self.device.type, dtype=dtype, enabled=self.options.amp)

    def _loader(self, examples: Examples, order: list[int], skip_batches: int) -> tuple[DataLoader, int]:
        """A loader over this process's share of the order, and its number of batches before skipping."""
        examples.set_epoch(self.epoch)
        share = order[distributed.process_rank() :: distributed.process_count()]
        batches = len(share) // self.plan.batch_size
        if batches == 0:
            raise UserError(f"{len(share)} examples do not fill one batch of {self.plan.batch_size}")
        used = share[skip_batches * self.plan.batch_size : batches * self.plan.batch_size]
        loader = DataLoader(
            Subset(examples, used),
            batch_size=self.plan.batch_size,
            num_workers=self.options.workers,
            collate_fn=self.plan.collate,
            worker_init_fn=_single_threaded,
        )
        return loader, batches


def _make_optimizer(plan: TrainingPlan) -> torch.optim.Optimizer:
    if plan.optimizer == "adam":
        return torch.optim.Adam(plan.parameter_groups, lr=1e-3, weight_decay=plan.weight_decay)
    if plan.optimizer == "sgd":
        return torch.optim.SGD(plan.parameter_groups, lr=1e-3, momentum=0.9, weight_decay=plan.weight_decay)
    raise UserError(f"optimizer {plan.optimizer!r} is not known: use 'adam' or 'sgd'")


def save_state(
    path: Path, network: nn.Module, optimizer: torch.optim.Optimizer, scaler_state: dict, progress: dict[str, Any]
) -> None:
    """Writes the training state to `path` atomically."""
    states = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler_state}
    write_torch_file(path, states | {"progress": progress})


def load_state(path: Path, device: torch.device) -> dict[str, Any]:
    """Reads a file of :func:`save_state` without executing pickled code."""
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        raise UserError(f"{path} is not a readable training state ({error}): delete it to start over") from error


def _step_seed(seed: int, epoch: int, step: int, rank: int) -> int:
    return int(np.random.SeedSequence([seed, epoch, step, rank]).generate_state(1, np.uint64)[0] >> 1)


def _moved(batch: Any, device: torch.device) -> Any:
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {name: _moved(value, device) for name, value in batch.items()}
    if isinstance(batch, list | tuple):
        return type(batch)(_moved(value, device) for value in batch)
    return batch


def _single_threaded(_: int) -> None:
    import cv2

    cv2.setNumThreads(1)
    torch.set_num_threads(1)
