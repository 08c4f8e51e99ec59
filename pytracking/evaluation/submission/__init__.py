"""Result files as the submissions that benchmarks take, validated after they were written."""
from pytracking.evaluation.submission.archive import SubmissionError
from pytracking.evaluation.submission.formats import FORMATS, Submission, pack

__all__ = ["FORMATS", "Submission", "SubmissionError", "pack"]
