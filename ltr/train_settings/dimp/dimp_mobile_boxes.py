"""Trains only the box head of dimp_mobile, on unchanged features.

For a mean of several trainings (`--init`), whose box head was not trained on the mean backbone's features. The
classifier does not change.
"""
from dataclasses import replace

from ltr.actors.dimp import DimpLossWeights
from ltr.train_settings.dimp import dimp_mobile
from ltr.trainers.plan import RunOptions, TrainingPlan, cosine_decay

EPOCHS = 2
WARM_UP = 0.11  # epochs: the head is already trained, and Adam's first steps are long


def build(options: RunOptions) -> TrainingPlan:
    """The plan of dimp_mobile on the same cached features, restricted to the box head."""
    plan = dimp_mobile.build(options)
    network = plan.actor.network
    network.requires_grad_(False)
    network.bb_regressor.requires_grad_(True)
    epochs = options.epochs or (plan.epochs if options.smoke else EPOCHS)
    decay = cosine_decay(epochs)
    return replace(
        plan,
        actor=dimp_mobile.make_actor(network, DimpLossWeights(final=0)),
        parameter_groups=[{"params": list(network.bb_regressor.parameters()), "lr": 3e-4}],
        epochs=epochs,
        learning_rate_factor=lambda epoch: min(1.0, epoch / WARM_UP) * decay(epoch),
        frozen=[network.feature_extractor, network.classifier],
    )
