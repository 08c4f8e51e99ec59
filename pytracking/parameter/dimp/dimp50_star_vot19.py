"""DiMP* for VOT 2019: five recursions of steepest descent every 20th frame."""
from pytracking.tracker.dimp.params import VOT19, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**VOT19 | {"net_opt_update_iter": 5, "train_skipping": 20})
