"""Network files by name: where to find them on this machine and where to download them."""
import os
from dataclasses import dataclass
from pathlib import Path

from ltr.errors import UserError

BUNDLED = Path(__file__).with_name("bundled")
SUFFIX = ".pth"
SUFFIXES = (SUFFIX, ".pth.tar")  # both are ordinary checkpoints
ONNX = ".onnx"  # networks of other projects' trackers, for comparison


@dataclass(frozen=True, slots=True)
class KnownWeights:
    """A network file with a known source."""

    name: str  # file name, as used in parameter files
    description: str  # what it is and who made it
    page: str  # web page or documentation to read
    url: str | None  # direct address of the file, if there is one
    licence: str = "GPL-3.0, as the project that publishes it"
    size: int | None = None  # bytes, if known
    sha256: str | None = None  # digest or its first digits (torchvision puts eight into its file names), if known
    tested: str | None = None  # sha256 of the file behind our tables, if the publisher states none
    network: str | None = None  # dotted constructor that must be able to load it; None for backbone weights


def _of_pytracking(name: str, description: str, identifier: str, network: str) -> KnownWeights:
    page = "https://github.com/visionml/pytracking/blob/master/MODEL_ZOO.md"
    url = f"https://drive.usercontent.google.com/download?id={identifier}&export=download&confirm=t"
    return KnownWeights(name, description, page, url, network=f"ltr.models.{network}")


def _nanotrack(version: str, label: str, part: str, file: str, size: int, tested: str) -> KnownWeights:
    repository = "https://github.com/HonglinChu/SiamTrackers"
    return KnownWeights(
        f"nanotrack_{version}_{part}.onnx",
        f"{label}, for comparison: {part}",
        f"{repository}/tree/master/NanoTrack",
        f"{repository}/raw/master/NanoTrack/models/nanotrack{version}/nanotrack_{file}.onnx",
        licence="see its page",
        size=size,
        tested=tested,
    )


def _of_torchvision(name: str, description: str, sha256: str, size: int | None = None) -> KnownWeights:
    page, url = "https://pytorch.org/vision/stable/models.html", f"https://download.pytorch.org/models/{name}"
    text = f"{description} backbone trained on ImageNet (torchvision)"
    return KnownWeights(name, text, page, url, licence="BSD-3-Clause", size=size, sha256=sha256)


_VITTRACK = "models/object_tracking_vittrack"
_ENTRIES = (
    _of_pytracking("dimp50.pth", "DiMP on ResNet-50 (Bhat et al., 2019)",
                "1qgachgqks2UGjKx-GdO1qylBDdB1f9KN", "tracking.dimpnet.dimpnet50"),
    _of_pytracking("dimp18.pth", "DiMP on ResNet-18 (Bhat et al., 2019)",
                "1MAjrRJDCbL0DSjUKFyDkUuYS1-cYBNjk", "tracking.dimpnet.dimpnet18"),
    _of_pytracking("prdimp50.pth.tar", "PrDiMP on ResNet-50 (Danelljan et al., 2020)",
                "1zbQUVXKsGvBEOc-I1NuGU6yTMPth_aI5", "tracking.dimpnet.klcedimpnet50"),
    _of_pytracking("prdimp18.pth.tar", "PrDiMP on ResNet-18 (Danelljan et al., 2020)",
                "1ycm3Uu63j-uCkz4qt0SG6rY_k5UFlhVo", "tracking.dimpnet.klcedimpnet18"),
    _of_pytracking("super_dimp.pth.tar", "SuperDiMP on ResNet-50 (pytracking, 2020)",
                "1qDptswis2FxihLRYLVRGDvx6aUoAVVLv", "tracking.dimpnet.dimpnet50"),
    _of_pytracking("super_dimp_simple.pth.tar", "SuperDiMP-simple on ResNet-50 (pytracking, 2021)",
                "1lzwdeX9HBefQwznMaX5AKAGda7tqeQtg", "tracking.dimpnet.dimpnet50_simple"),
    _of_pytracking("atom_default.pth", "ATOM on ResNet-18 (Danelljan et al., 2019)",
                "1VNyr-Ds0khjM0zaq6lU-xfY74-iWxBvU", "bbreg.atom.atom_resnet18"),
    KnownWeights(
        "rt-mdnet.pth", "RT-MDNet trained on ImageNet-Vid (Jung et al., 2018)", "https://github.com/IlchaeJung/RT-MDNet",
        "https://www.dropbox.com/s/lr8uft05zlo21an/rt-mdnet.pth?dl=1", licence="not stated",
        network="ltr.models.tracking.mdnet.mdnet",
    ),
    KnownWeights(
        "dimp50_got10k.pth", "DiMP on ResNet-50, trained only on GOT-10k; not published, so train it yourself",
        "docs/training.md: pytracking train dimp dimp50_got10k", None, licence="yours",
        network="ltr.models.tracking.dimpnet.dimpnet50",
    ),
    _nanotrack("v3", "NanoTrack v3 (Chu, 2023)", "backbone", "backbone", 1_431_635,
               "50be1320abf9384fd3479ea829f95e244cf3f3838190c5ab60c750fb8c1ce828"),
    _nanotrack("v3", "NanoTrack v3 (Chu, 2023)", "head", "head", 1_183_740,
               "75357903be3f4817c965af16cb5a11fd32b1467f597a408405a98635ac63f61d"),
    _nanotrack("v2", "NanoTrack v2 (Chu, 2022) for OpenCV", "backbone", "backbone_sim", 1_056_849,
               "530bdd0cd00f19afab79a863e71ba71e3312395a5dc9151af675082bdaaa2fc4"),
    _nanotrack("v2", "NanoTrack v2 (Chu, 2022) for OpenCV", "head", "head_sim", 726_198,
               "0d8c0637be849f092cc7236cae02e55c8b9455ebe37ba50601d6115db4247cd9"),
    KnownWeights(
        "vittrack.onnx", "VitTrack for OpenCV (OpenCV's model zoo, 2023), for comparison",
        f"https://github.com/opencv/opencv_zoo/tree/main/{_VITTRACK}",
        f"https://github.com/opencv/opencv_zoo/raw/main/{_VITTRACK}/object_tracking_vittrack_2023sep.onnx",
        licence="Apache-2.0", size=767_836, tested="ac1418b43519a5118dba03e1db181b5ca83f3a61b76582841ce8a725d8bfa249",
    ),
    _of_torchvision("mobilenet_v2-b0353104.pth", "MobileNetV2",
                    "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889", 14_212_972),
    _of_torchvision("resnet50-0676ba61.pth", "ResNet-50", "0676ba61"),
    _of_torchvision("resnet18-f37072fd.pth", "ResNet-18", "f37072fd"),
)
KNOWN: dict[str, KnownWeights] = {entry.name: entry for entry in _ENTRIES}


def cache_dir() -> Path:
    """The user's folder for networks, in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytracking" / "networks"


def bundled_networks() -> list[Path]:
    """Networks that ship with the package."""
    return sorted(BUNDLED.glob(f"*{SUFFIX}"))


def find_weights(name: str, search_dirs: list[Path]) -> Path | None:
    """Finds the first network file of this name, or None; never downloads.

    Args:
        name: file name ("dimp50.pth"), bare name ("dimp_mobile"), or path of a file.
        search_dirs: folders to search first, before the user's cache and the networks that ship with the package.
    """
    if not name:
        raise UserError("the name of a network is empty")
    given = Path(name).expanduser()
    names = [given.name]
    if not given.name.endswith((*SUFFIXES, ONNX)):
        names = [given.name + suffix for suffix in SUFFIXES] + names
    if given.is_absolute() or len(given.parts) > 1:
        return next((given.with_name(n) for n in names if given.with_name(n).is_file()), None)
    folders = [*(Path(folder) for folder in search_dirs if folder is not None), cache_dir(), BUNDLED]
    return next((folder / n for folder in folders for n in names if (folder / n).is_file()), None)
