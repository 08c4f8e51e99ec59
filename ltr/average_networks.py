"""Averages the weights of several trainings of one network; the mean generalises better than each training alone.

    python -m ltr.average_networks FILE FILE … --output OUT [--setting dimp.dimp_mobile]

All files must have the same architecture and come from trainings that started from one another: the mean of unrelated
trainings is useless. Metadata is the last file's plus the digests of all files; --setting updates the tracker settings.
"""
import argparse
import importlib
from pathlib import Path

import torch

from ltr.checkpoint import Checkpoint, read_checkpoint, save_checkpoint
from ltr.errors import UserError
from ltr.files import sha256


def average(files: list[Path]) -> Checkpoint:
    """Averages the floating-point weights of checkpoints; everything else is taken from the last file."""
    networks = [read_checkpoint(file) for file in files]
    last = networks[-1]
    for file, network in zip(files, networks, strict=True):
        if network.constructor != last.constructor:
            raise UserError(f"{file} and {files[-1]} have different architectures: their constructors differ")
        shapes = {name: value.shape for name, value in network.net.items()}
        if shapes != {name: value.shape for name, value in last.net.items()}:
            raise UserError(f"{file} and {files[-1]} have different weights")
    net = {
        name: torch.stack([network.net[name].double() for network in networks]).mean(0).to(value.dtype)
        if value.is_floating_point()
        else value
        for name, value in last.net.items()
    }
    metadata = {**last.metadata, "averaged": [sha256(file) for file in files]}
    return Checkpoint(net=net, constructor=last.constructor, metadata=metadata)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--setting", help="module in ltr.train_settings whose TRACKER replaces the tracker settings")
    args = parser.parse_args(arguments)
    updates = {}
    if args.setting:
        try:
            updates["tracker"] = importlib.import_module(f"ltr.train_settings.{args.setting}").TRACKER
        except (ModuleNotFoundError, AttributeError):
            parser.error(f"argument --setting: {args.setting} has no TRACKER or does not exist; try dimp.dimp_mobile")
    try:
        mean = average(args.files)
        save_checkpoint(args.output, mean.net, mean.constructor, mean.metadata | updates, half=True)
    except (UserError, OSError) as error:
        parser.exit(1, f"error: {error}\n")
    print(f"{args.output}: mean of {len(args.files)} networks")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
