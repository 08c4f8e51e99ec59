"""What is paired with what when one tracker is compared with the others."""
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.comparison import difference_table


def evaluation_of(scores: dict[str, list[list[float]]]) -> SimpleNamespace:
    """An evaluation with AUCs (runs, sequences) of each row."""
    sequences = len(next(iter(scores.values()))[0])
    return SimpleNamespace(
        names=[f"s{number}" for number in range(sequences)],
        trackers=[SimpleNamespace(name=name) for name in scores],
        sequence_scores=lambda tracker: np.array(scores[tracker.name]),
    )


def test_runs_are_averaged_and_sequences_paired():
    table = difference_table(evaluation_of({"a": [[0.9, 0.5], [0.7, 0.5]], "b": [[0.6, 0.6], [0.6, 0.6]]}), "a")
    (label, difference, _, _, better, worse, equal), = table.rows
    assert (label, better, worse, equal) == ("b", 1, 1, 0)
    assert difference.value == pytest.approx(0.05)
    assert "over sequences" in table.notes[0]


def test_a_single_sequence_has_a_difference_but_no_interval():
    table = difference_table(evaluation_of({"a": [[0.9], [0.5], [0.4]], "b": [[0.6], [0.6], [0.1]]}), "a")
    (_, difference, interval, p_value, better, worse, equal), = table.rows
    assert (better, worse, equal) == (1, 0, 0)
    assert difference.value == pytest.approx(0.5 / 3)
    assert (interval, p_value.shown()) == ("-", "-")
    assert "a single sequence gives neither" in table.notes[0]
