"""BGD-DiMP for VOT 2018: five recursions of gradient descent every 20th frame, the short-term learning rate."""
from pytracking.tracker.dimp.params import VOT18, DimpParams


def parameters() -> DimpParams:
    settings = VOT18 | {"net_opt_update_iter": 5, "train_skipping": 20}
    return DimpParams(**settings, learner="gradient_descent", step_length=3e-2, update_when_lost=True)
