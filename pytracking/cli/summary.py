"""What the run scripts show at the end: scores, speed, a picture; and errors that a user can mend as one message."""
from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from pytracking.analysis.scores import score_sequence, summarise
from pytracking.evaluation import Sequence, Tracker
from pytracking.evaluation.pictures import contact_sheet
from pytracking.evaluation.results import boxes_file, is_complete, read_boxes, read_times, times_file
from pytracking.evaluation.run_record import ChangedRunError
from pytracking.utils.image_io import write_image
from pytracking.utils.notices import show_warnings_plainly

RULE = "strict"
SHEET_ROWS = 12  # a contact sheet of more sequences is too long to look at
# What the user can mend: wrong names, missing files and paths, changed settings.
USER_ERRORS = (LookupError, ValueError, OSError, ImportError, ChangedRunError)


def show_results(tracker: Tracker, sequences: list[Sequence]) -> None:
    """Prints the scores of the sequences that are done, and draws them."""
    done = [s for s in sequences if is_complete(tracker.results_dir, s.name, len(s))]
    if done:
        run = "" if tracker.run_id is None else f", run {tracker.run_id}"
        print(f"\n{tracker.display_name}{run}\n{score_table(tracker, done)}")
        print(f"picture: {save_sheet(tracker, done)} (green: annotation, orange: tracker)")
    print(f"results: {tracker.results_dir}")


def score_table(tracker: Tracker, sequences: list[Sequence]) -> str:
    """Scores and speed of the results on disk, a line a sequence and one for all."""
    lines = [f"{'sequence':<28} {'frames':>6} {'AUC':>6} {'P@20':>6} {'nP@.2':>6} {'fps':>8}"]
    scored, frames, seconds = [], 0, 0.0
    for sequence in sequences:
        boxes = read_boxes(boxes_file(tracker.results_dir, sequence.name))
        speed = f"{'-':>8}"
        if times_file(tracker.results_dir, sequence.name).exists():
            times = read_times(times_file(tracker.results_dir, sequence.name))
            frames, seconds = frames + len(times), seconds + times.sum()
            speed = f"{len(times) / max(times.sum(), 1e-9):8.1f}"
        numbers = f"{'-':>6} {'-':>6} {'-':>6}"
        if len(sequence.ground_truth_rect) == len(sequence):
            scores = score_sequence(boxes, sequence.ground_truth_rect, RULE, visible=sequence.target_visible)
            scored.append(scores)
            numbers = _numbers([scores])
        lines.append(f"{sequence.name:<28} {len(sequence):6d} {numbers} {speed}")
    if scored:
        total = sum(len(sequence) for sequence in sequences)
        speed = f"{frames / max(seconds, 1e-9):8.1f}" if frames else f"{'-':>8}"
        lines += ["-" * len(lines[0]), f"{'mean of sequences':<28} {total:6d} {_numbers(scored)} {speed}"]
        lines.append(f"rule '{RULE}': AUC, precision at 20 px, normalised precision at 0.2 (target visible)")
    return "\n".join(lines)


def _numbers(scores: list) -> str:
    summary = summarise(scores, RULE)
    return " ".join(f"{float(x):6.3f}" for x in (summary.auc, summary.precision, summary.normalised_precision))


def save_sheet(tracker: Tracker, sequences: list[Sequence]) -> Path:
    """A picture with frames of the first sequences, the annotation and the tracker's boxes."""
    boxes = {s.name: read_boxes(boxes_file(tracker.results_dir, s.name)) for s in sequences[:SHEET_ROWS]}
    path = tracker.results_dir / "contact_sheet.jpg"
    write_image(path, contact_sheet(sequences[:SHEET_ROWS], boxes))
    return path


def exit_code(run: Callable[[], int], debug: bool) -> int:
    """Calls ``run``; a user's mistake becomes a message and exit code 2, Ctrl-C exit code 130.

    With ``debug`` the traceback is shown as well.
    """
    show_warnings_plainly()
    try:
        return run()
    except KeyboardInterrupt:
        print("\ninterrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except USER_ERRORS as error:
        if debug:
            raise
        message = error.args[0] if isinstance(error, LookupError) and error.args else error
        print(f"error: {message}", file=sys.stderr)
        return 2
