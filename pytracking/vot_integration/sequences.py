"""Converts local sequences to the layout that the toolkit reads.

Three layouts are accepted: VOT (``<s>/groundtruth.txt``, images in ``<s>/color``), old VOT (images next to
``groundtruth.txt``) and OTB (``<s>/groundtruth_rect.txt``, images in ``<s>/img``). Numbers are taken as written unless
an origin is given (see :mod:`ltr.sequence_files`). Images are linked, or converted if the toolkit cannot read their
format.
"""
import math
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from ltr.sequence_files import annotation_file, check_origin, frame_files, image_folder
from pytracking.evaluation.datasets.base import read_regions
from pytracking.evaluation.sequence import Sequence, SequenceError
from pytracking.utils.files import write_text
from pytracking.utils.image_io import read_image, write_image

LAYOUTS = (
    "expected <sequence>/groundtruth.txt with images in <sequence>/color or <sequence> (VOT), "
    "or <sequence>/groundtruth_rect.txt with images in <sequence>/img (OTB)"
)
ANNOTATION_NAMES = ("groundtruth.txt", "groundtruth_rect.txt")  # VOT's own first: it may hold polygons
TOOLKIT_SUFFIXES = (".jpg", ".png")
DEFAULT_FPS = 30  # the toolkit's own default


@dataclass(frozen=True)
class SourceSequence:
    """A sequence on disk, in any layout."""

    name: str
    frames: tuple[Path, ...]
    regions: tuple[tuple[float, ...], ...]  # one per frame: x, y, w, h or corners; NaN where the target is absent
    fps: int = DEFAULT_FPS
    extra_files: tuple[Path, ...] = ()  # per-frame tags and values of VOT's own sequences

    @property
    def always_visible(self) -> bool:
        """Whether every frame has a region, which reset-based experiments need."""
        return not any(math.isnan(number) for region in self.regions for number in region)


def find_sequences(root: str | Path, origin: int = 0) -> list[SourceSequence]:
    """Reads all sequences in a folder, ordered by its ``list.txt`` or by name; ``origin`` numbers the first pixel."""
    root = Path(root).expanduser().resolve()
    check_origin(origin, str(root))
    if not root.is_dir():
        raise SequenceError(f"the folder '{root}' does not exist; {LAYOUTS}")
    if _annotation(root):
        return [_read_sequence(root, origin)]
    listed = root / "list.txt"
    if listed.is_file():
        folders = [root / name for name in listed.read_text(encoding="utf-8").split()]
    else:
        folders = sorted(folder for folder in root.iterdir() if folder.is_dir() and _annotation(folder))
    if not folders:
        raise SequenceError(f"no sequences in '{root}'; {LAYOUTS}")
    return [_read_sequence(folder, origin) for folder in folders]


def from_dataset(sequences: Iterable[Sequence]) -> list[SourceSequence]:
    """Converts the sequences of one of this project's datasets."""
    sources = []
    for sequence in sequences:
        boxes = sequence.ground_truth_rect
        if len(boxes) != len(sequence):
            raise SequenceError(f"{sequence.label}: only the first box is published; VOT needs one per frame")
        frames = tuple(Path(frame).resolve() for frame in sequence.frames)
        regions = sequence.attributes.get("polygons", boxes)  # the original regions of VOT's datasets
        sources.append(SourceSequence(sequence.name, frames, tuple(map(tuple, regions.tolist()))))
    return sources


def write_sequences(sources: Iterable[SourceSequence], folder: Path) -> None:
    """Writes the ``sequences`` folder of a workspace; ``list.txt`` comes last, because the toolkit looks for it."""
    sources = list(sources)
    for source in tqdm(sources, desc="sequences", unit="seq", leave=False):
        _write_sequence(source, folder / source.name)
    write_text(folder / "list.txt", "".join(f"{source.name}\n" for source in sources))


def _write_sequence(source: SourceSequence, folder: Path) -> None:
    images = folder / "color"
    images.mkdir(parents=True, exist_ok=True)
    suffixes = {frame.suffix.lower() for frame in source.frames}
    suffix = suffixes.pop() if len(suffixes) == 1 else ".png"
    suffix = {".jpeg": ".jpg"}.get(suffix, suffix)
    suffix = suffix if suffix in TOOLKIT_SUFFIXES else ".png"
    for number, frame in enumerate(source.frames, start=1):
        _place_image(frame, images / f"{number:08d}{suffix}")
    for extra in source.extra_files:
        shutil.copyfile(extra, folder / extra.name)
    write_text(folder / "groundtruth.txt", "".join(_region_line(region) for region in source.regions))
    properties = {
        "name": source.name,
        "fps": source.fps,
        "format": "default",
        "channel.default": "color",
        "channels.color": f"color/%08d{suffix}",
    }
    write_text(folder / "sequence", "".join(f"{key}={value}\n" for key, value in properties.items()))


def _place_image(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    if source.suffix.lower().replace(".jpeg", ".jpg") != target.suffix:
        write_image(target, read_image(source))
        return
    try:
        target.symlink_to(source)
    except OSError:  # some file systems and Windows accounts have no symbolic links
        shutil.copyfile(source, target)


def _region_line(region: tuple[float, ...]) -> str:
    return ",".join(f"{number:.4f}".rstrip("0").rstrip(".") for number in region) + "\n"


def _annotation(folder: Path) -> Path | None:
    return annotation_file(folder, ANNOTATION_NAMES)


def _read_sequence(folder: Path, origin: int) -> SourceSequence:
    annotation = _annotation(folder)
    if annotation is None:
        raise SequenceError(f"no annotation in '{folder}'; {LAYOUTS}")
    frames = tuple(Path(os.path.realpath(frame)) for frame in frame_files(folder))
    if not frames:
        raise SequenceError(f"no images in '{image_folder(folder)}'; {LAYOUTS}")
    regions = tuple(read_regions(annotation, origin))
    if len(regions) != len(frames):
        raise SequenceError(f"{annotation}: {len(regions)} regions, but {len(frames)} images in the sequence")
    extras = sorted([*folder.glob("*.tag"), *folder.glob("*.label"), *folder.glob("*.value")])
    return SourceSequence(folder.name, frames, regions, _read_fps(folder / "sequence"), tuple(extras))


def _read_fps(path: Path) -> int:
    if not path.is_file():
        return DEFAULT_FPS
    lines = (line.partition("=") for line in path.read_text(encoding="utf-8").splitlines())
    properties = {key.strip(): value.strip() for key, _, value in lines}
    return int(float(properties.get("fps", DEFAULT_FPS)))
