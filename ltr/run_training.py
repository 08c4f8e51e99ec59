"""Trains a network: ``python ltr/run_training.py dimp dimp_mobile``; several GPUs: ``torchrun ltr/run_training.py``.

A run keeps its checkpoints, log.csv and cached features in a workspace; repeating the command continues the run. At the
end, or at any time with --export, the network is written to <workspace>/<setting>.pth.
"""
import argparse
import importlib
import pkgutil
from pathlib import Path

import cv2
import torch
from torch import nn

from ltr.checkpoint import read_checkpoint, save_checkpoint
from ltr.errors import UserError, exit_code
from ltr.files import remove_stale_temporaries
from ltr.trainers import distributed
from ltr.trainers.plan import RunOptions, TrainingPlan
from ltr.trainers.trainer import Trainer

SETTINGS = Path(__file__).parent / "train_settings"


def setting_names() -> list[str]:
    """All settings as "family setting"."""
    families = [m.name for m in pkgutil.iter_modules([str(SETTINGS)]) if m.ispkg]
    return [f"{f} {m.name}" for f in families for m in pkgutil.iter_modules([str(SETTINGS / f)]) if m.name[0] != "_"]


def train(
    family: str, setting: str, options: RunOptions, *, init: Path | None = None, export_only: bool = False
) -> Path:
    """Trains a setting and returns the path of the exported network."""
    if f"{family} {setting}" not in setting_names():
        raise UserError(f"no setting {family} {setting}; there are: {', '.join(setting_names())}")
    torch.manual_seed(options.seed)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    device = distributed.start(options.device)
    try:
        module = importlib.import_module(f"ltr.train_settings.{family}.{setting}")
        if not hasattr(module, "build"):
            raise UserError(
                f"ltr/train_settings/{family}/{setting}.py has no build(options); pytracking's settings with "
                "run(settings) are not supported: docs/training.md describes what build returns"
            )
        if options.workers:  # forked workers would wait for OpenCV's threads, which a fork does not copy
            cv2.setNumThreads(0)
        with distributed.main_process_first():
            if distributed.is_main_process() and not export_only:  # an export may run during training
                remove_stale_temporaries(options.workspace)
            plan = module.build(options)
        if init is not None:
            load_initial(plan.actor.network, init)
        trainer = Trainer(plan, options, device)
        trainer.run(epochs=0 if export_only else None)
        path = options.workspace / f"{setting}.pth"
        if distributed.is_main_process():
            export_network(path, plan, trainer)
        return path
    finally:
        distributed.stop()


def export_network(path: Path, plan: TrainingPlan, trainer: Trainer) -> None:
    """Writes the network's weights in half precision, for trackers, with the constructor and the plan's metadata."""
    network = plan.actor.network
    unstored = tuple(getattr(network, "unstored_prefixes", ()))  # such as the branches of MDNet's training domains
    state = {name: value for name, value in network.state_dict().items() if not name.startswith(unstored)}
    metadata = {**plan.metadata, "epochs_trained": trainer.epoch, "seed": trainer.options.seed}
    save_checkpoint(path, state, plan.constructor, metadata, half=True)


def load_initial(network: nn.Module, path: Path) -> None:
    """Loads an exported network's weights into one with the same structure; a UserError if they do not match."""
    stored = read_checkpoint(path).net
    wanted = network.state_dict()
    different = [n for n in wanted if n not in stored or stored[n].shape != wanted[n].shape]
    if different:
        raise UserError(f"{path} does not fit this network: {different[0]!r} is missing or has another shape")
    network.load_state_dict({name: stored[name].to(wanted[name].dtype) for name in wanted})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of a training run to the parser of any command that starts one."""
    parser.add_argument("family", help="folder of train_settings: dimp or mdnet")
    parser.add_argument("setting", help="one of: " + "; ".join(setting_names()))
    parser.add_argument("--workspace", type=Path, help="folder of the run (default: training/<family>/<setting>)")
    parser.add_argument("--cache", type=Path, help="folder of cached features (default: <workspace>/cache)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, help="number of epochs instead of the setting's")
    parser.add_argument("--device", default="auto", help="cpu, cuda, mps; auto uses CUDA if available")
    parser.add_argument("--cpu-threads", "--threads", dest="threads", type=int, metavar="N", help="torch's CPU threads")
    parser.add_argument("--workers", type=int, default=0, help="processes that load data or build caches")
    parser.add_argument("--amp", action="store_true", help="mixed precision")
    parser.add_argument("--init", type=Path, help="network to start from instead of the setting's initial weights")
    parser.add_argument("--export", action="store_true", help="export the network of the latest checkpoint and exit")
    parser.add_argument("--smoke", action="store_true", help="a few steps on synthetic data, to check that it runs")


def run(args: argparse.Namespace) -> int:
    workspace = args.workspace or Path("training") / args.family / args.setting
    names = ("seed", "smoke", "device", "workers", "amp", "threads", "epochs")
    options = RunOptions(workspace=workspace, cache_folder=args.cache, **{name: getattr(args, name) for name in names})
    path = train(args.family, args.setting, options, init=args.init, export_only=args.export)
    print(f"wrote {path}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    args = parser.parse_args(arguments)
    return exit_code(lambda: run(args))


if __name__ == "__main__":
    raise SystemExit(main())
