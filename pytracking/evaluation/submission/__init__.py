"""Packs result files as submissions to benchmarks, and validates what was written."""
from pytracking.evaluation.submission.archive import SubmissionError
from pytracking.evaluation.submission.formats import FORMATS, Submission, pack

__all__ = ["FORMATS", "Submission", "SubmissionError", "pack"]
