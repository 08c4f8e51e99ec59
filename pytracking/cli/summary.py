"""Shows the results at the end of a run: scores, speed and a picture."""
from pytracking.analysis.evaluate import evaluate
from pytracking.analysis.presence import presence_table
from pytracking.analysis.report import DECIMALS, rule_notes
from pytracking.analysis.result_sets import ResultSet, Run
from pytracking.analysis.scores import MEASURES
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation import Sequence, Tracker
from pytracking.evaluation.pictures import contact_sheet
from pytracking.evaluation.results import boxes_file, is_complete, read_boxes
from pytracking.utils.image_io import write_image

COLUMNS = ("AUC", "Precision", "Norm Precision")
SHEET_ROWS = 12  # a contact sheet with more sequences is too long


def show_results(tracker: Tracker, sequences: list[Sequence]) -> None:
    """Prints the scores of finished sequences and draws a contact sheet of them."""
    done = [s for s in sequences if is_complete(tracker.results_dir, s.name, len(s))]
    if done:
        print(f"\n{score_table(tracker, done)}")
        boxes = {s.name: read_boxes(boxes_file(tracker.results_dir, s.name)) for s in done[:SHEET_ROWS]}
        path = tracker.results_dir / "contact_sheet.jpg"
        write_image(path, contact_sheet(done[:SHEET_ROWS], boxes))
        print(f"picture: {path} (green: annotation, orange: tracker)")
    print(f"results: {tracker.results_dir}")


def score_table(tracker: Tracker, sequences: list[Sequence]) -> Table:
    """Scores, as in ``analyze``, and speed of the results on disk: one row per sequence, and one for all."""
    results = ResultSet(tracker.display_name, (Run(tracker.results_dir),))
    if sequences[0].dataset == "oxuva":
        return presence_table([results], sequences)
    run = "" if tracker.run_id is None else f", run {tracker.run_id}"
    table = Table(tracker.display_name + run, ["sequence", "frames", *COLUMNS, "fps"])
    public = [s for s in sequences if len(s.ground_truth_rect) == len(s)]
    if public:
        evaluation = evaluate([results], public, cache=False, progress=False, workers=1)
        (scores,) = evaluation.trackers
        columns = [evaluation.sequence_scores(scores, MEASURES[column])[0] for column in COLUMNS]
        for index, sequence in enumerate(public):
            numbers = [Number(float(column[index]), decimals=DECIMALS) for column in columns]
            speed = scores.select([index]).frames_per_second
            table.rows.append([sequence.name, len(sequence), *numbers, Number(speed, decimals=1)])
        summary = evaluation.summary(scores)
        means = [Number(float(getattr(summary, MEASURES[column])[0]), decimals=DECIMALS) for column in COLUMNS]
        total = sum(map(len, public))
        table.rows.append(["mean of sequences", total, *means, Number(scores.frames_per_second, decimals=1)])
        table.notes += rule_notes(evaluation)
    if len(public) < len(sequences):
        unscored = len(sequences) - len(public)
        table.notes.append(f"no score for {unscored} sequences: only the box of their first frame is public")
    return table
