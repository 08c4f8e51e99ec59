"""DiMP on MobileNetV2: the small network that ships with the package.

The backbone keeps its ImageNet weights up to stride 8, and the features there are computed once and cached. The later
blocks, the head, the filter initialiser, the optimiser's learned functions and the IoU-Net are trained on them. Sources
are annotated photographs, parts of the objects in them, and clips with boxes; no frames of tracking benchmarks.
"""
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path

from torch import nn

from ltr.actors.dimp import DimpActor, DimpLossWeights
from ltr.admin.environment import training_path
from ltr.admin.initial_weights import load_backbone_weights, near_identity_head, near_identity_initializer
from ltr.data.augmentation import Augmentation
from ltr.data.crops import CropGeometry, Jitter
from ltr.data.feature_cache import BackboneFeatures, CachePart, FeatureCache, build_cache
from ltr.data.processing import DimpExamples, DimpProcessing
from ltr.data.sampler import ExampleSampler
from ltr.dataset.base import VideoDataset
from ltr.dataset.clips import Clips
from ltr.dataset.coco import coco_parts
from ltr.dataset.jhmdb import JhmdbClips
from ltr.dataset.masks import MaskVideos
from ltr.dataset.split import read_split
from ltr.dataset.sprites import SpriteBank
from ltr.dataset.stills import CubStills, StillParts, VocStills
from ltr.dataset.synthetic import SyntheticVideos
from ltr.models.tracking.dimpnet import DiMPNet, dimpnet_mobile
from ltr.trainers.plan import RunOptions, TrainingPlan, cosine_decay

GEOMETRY = CropGeometry(output_side=208, search_area=4.0)
CACHED = ["layer2"]  # the deepest map that training does not change
NETWORK = {
    "taps": {"layer2": "6", "layer3": "13"},
    "out_feature_dim": 128,
    "filter_size": 4,
    "iou_input_dim": [96, 96],
    "iou_inter_dim": [128, 128],
    "iou_reference_dim": 64,
}
LABEL_SIGMA = 0.81  # cells: a quarter of the target's side
TRAIN_FRAMES, TEST_FRAMES, MAX_GAP = 2, 2, 40
PROCESSING = DimpProcessing(
    geometry=GEOMETRY,
    first_jitter=Jitter(centre=0.3, scale=0.08),  # the tracker's first frame is centred on the target
    train_jitter=Jitter(centre=2.5, scale=0.2, aspect=0.15),
    test_jitter=Jitter(centre=3.0, scale=0.3, aspect=0.2),
    augmentation=Augmentation(
        brightness=0.25, contrast=0.25, colour=0.08, blur=0.1, motion=0.1, coarse=0.25, cover=0.1, grey=0.1
    ),
    backdrop=0.6,
    look_alike=0.4,
)
TRACKER = {  # settings in which trackers on this network differ from the published ones, see docs/training.md
    "image_sample_size": 208,
    "search_area_scale": 4.0,
    "crop_convention": "exact",  # as in training: the published convention shifts boxes by 2 % of the target
    "num_init_random_boxes": 4,  # five boxes and four steps: faster than ten and five, overlaps within 0.003
    "box_refinement_iter": 4,
    "box_refinement_space": "edges",
    "box_refinement_step_length": 0.1,  # gradients of an energy are larger than those of an overlap
    "interpolate_peak": True,
    "refinement_weight": [0.8, 0.5],  # smooths boxes over frames, sizes more than positions
    "train_skipping": 5,  # small, fast targets are lost with the paper's 20
    "early_frames": 20,  # if the first pose changes at once, later frames would be uncertain and never learned from
    "net_opt_update_iter": 3,  # scores as well as the paper's 5, in less time
    "learning_rate": 0.02,
    "uncertain_part": 0.5,  # otherwise, updates this frequent would learn occluders
    "refinement_by_confidence": True,
    "target_not_found_threshold": 0.15,  # unlearned poses score low; they are followed, but not learned from
}


@dataclass(frozen=True, slots=True)
class Amounts:
    """Size of the training."""

    part_size: int = 1000  # examples per part of the cache
    parts: int = 20
    validation_size: int = 400  # examples from held-out videos, only for the log
    epochs: int = 3
    batch_size: int = 16


SMOKE = Amounts(part_size=4, parts=1, validation_size=0, epochs=1, batch_size=2)


def build(options: RunOptions) -> TrainingPlan:
    """Completes the cached features and plans the training."""
    amounts = SMOKE if options.smoke else Amounts()
    network = make_network(options)
    folders = make_caches(network, options, amounts)
    validation = [folder for folder in folders if folder.name.startswith("validation")]
    training = [folder for folder in folders if folder not in validation]
    epochs = options.epochs or amounts.epochs
    return TrainingPlan(
        actor=make_actor(network),
        examples=FeatureCache(training),
        validation=FeatureCache(validation) if validation else None,
        parameter_groups=parameter_groups(network),
        constructor={"function": "ltr.models.tracking.dimpnet.dimpnet_mobile", "kwargs": NETWORK},
        metadata={"tracker": TRACKER, "geometry": asdict(GEOMETRY)},
        epochs=epochs,
        batch_size=amounts.batch_size,
        learning_rate_factor=cosine_decay(epochs),
        gradient_clip=50.0,
        frozen=[network.feature_extractor],
    )


def make_actor(network: DiMPNet, weights: DimpLossWeights | None = None) -> DimpActor:
    """The actor: filters learn from two frames of each example, boxes as a density."""
    return DimpActor(
        network,
        train_frames=TRAIN_FRAMES,
        label_sigma=LABEL_SIGMA,
        proposals=32,
        overlap_window=144,
        weights=weights,
        box_loss="density",
    )


def make_network(options: RunOptions) -> DiMPNet:
    """The network before training: an ImageNet backbone and a head that passes the raw features through."""
    network = dimpnet_mobile(**NETWORK)
    if not options.smoke:
        load_backbone_weights(network.feature_extractor, training_path("mobilenet_weights"))
    network.feature_extractor.requires_grad_(False).eval()
    network.feature_extractor.upper_blocks().requires_grad_(True)
    near_identity_head(network.classifier.feature_extractor[0], seed=options.seed)
    near_identity_initializer(network.classifier.filter_initializer.filter_conv, seed=options.seed + 1)
    return network


def parameter_groups(network: DiMPNet) -> list[dict]:
    """Parameters and learning rates of the trained parts."""
    rates = {
        network.feature_extractor.upper_blocks(): 1e-4,
        network.classifier.feature_extractor: 3e-4,
        network.classifier.filter_initializer: 1e-4,
        network.classifier.filter_optimizer: 5e-4,
        network.bb_regressor: 5e-4,
    }
    return [{"params": list(part.parameters()), "lr": rate} for part, rate in rates.items()]


def make_caches(network: nn.Module, options: RunOptions, amounts: Amounts) -> list[Path]:
    """Builds the parts of the cache, `options.workers` at a time."""
    make = drawn_examples if options.smoke else training_examples
    parts = [
        CachePart(f"training_{number:02d}", partial(make, amounts.part_size, options.seed * 1000 + number))
        for number in range(amounts.parts)
    ]
    if amounts.validation_size:
        parts.append(CachePart("validation_0", partial(held_out_examples, amounts.validation_size)))
    geometry = [GEOMETRY.output_side, GEOMETRY.search_area]
    what = {"layers": CACHED, "taps": NETWORK["taps"], "geometry": geometry, "seed": options.seed}
    compute = BackboneFeatures(network.feature_extractor, CACHED)
    return build_cache(options.cache_folder, parts, compute, what, options.workers)


def training_examples(length: int, number: int) -> DimpExamples:
    """Part `number` of the training examples."""
    datasets = _sources()
    sampler = ExampleSampler(list(datasets), list(datasets.values()), MAX_GAP, TRAIN_FRAMES, TEST_FRAMES)
    return DimpExamples(sampler, PROCESSING, length, seed=1000 + number)


@lru_cache(maxsize=1)
def _sources() -> dict[VideoDataset, float]:
    stills = training_path("stills_path")
    voc = VocStills(stills)
    birds = [CubStills(path.parent) for path in sorted(stills.glob("**/bounding_boxes.txt"))]
    return {
        voc: 0.34,
        coco_parts(stills): 0.08,
        **dict.fromkeys(birds, 0.03),
        VocStills(stills, parts=True): 0.06,
        StillParts(voc): 0.13,
        JhmdbClips(training_path("jhmdb_path")): 0.08,
        Clips(training_path("clips_path"), without=read_split("davis_held_out")): 0.28,
    }


def held_out_examples(length: int) -> DimpExamples:
    """Examples from videos that are never trained on, for the log."""
    videos = MaskVideos(training_path("davis_path"), only=read_split("davis_held_out"))
    sampler = ExampleSampler([videos], [1.0], MAX_GAP, TRAIN_FRAMES, TEST_FRAMES)
    return DimpExamples(sampler, PROCESSING, length, seed=5000)


def drawn_examples(length: int, number: int) -> DimpExamples:
    """Examples from synthetic videos without a sprite bank, to check that everything runs."""
    videos = SyntheticVideos(SpriteBank(), length=10**6, seed=number)
    sampler = ExampleSampler([videos], [1.0], MAX_GAP, TRAIN_FRAMES, TEST_FRAMES)
    return DimpExamples(sampler, PROCESSING, length, seed=number)
