"""Trains a network: ``python ltr/run_training.py dimp dimp_mobile``; several GPUs: ``torchrun ltr/run_training.py``.

A run lives in a workspace (checkpoints, log.csv, cached features). The same command started again goes on where it was.
At the end, and with --export at any time, the network is written to <workspace>/<setting>.pth.
"""
from __future__ import annotations

import argparse
import importlib
import pkgutil
from pathlib import Path

import torch

from ltr.admin.environment import PathNotSetError
from ltr.dataset.base import DatasetNotFoundError
from ltr.trainers import distributed
from ltr.trainers.export import export_network, load_initial
from ltr.trainers.plan import RunOptions
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
        raise ValueError(f"no setting {family} {setting}; there are: {', '.join(setting_names())}")
    torch.manual_seed(options.seed)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    device = distributed.start(options.device)
    try:
        module = importlib.import_module(f"ltr.train_settings.{family}.{setting}")
        if options.only is not None and options.only not in getattr(module, "PARTS", ()):
            raise ValueError(f"{family} {setting} trains all of its network at once: leave out --only {options.only}")
        with distributed.main_process_first():
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


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", help="folder of train_settings: dimp or mdnet")
    parser.add_argument("setting", help="one of: " + "; ".join(setting_names()))
    parser.add_argument("--workspace", type=Path, help="folder of the run (default: training/<family>/<setting>)")
    parser.add_argument("--cache", type=Path, help="folder of cached features (default: <workspace>/cache)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, help="instead of the setting's number")
    parser.add_argument("--device", default="auto", help="cpu, cuda, mps; auto takes CUDA where there is one")
    parser.add_argument("--threads", type=int, help="CPU threads of torch")
    parser.add_argument("--workers", type=int, default=0, help="processes that load data or build caches")
    parser.add_argument("--amp", action="store_true", help="mixed precision")
    parser.add_argument("--only", choices=["classifier", "boxes"], help="train one part of dimp_mobile")
    parser.add_argument("--init", type=Path, help="network to start from instead of the setting's initial weights")
    parser.add_argument("--export", action="store_true", help="write the network of the newest checkpoint and stop")
    parser.add_argument("--smoke", action="store_true", help="a few steps on drawn data, to see that it runs")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    options = RunOptions(
        workspace=args.workspace or Path("training") / args.family / args.setting,
        cache_folder=args.cache,
        seed=args.seed,
        smoke=args.smoke,
        device=args.device,
        workers=args.workers,
        amp=args.amp,
        threads=args.threads,
        epochs=args.epochs,
        only=args.only,
    )
    try:
        path = train(args.family, args.setting, options, init=args.init, export_only=args.export)
    except (PathNotSetError, DatasetNotFoundError, distributed.MainProcessFailedError, ValueError) as error:
        print(f"error: {error}")
        return 2
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
