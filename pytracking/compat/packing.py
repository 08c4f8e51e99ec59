"""Benchmark submissions with pytracking's names; files are written to the working directory."""
from pathlib import Path

from pytracking.evaluation import Tracker, get_dataset
from pytracking.evaluation.results import list_runs
from pytracking.evaluation.submission import FORMATS, pack


def pack_got10k_results(tracker_name: str, param_name: str, output_name: str) -> Path:
    """Writes GOT-10k's zip of up to three runs."""
    folder = Path(Tracker(tracker_name, param_name).results_dir)  # its name may include the network
    trackers = [Tracker(tracker_name, param_name, run_id) for run_id in list_runs(folder.parent, folder.name) or [None]]
    return _pack("got10k", trackers, output_name)


def pack_trackingnet_results(
    tracker_name: str, param_name: str, run_id: int | None = None, output_name: str | None = None
) -> Path:
    """Writes TrackingNet's zip."""
    return _pack("trackingnet", [Tracker(tracker_name, param_name, run_id)], output_name)


def pack_lasot_results(
    tracker_name: str, param_name: str, run_id: int | None = None, output_name: str | None = None
) -> Path:
    """Writes LaSOT's text files."""
    return _pack("lasot", [Tracker(tracker_name, param_name, run_id)], output_name)


def _pack(benchmark: str, trackers: list[Tracker], output_name: str | None) -> Path:
    kind = FORMATS[benchmark]
    name = output_name or f"{trackers[0].name}_{trackers[0].results_dir.name}"
    output = Path(name if name.endswith(kind.suffix) else name + kind.suffix)
    runs = [Path(tracker.results_dir) for tracker in trackers[: kind.most_runs]]
    return pack(benchmark, runs, get_dataset(kind.datasets[0]), output).path
