"""Numbers of the upstream evaluator (golden folder ``analysis``) against the rule ``pytracking``."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pytracking.analysis.frames import frame_errors
from pytracking.analysis.rules import get_rule
from pytracking.analysis.scores import score_sequence, summarise

PERCENT_TOLERANCE = 1e-4  # percentage points, i.e. 1e-6 of the score itself; the golden curves are float32
ERROR_TOLERANCE = 1e-9


class AnalysisGolden:
    """Ground truth, results and expected numbers of a golden set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.expected = json.loads((folder / "expected.json").read_text())
        self.sequences = self.expected["sequences"]
        self.trackers = self.expected["trackers"]
        self.errors = np.load(folder / "frame_errors.npz")

    def truth(self, sequence: dict) -> tuple[np.ndarray, np.ndarray | None]:
        boxes = np.loadtxt(self.folder / "gt" / f"{sequence['name']}.csv", delimiter=",", ndmin=2)
        if not sequence["has_visibility"]:
            return boxes, None
        return boxes, np.loadtxt(self.folder / "gt" / f"{sequence['name']}_visible.csv", ndmin=1).astype(bool)

    def prediction(self, tracker: str, sequence: dict) -> np.ndarray:
        return np.loadtxt(self.folder / "results" / tracker / f"{sequence['name']}.txt", ndmin=2)

    def options(self, key: str) -> dict:
        """``exclude_invalid=False,bin_gap=0.05`` as keywords of get_rule."""
        values = dict(part.split("=") for part in key.split(","))
        return {"exclude_invalid": values["exclude_invalid"] == "True", "gap": float(values["bin_gap"])}

    def scores(self, tracker: str, options: dict) -> list:
        rule = get_rule("pytracking", **options)
        return [
            score_sequence(
                self.prediction(tracker, s), self.truth(s)[0], rule.for_dataset(s["dataset"]), visible=self.truth(s)[1]
            )
            for s in self.sequences
        ]


@pytest.fixture(scope="module")
def golden(golden_dir: Path) -> AnalysisGolden:
    return AnalysisGolden(golden_dir / "analysis")


def test_analysis_frame_errors(golden: AnalysisGolden) -> None:
    assert golden.sequences and golden.trackers
    for sequence in golden.sequences:
        truth, visible = golden.truth(sequence)
        rule = get_rule("pytracking").for_dataset(sequence["dataset"])
        for tracker in golden.trackers:
            got = frame_errors(golden.prediction(tracker, sequence), truth, rule, visible=visible)
            label = f"{sequence['name']}|{tracker}|"
            np.testing.assert_array_equal(got.valid, golden.errors[label + "valid"], err_msg=label)
            values = {"overlap": got.overlap, "center": got.centre, "center_norm": got.centre_normalised}
            for key, value in values.items():
                expected = golden.errors[label + key]
                np.testing.assert_allclose(value, expected, rtol=0, atol=ERROR_TOLERANCE, err_msg=label + key)


def test_analysis_table_numbers(golden: AnalysisGolden) -> None:
    assert golden.expected["results"]
    for key, expected in golden.expected["results"].items():
        options = golden.options(key)
        rule = get_rule("pytracking", **options)
        for index, tracker in enumerate(golden.trackers):
            summary = summarise(golden.scores(tracker, options), rule)
            for name, value in (
                ("AUC", summary.auc),
                ("OP50", summary.op50),
                ("OP75", summary.op75),
                ("Precision", summary.precision),
                ("NormPrecision", summary.normalised_precision),
            ):
                wanted = pytest.approx(expected[name][index], abs=PERCENT_TOLERANCE)
                assert 100 * float(value) == wanted, (key, tracker, name)


def test_analysis_curves_and_sequences(golden: AnalysisGolden) -> None:
    for key, expected in golden.expected["results"].items():
        options = golden.options(key)
        rule = get_rule("pytracking", **options)
        np.testing.assert_allclose(rule.overlap_thresholds, expected["threshold_set_overlap"], rtol=0, atol=1e-12)
        for index, tracker in enumerate(golden.trackers):
            for place, score in enumerate(golden.scores(tracker, options)):
                mean_overlap = expected["avg_overlap_all"][place][index]
                assert float(score.average_overlap) == pytest.approx(mean_overlap, abs=ERROR_TOLERANCE)
                auc = 100 * float(summarise([score], rule).auc)
                assert auc == pytest.approx(expected["AUC_per_sequence"][place][index], abs=PERCENT_TOLERANCE)
                for name, curve in (
                    ("ave_success_rate_plot_overlap", score.success),
                    ("ave_success_rate_plot_center", score.precision),
                    ("ave_success_rate_plot_center_norm", score.normalised_precision),
                ):
                    if name in expected:
                        np.testing.assert_allclose(curve, expected[name][place][index], rtol=0, atol=1e-6)
