"""DiMP on ResNet-50 with the published data: LaSOT, GOT-10k, TrackingNet and COCO."""
from ltr.models.tracking.dimpnet import dimpnet50
from ltr.train_settings.dimp import _resnet
from ltr.trainers.plan import RunOptions, TrainingPlan

NETWORK = {**_resnet.CLASSIFIER, "clf_feat_blocks": 0, "out_feature_dim": 512}


def build(options: RunOptions) -> TrainingPlan:
    """Plans the training."""
    constructor = {"function": "ltr.models.tracking.dimpnet.dimpnet50", "kwargs": NETWORK}
    return _resnet.plan(options, dimpnet50(**NETWORK), constructor, "resnet50_weights", _resnet.all_sources)
