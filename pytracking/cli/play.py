"""``pytracking play DATASET TRACKER/PARAM ...``: writes a page or video of a sequence with several trackers' boxes."""
import argparse
from pathlib import Path

import numpy as np

from ltr.errors import UserError
from pytracking.analysis.evaluate import evaluate
from pytracking.analysis.moments import overlaps
from pytracking.analysis.playback import MOST_FRAMES, write_page, write_video
from pytracking.analysis.result_sets import ResultSet, find_results
from pytracking.evaluation import Sequence, SequenceList, get_dataset
from pytracking.evaluation.environment import apply_flags, env_settings
from pytracking.evaluation.reference import RESULTS_FORM, join_words
from pytracking.utils.video_writer import browser_suffix


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", help="name of a dataset, or folder:PATH")
    parser.add_argument(
        "trackers", nargs="+", metavar="[NAME=]TRACKER", help=f"{RESULTS_FORM}; the first run of each is shown"
    )
    parser.add_argument("--sequence", action="append", help="sequence to show (may be given several times)")
    parser.add_argument(
        "--worst", type=int, default=1, metavar="N",
        help="without --sequence: show the N sequences where the first two trackers differ most",
    )  # fmt: skip
    parser.add_argument("--video", action="store_true", help="write a video instead of a page")
    parser.add_argument("--frames", type=int, default=MOST_FRAMES, help=f"frames per page (default: {MOST_FRAMES})")
    parser.add_argument("--fps", type=float, default=20.0, help="frames per second of playback (default: 20)")
    parser.add_argument("--output", type=Path, help="folder to write to (default: result_plot_path)")
    parser.add_argument("--results-path", type=Path, help="folder of result files")


def run(args: argparse.Namespace) -> int:
    apply_flags(results_path=args.results_path)
    if args.frames < 2 or args.fps <= 0 or args.worst < 1:
        raise UserError("--frames must be at least 2, --fps above 0, --worst at least 1")
    dataset = get_dataset(args.dataset)
    results = [find_results(spec, env_settings().results_path) for spec in join_words(args.trackers)]
    folder = args.output or env_settings().require("result_plot_path", "play")
    for sequence in _chosen(args, dataset, results):
        _write(args, folder, sequence, load_boxes(results, sequence))
        _print_scores(results, sequence)
    return 0


def load_boxes(results: list[ResultSet], sequence: Sequence) -> dict[str, np.ndarray]:
    """Boxes of each tracker's first run."""
    return {row.name: row.runs[0].checked_boxes(sequence) for row in results}


def _chosen(args: argparse.Namespace, dataset: SequenceList, results: list[ResultSet]) -> list[Sequence]:
    if args.sequence:
        return [dataset[name] for name in args.sequence]
    available = [sequence for sequence in dataset if all(row.runs[0].has(sequence.name) for row in results)]
    if not available:
        raise FileNotFoundError(f"no sequence of '{args.dataset}' has results of all these trackers")
    return sorted(available, key=lambda sequence: -_difference(results, sequence))[: args.worst]


def _difference(results: list[ResultSet], sequence: Sequence) -> float:
    """Mean difference between the first two trackers' overlaps, or between a single tracker's overlap and 1."""
    if len(sequence.ground_truth_rect) != len(sequence):
        return 0.0
    scores = [overlaps(boxes, sequence) for boxes in load_boxes(results[:2], sequence).values()]
    gaps = np.abs(scores[0] - scores[1]) if len(scores) > 1 else 1.0 - scores[0]
    return float(np.nanmean(gaps)) if not np.isnan(gaps).all() else 0.0


def _print_scores(results: list[ResultSet], sequence: Sequence) -> None:
    """Prints the scores on the sequence, as in ``analyze --per-sequence``."""
    if len(sequence.ground_truth_rect) != len(sequence) or sequence.dataset == "oxuva":
        return
    shown = [ResultSet(row.name, row.runs[:1]) for row in results]
    evaluation = evaluate(shown, [sequence], cache=False, progress=False)
    scores = [f"{row.name} {evaluation.summary(row).auc[0]:.3f}" for row in evaluation.trackers]
    print(f"  AUC by rule '{evaluation.rule.name}': {', '.join(scores)}")


def _write(args: argparse.Namespace, folder: Path, sequence: Sequence, boxes: dict[str, np.ndarray]) -> None:
    if args.video:
        path = folder / f"{sequence.name}{browser_suffix()}"
        write_video(path, sequence, boxes, args.fps)
        print(f"video: {path}")
        return
    path = folder / f"{sequence.name}.html"
    moments = write_page(path, sequence, boxes, most_frames=args.frames, fps=args.fps)
    print(f"page: {path} (open it in a browser)")
    for moment in moments:
        print(f"  {moment.text}")
