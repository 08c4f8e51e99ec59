"""PrDiMP-50 with gradient descent in the update stage: RLS-PrDiMP without its memory, at the same learning rate."""
from pytracking.tracker.dimp.params import PRDIMP50_BGD, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**PRDIMP50_BGD)
