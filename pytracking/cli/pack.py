"""``pytracking pack BENCHMARK TRACKER/PARAM``: packs result files as a benchmark's submission."""
import argparse
from pathlib import Path

from ltr.errors import UserError
from pytracking.analysis.result_sets import find_results
from pytracking.evaluation import get_dataset
from pytracking.evaluation.environment import apply_flags, env_settings
from pytracking.evaluation.reference import RESULTS_FORM, join_words
from pytracking.evaluation.submission import FORMATS, SubmissionError, pack
from pytracking.utils.names import file_stem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", choices=FORMATS, help="benchmark that defines the format")
    parser.add_argument(
        "tracker", nargs="+", metavar="[NAME=]TRACKER", help=f"{RESULTS_FORM} (GOT-10k takes three runs: #0-2)"
    )
    parser.add_argument("--dataset", help="dataset that the results are for (default: the benchmark's test set)")
    parser.add_argument("--output", type=Path, help="file or folder to write (default: here, named after the tracker)")
    parser.add_argument("--presence-threshold", type=float, help="oxuva: minimum score of a present target")
    parser.add_argument("--results-path", type=Path, help="folder of result files")


def run(args: argparse.Namespace) -> int:
    apply_flags(results_path=args.results_path)
    kind = FORMATS[args.benchmark]
    dataset = args.dataset or kind.datasets[0]
    trackers = join_words(args.tracker)
    if len(trackers) != 1:
        raise UserError(f"a submission is for one tracker, not {len(trackers)}: {', '.join(trackers)}")
    results = find_results(trackers[0], env_settings().results_path)
    folders = [run.path for run in results.runs]
    if archives := [path for path in folders if not path.is_dir()]:
        raise SubmissionError(f"{archives[0]} is a zip; unpack it first")
    output = args.output or Path(f"{file_stem(results.name)}_{dataset}{kind.suffix}")
    sequences = get_dataset(dataset)
    submission = pack(args.benchmark, folders, sequences, output, presence_threshold=args.presence_threshold)
    runs = f", {submission.runs} repetitions" if submission.runs > 1 else ""
    print(f"{submission.path}: {submission.sequences} sequences{runs}, {submission.files} files, checked")
    print(f"ready to upload to {kind.upload}")
    return 0
