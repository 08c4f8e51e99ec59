"""Any folder of sequences in the OTB layout: ``<sequence>/img/*`` and ``<sequence>/groundtruth_rect.txt``.

Boxes are taken as written; with ``folder:PATH?origin=1``, pixels are counted from 1 (see :mod:`ltr.sequence_files`).
A row of NaN means that the target is absent. The folder of a single sequence works, too.
"""
import warnings
from pathlib import Path

from ltr.sequence_files import annotation_file, check_origin, frame_files, image_folder, move_to_zero
from pytracking.evaluation.datasets.base import read_numbers
from pytracking.evaluation.sequence import Sequence, SequenceError, SequenceList

LAYOUT = "expected <sequence>/img/0001.jpg ... and <sequence>/groundtruth_rect.txt"


def load(root: Path | None, variant: str | None = None, *, origin: int | str = 0) -> SequenceList:
    """Loads all sequences in ``root``, sorted by name; the annotations number the first pixel ``origin``."""
    if root is None or not root.is_dir():
        raise FileNotFoundError(f"folder '{root}' does not exist; {LAYOUT}")
    origin = check_origin(origin, f"folder:{root}")
    folders = [root] if annotation_file(root) else sorted(path for path in root.iterdir() if annotation_file(path))
    if not folders:
        raise FileNotFoundError(f"no sequences in '{root}'; {LAYOUT}")
    skipped = [path.name for path in root.iterdir() if (path / "img").is_dir() and path not in folders]
    if skipped:
        warnings.warn(f"{root}: no groundtruth_rect.txt in {', '.join(sorted(skipped))}: left out", stacklevel=2)
    return SequenceList(load_sequence(folder, root.name, origin) for folder in folders)


def load_sequence(folder: Path, dataset: str, origin: int = 0) -> Sequence:
    """Loads the folder of one sequence, whose annotation counts pixels from ``origin``."""
    annotation = annotation_file(folder)
    if annotation is None:
        raise SequenceError(f"sequence '{folder.name}': no annotation in {folder}; {LAYOUT}")
    frames = frame_files(folder)
    if not frames:
        raise SequenceError(f"sequence '{folder.name}': no images in {image_folder(folder)}; {LAYOUT}")
    boxes = move_to_zero(read_numbers(annotation, 4), origin)
    return Sequence(folder.name, frames, dataset, boxes, annotation_file=annotation)
