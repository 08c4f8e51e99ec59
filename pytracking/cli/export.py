"""``pytracking export NETWORK FOLDER``: exports a DiMP network for other programs and devices."""
import argparse
from pathlib import Path
from typing import Any

from ltr.errors import UserError
from pytracking.evaluation.environment import apply_flags, env_settings
from pytracking.utils.files import replacing

DEFAULT_SCALE_STEP = 1.04  # for networks whose scale comes from box refinement, which the example leaves out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", help="name of a bundled network, file name or path, e.g. dimp_mobile")
    parser.add_argument("folder", type=Path, help="where to write; created if needed, must not contain other files")
    parser.add_argument("--network_path", help="folder of network weights")


def run(args: argparse.Namespace) -> int:
    apply_flags(network_path=args.network_path)
    files = export(args.network, args.folder)
    for file in files:
        print(f"{file}  {file.stat().st_size / 2**20:.2f} MiB")
    return 0


def export(name: str, folder: Path) -> list[Path]:
    """Writes a network's parts, an example and a README; UserError for other networks, or if the folder is in use."""
    from ltr.engine.export import exported_files, load_for_export
    from ltr.weights import find_weights
    from pytracking.evaluation.tracker import Tracker

    file = find_weights(name, [env_settings().network_path])
    if file is None:
        raise UserError(f"there is no network '{name}'; `pytracking weights list` shows the available ones")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "features.onnx").exists():
        raise UserError(f"{folder} contains other files; give an empty or a new folder")
    network = load_for_export(file)
    params = Tracker("dimp", "dimp50", network=str(file)).get_parameters()  # with the network's recommendations
    settings = _settings(params, network.feature_stride)
    for part, content in exported_files(file.stem, network, settings).items():
        with replacing(folder / part) as temporary:
            temporary.write_bytes(content)
    return sorted(folder.iterdir())


def _settings(params: Any, stride: int) -> dict[str, Any]:
    return {
        "side": params.image_sample_size,
        "search_area": params.search_area_scale,
        "steps": params.net_opt_iter,
        "stride": stride,
        "threshold": params.target_not_found_threshold,
        "scale_step": params.scale_step or DEFAULT_SCALE_STEP,
        "scale_weight": params.scale_weight,
        "scale_side": 2 * stride * round(params.scale_patch_part * params.image_sample_size / 32),
    }
