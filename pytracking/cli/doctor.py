"""``pytracking doctor``: checks what is installed, and says how to add what is missing."""
import argparse
import importlib
import platform
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from ltr.errors import UserError
from pytracking.cli.checks import Finding, computing, machine
from pytracking.evaluation.datasets.registry import DATASETS
from pytracking.evaluation.discovery import parameter_names, tracker_names
from pytracking.evaluation.environment import LOCAL_FILE, config_file, env_settings, how_to_set
from pytracking.evaluation.networks import FallbackWeightsWarning, MissingWeightsError
from pytracking.evaluation.tracker import Tracker

REQUIRED = ("torch", "numpy", "cv2", "matplotlib", "tqdm")
OPTIONAL = {  # module: (purpose, how to install it)
    "simplejpeg": ("faster reading of JPEG frames", "pip install 'rls-tracking[jpeg]'"),
    "torchvision": ("ImageNet weights when training", "pip install torchvision (the release that fits your torch)"),
    "vot": ("the VOT toolkit", "pip install 'rls-tracking[vot]'"),
    "ray": ("experiments on a cluster", "pip install 'rls-tracking[ray]'"),
    "starlette": ("the page in the browser", "pip install 'rls-tracking[web]'"),
    "pytest": ("the test suite", "pip install 'rls-tracking[dev]'"),
}
CHECKOUT = Path(__file__).parents[2]  # has install.sh, unless installed from a wheel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also list datasets whose path is not set")


def run(args: argparse.Namespace) -> int:
    failed = False
    sections = {
        "Python and packages": packages(),
        "Optional packages": optional_packages(),
        "Device and computing": [*device(), *computing.findings()],
        "Paths, writing and space": paths(),
        "Video and browser": machine.video(),
        "Networks": networks(),
        "Trackers": trackers(),
        "Datasets": datasets(args.all),
    }
    for title, findings in sections.items():
        print(f"\n{title}")
        for finding in findings:
            failed |= finding.ok is False
            print(finding)
    print("\nsomething is missing: see the lines marked FAIL" if failed else "\nready to run")
    return 1 if failed else 0


def remedy_here(in_a_checkout: str, elsewhere: str) -> str:
    """Chooses the remedy for a checkout or for an installed package."""
    return in_a_checkout if (CHECKOUT / "install.sh").is_file() else elsewhere


def packages() -> Iterator[Finding]:
    yield Finding(True, "python", platform.python_version())
    for name in REQUIRED:
        try:
            yield Finding(True, name, importlib.import_module(name).__version__)
        except ImportError as error:
            remedy = remedy_here("./install.sh", "pip install --force-reinstall rls-tracking")
            yield Finding(False, name, f"cannot be imported: {error}", remedy)
    owners = opencv_owners()
    if len(owners) > 1:
        state, install = f"{' and '.join(owners)} overwrite each other's files", "pip install opencv-contrib-python"
        remedy = f"pip uninstall -y {' '.join(owners)} && {remedy_here('./install.sh', install)}"
        yield Finding(False, "cv2", state, remedy)


def opencv_owners() -> list[str]:
    """Installed packages that contain a cv2 folder; with more than one, the environment is broken."""
    return sorted(set(metadata.packages_distributions().get("cv2", ())))


def optional_packages() -> Iterator[Finding]:
    for name, (purpose, remedy) in OPTIONAL.items():
        try:
            module = importlib.import_module(name)
            yield Finding(True, name, f"{getattr(module, '__version__', 'installed')} ({purpose})")
        except ImportError:
            yield Finding(None, name, f"not installed ({purpose})", remedy)
    import cv2

    contrib = hasattr(cv2, "TrackerCSRT_create")
    alone = "pip uninstall -y opencv-python && pip install opencv-contrib-python"
    remedy = remedy_here("./install.sh installs OpenCV's contrib build alone", alone)
    state = "available" if contrib else "not in this build"
    yield Finding(contrib or None, "opencv csrt, kcf", state, "" if contrib else remedy)


def device() -> Iterator[Finding]:
    import torch

    from pytracking.utils.device import select_device

    chosen = select_device("auto")
    name = torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else platform.processor() or platform.machine()
    remedy = ""
    if chosen.type == "cpu" and torch.version.cuda is None and platform.system() != "Darwin":
        remedy = remedy_here("./install.sh --cuda installs torch with CUDA", "https://pytorch.org has torch with CUDA")
        remedy = f"with an NVIDIA GPU: {remedy}"
    yield Finding(True, "auto", f"{chosen} ({name}), {torch.get_num_threads()} threads", remedy)


def paths() -> Iterator[Finding]:
    yield Finding(True, "config file", f"{config_file()}{'' if config_file().is_file() else ' (absent; not needed)'}")
    if LOCAL_FILE.is_file():
        yield Finding(True, "local.py", f"{LOCAL_FILE} (used)")
    yield from machine.folders()


def networks() -> Iterator[Finding]:
    from ltr.weights import bundled_networks

    for path in bundled_networks():
        yield Finding(True, path.stem, f"bundled, {path.stat().st_size / 1e6:.1f} MB")
    folder = env_settings().network_path
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if path.suffix in (".pth", ".onnx", ".tar"):
            yield Finding(True, path.name, f"{path}, {path.stat().st_size / 1e6:.1f} MB")


def trackers() -> Iterator[Finding]:
    """One finding per tracker and state, which lists the parameter files in this state."""
    for name in tracker_names():
        groups: dict[tuple, list[str]] = {}
        for param in parameter_names(name):
            groups.setdefault(_tracker_state(name, param), []).append(param)
        for (ok, state, remedy), params in groups.items():
            yield Finding(ok, name, f"{state}: {', '.join(params)}", remedy)


def _tracker_state(name: str, param: str) -> tuple[bool | None, str, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWeightsWarning)
            weights = Tracker(name, param).weights
    except MissingWeightsError as error:
        state, _, remedy = str(error).partition("; ")
        return None, state.removeprefix(f"{name}/{param}: "), remedy
    if weights.file is None:
        try:
            Tracker(name, param).create_tracker()
        except UserError as error:
            state, _, remedy = str(error).partition(". ")
            return None, state, remedy
        return True, "needs no network", ""
    if weights.fallback:
        remedy = "`pytracking weights` says how to get the paper's network"
        return True, f"runs on the bundled {weights.file.name}", remedy
    return True, f"runs on {weights.file.name}", ""


def datasets(show_all: bool) -> Iterator[Finding]:
    env, absent = env_settings(), []
    for name, entry in DATASETS.items():
        if entry.path_key is None:
            yield Finding(True, name, "rendered on first use")
            continue
        path = getattr(env, entry.path_key)
        if path is None:
            absent.append(name)
            if show_all:
                yield Finding(None, name, f"{entry.path_key} is not set", how_to_set(entry.path_key).replace("\n", " "))
        elif path.is_dir():
            yield Finding(True, name, str(path))
        else:
            yield Finding(False, name, f"{entry.path_key} = {path} does not exist", how_to_set(entry.path_key))
    yield Finding(True, "folder:PATH", "any folder of <sequence>/img/*.jpg + groundtruth_rect.txt")
    if absent and not show_all:
        yield Finding(None, f"{len(absent)} others", "paths not set: " + ", ".join(absent), "doctor --all shows how")
