"""DiMP on ResNet-18 with the published data: LaSOT, GOT-10k, TrackingNet and COCO."""
from ltr.models.tracking.dimpnet import dimpnet18
from ltr.train_settings.dimp import _resnet
from ltr.trainers.plan import RunOptions, TrainingPlan

NETWORK = {**_resnet.CLASSIFIER, "clf_feat_blocks": 1, "out_feature_dim": 256}


def build(options: RunOptions) -> TrainingPlan:
    """Plans the training."""
    constructor = {"function": "ltr.models.tracking.dimpnet.dimpnet18", "kwargs": NETWORK}
    return _resnet.plan(options, dimpnet18(**NETWORK), constructor, "resnet18_weights", _resnet.all_sources)
