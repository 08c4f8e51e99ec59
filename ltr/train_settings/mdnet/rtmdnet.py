"""RT-MDNet as published: VGG-M, all layers trained, on ImageNet-VID."""
from ltr.actors.mdnet import MdnetActor
from ltr.admin.environment import training_path
from ltr.admin.initial_weights import load_backbone_weights
from ltr.data.mdnet_examples import BoxCounts, MdnetExamples, first_of_batch, visible_videos
from ltr.dataset.base import VideoDataset
from ltr.dataset.imagenetvid import ImagenetVid
from ltr.dataset.sprites import SpriteBank
from ltr.dataset.synthetic import SyntheticVideos
from ltr.models.tracking.mdnet import mdnet
from ltr.trainers.plan import RunOptions, TrainingPlan

NETWORK = {"spec": "vggm", "roi_kind": "plain"}  # only the tracker samples boxes adaptively


def build(options: RunOptions) -> TrainingPlan:
    """Plans the training: one domain per step, 8 frames with 32 target and 96 background boxes."""
    if options.smoke:
        source: VideoDataset = SyntheticVideos(SpriteBank(), 2, video_frames=8)
        counts, epochs = BoxCounts(frames=1, positive=4, negative=12), 1
    else:
        source = ImagenetVid(training_path("imagenetvid_path"), options.cache_folder / "imagenetvid_tracks.json")
        counts, epochs = BoxCounts(frames=8, positive=4, negative=12), 1000
    videos = visible_videos(source)
    network = mdnet(**NETWORK, num_branches=len(videos))
    if not options.smoke:
        load_backbone_weights(network, training_path("vggm_weights"), "layers.conv")
    layers = network.layers
    convolutions = [p for layer in (layers.conv1, layers.conv2, layers.conv3) for p in layer.parameters()]
    return TrainingPlan(
        actor=MdnetActor(network),
        examples=MdnetExamples(videos, network.receptive_field, counts, cycles=1, seed=options.seed),
        parameter_groups=[
            {"params": convolutions, "lr": 1e-4},
            {"params": list(layers.fc4.parameters()) + list(layers.fc5.parameters()), "lr": 1e-3},
            {"params": list(network.branches.parameters()), "lr": 1e-3},
        ],
        constructor={"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": NETWORK},
        metadata={},
        epochs=options.epochs or epochs,
        batch_size=1,
        accumulate=1 if options.smoke else 50,
        optimizer="sgd",
        weight_decay=5e-4,
        gradient_clip=10.0,
        collate=first_of_batch,
    )
