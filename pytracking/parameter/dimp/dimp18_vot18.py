"""DiMP-18 as published for VOT 2018."""
from pytracking.tracker.dimp.params import VOT18, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**VOT18, weights="dimp18.pth")
