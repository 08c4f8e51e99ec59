"""Joins separately trained parts of a DiMP network: ``python -m ltr.trainers.merge OUT --classifier A --boxes B``.

With a frozen backbone the classifier and the IoU-Net do not influence each other, so they can be trained at the same
time in two processes.
"""
from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from ltr.checkpoint import read_checkpoint, save_checkpoint


def merge(out: Path, classifier: Path, boxes: Path, extra_metadata: dict | None = None) -> None:
    """Writes a network with everything of `classifier` but the IoU-Net, which comes from `boxes`.

    Raises:
        ValueError: the two files were not trained on the same backbone.
    """
    base, other = read_checkpoint(classifier), read_checkpoint(boxes)
    if base.constructor != other.constructor:
        raise ValueError(f"{classifier} and {boxes} hold networks of different structure")
    net = dict(base.net)
    for name, value in other.net.items():
        if name.startswith("feature_extractor.") and not torch.equal(value, net[name]):
            raise ValueError(f"{classifier} and {boxes} differ in {name}: parts must share the backbone")
        if name.startswith("bb_regressor."):
            net[name] = value
    epochs = {"classifier": base.metadata.get("epochs_trained"), "boxes": other.metadata.get("epochs_trained")}
    metadata = {k: v for k, v in base.metadata.items() if k != "format"}
    metadata = metadata | {"epochs_trained": epochs} | (extra_metadata or {})
    save_checkpoint(out, net, base.constructor, metadata, half=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--classifier", type=Path, required=True, help="network whose classifier was trained")
    parser.add_argument("--boxes", type=Path, required=True, help="network whose IoU-Net was trained")
    parser.add_argument("--metadata", type=json.loads, default={}, help="json object to add to the file's metadata")
    args = parser.parse_args()
    merge(args.out, args.classifier, args.boxes, args.metadata)
    print(f"wrote {args.out} ({args.out.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
