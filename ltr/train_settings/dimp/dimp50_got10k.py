"""DiMP on ResNet-50, trained only on GOT-10k's training split, for results under the GOT-10k protocol."""
from ltr.models.tracking.dimpnet import dimpnet50
from ltr.train_settings.dimp import _resnet
from ltr.train_settings.dimp.dimp50 import NETWORK
from ltr.trainers.plan import RunOptions, TrainingPlan


def build(options: RunOptions) -> TrainingPlan:
    """Plans the training."""
    constructor = {"function": "ltr.models.tracking.dimpnet.dimpnet50", "kwargs": NETWORK}
    return _resnet.plan(options, dimpnet50(**NETWORK), constructor, "resnet50_weights", _resnet.got10k_only)
