"""The demo dataset: rendered into the cache folder on first use, with the same pixels on every machine.

``digests.json`` holds the SHA-256 of each sequence's pixels and boxes; a rendering that differs is refused.
"""
import hashlib
import os
import shutil
import tempfile
import threading
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ltr.errors import UserError
from pytracking.demo.scenarios import SCENARIOS, Scenario, digested, reference_digests, render_sequence, version
from pytracking.evaluation.datasets.base import read_numbers
from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.sequence import Sequence, SequenceList
from pytracking.utils.image_io import write_image
from pytracking.utils.names import unknown_name_message
from pytracking.utils.progress import progress_bar

_rendering = threading.Lock()  # a server may call this from several threads: one renders, the others wait


class DemoRenderError(UserError):
    """This machine's pixels differ from the reference, so results on them would not be comparable."""


def load(root: Path | None = None, variant: str | None = None) -> SequenceList:
    """Loads all demo sequences, or the one called ``variant``; ``root`` defaults to the cache folder."""
    chosen = [scenario for scenario in SCENARIOS if variant in (None, scenario.name)]
    if not chosen:
        raise UserError(unknown_name_message("demo sequence", variant, [scenario.name for scenario in SCENARIOS]))
    with _rendering:
        missing = [scenario for scenario in chosen if not _folder(scenario, root).is_dir()]
        frames = sum(scenario.frames for scenario in missing)
        with progress_bar(total=frames, unit="frame", desc="rendering demo", disable=not missing) as bar:
            for scenario in missing:
                _render_to_disk(scenario, root, bar)
    return SequenceList(_sequence(scenario, root) for scenario in chosen)


def _folder(scenario: Scenario, root: Path | None) -> Path:
    # The version keeps renderings by different versions of the code apart.
    return (root or env_settings().cache_path) / f"demo-{version()}" / scenario.name


def _render_to_disk(scenario: Scenario, root: Path | None, bar: tqdm) -> None:
    """Renders into a temporary folder, which is renamed when it is complete."""
    final = _folder(scenario, root)
    final.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{scenario.name}~", dir=final.parent))
    boxes, visible, digest = [], [], hashlib.sha256()
    try:
        for number, frame in enumerate(render_sequence(scenario), start=1):
            write_image(work / "img" / f"{number:04d}.png", frame.image)
            boxes.append("NaN,NaN,NaN,NaN" if frame.box is None else ",".join(map(str, frame.box)))
            visible.append(str(frame.visible))
            digest.update(digested(frame))
            bar.update()
        if digest.hexdigest() != reference_digests()[scenario.name]:
            raise DemoRenderError(
                f"the pixels of demo sequence '{scenario.name}' differ from the reference; please report your platform "
                f"and numpy {np.__version__}"
            )
        (work / "groundtruth_rect.txt").write_text("\n".join(boxes) + "\n")
        (work / "visible_percent.txt").write_text("\n".join(visible) + "\n")
        try:
            os.rename(work, final)
        except OSError:
            if not final.is_dir():  # otherwise another process has rendered the same pixels
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sequence(scenario: Scenario, root: Path | None) -> Sequence:
    folder = _folder(scenario, root)
    boxes = read_numbers(folder / "groundtruth_rect.txt", 4)
    return Sequence(
        scenario.name,
        [folder / "img" / f"{number:04d}.png" for number in range(1, scenario.frames + 1)],
        "demo",
        boxes,
        object_class=scenario.object_class,
        attributes={
            "challenges": list(scenario.challenges),
            "visible_percent": np.loadtxt(folder / "visible_percent.txt"),
        },
        annotation_file=folder / "groundtruth_rect.txt",
    )
