"""PrDiMP-50 as published for VOT 2018: raw logits under a window, an update in every frame."""
from pytracking.tracker.dimp.params import PRDIMP50_VOT18, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**PRDIMP50_VOT18)
