"""The mean of several trainings of one network: what they agree on carries over to other videos better than each alone.

    python -m ltr.average_networks FILE FILE … --output OUT [--setting dimp.dimp_mobile]

The files must be of one architecture, and of trainings that started from one another: the mean of unrelated trainings
is no network. Metadata are the last file's, with what was averaged, and with the present recommendations of a setting.
"""
from __future__ import annotations

import argparse
import importlib
from pathlib import Path

import torch

from ltr.checkpoint import Checkpoint, read_checkpoint, save_checkpoint
from ltr.errors import UserError
from ltr.files import sha256


def average(files: list[Path]) -> Checkpoint:
    """Mean weights of checkpoints; what is no floating-point number is the last file's."""
    networks = [read_checkpoint(file) for file in files]
    last = networks[-1]
    for file, network in zip(files, networks, strict=True):
        if network.constructor != last.constructor:
            raise UserError(f"{file} and {files[-1]} are not of one architecture: their constructors differ")
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
    parser.add_argument("--setting", help="below ltr.train_settings, whose TRACKER the network recommends")
    args = parser.parse_args(arguments)
    try:
        mean = average(args.files)
        if args.setting:
            mean.metadata["tracker"] = importlib.import_module(f"ltr.train_settings.{args.setting}").TRACKER
    except (ModuleNotFoundError, AttributeError):
        parser.error(f"argument --setting: {args.setting} is no setting with a TRACKER; try dimp.dimp_mobile")
    except (UserError, OSError) as error:
        parser.exit(1, f"error: {error}\n")
    save_checkpoint(args.output, mean.net, mean.constructor, mean.metadata, half=True)
    print(f"{args.output}: the mean of {len(args.files)} networks")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
