"""Scores result files: metrics as pure functions on arrays, evaluator rules, and tables and plots built on them."""
from pytracking.analysis.frames import FrameErrors, frame_errors
from pytracking.analysis.rules import RULES, EvaluatorRule, get_rule
from pytracking.analysis.scores import SequenceScores, Summary, score_frames, score_sequence, summarise

__all__ = [
    "RULES", "EvaluatorRule", "FrameErrors", "SequenceScores", "Summary", "frame_errors", "get_rule", "score_frames",
    "score_sequence", "summarise",
]  # fmt: skip
