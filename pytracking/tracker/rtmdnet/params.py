"""Parameters of RT-MDNet; the defaults are those of its authors."""
from dataclasses import dataclass
from typing import Any, Literal

from pytracking.tracker.base import TrackerParams


@dataclass(kw_only=True, slots=True)
class RtmdnetParams(TrackerParams):
    """Sizes are in frame pixels unless stated otherwise; overlaps are intersection over union."""

    weights: str | None = "rt-mdnet.pth"
    fallback_weights: str | None = "rtmdnet_small"

    draw_last_layer: bool = True  # fc6 starts at random for every sequence (network files do not hold it)

    # scenes and regions
    object_size: int = 107  # px: the target's side in a resampled scene
    padding: float = 1.2  # a region's sides in units of its sample's sides
    adaptive_align: bool = True  # sample regions on a lattice as coarse as their bins (RT-MDNet's improved RoIAlign)
    scenes_per_batch: int = 5  # replicas of the first frame per pass through the convolutions

    # search for the target
    search_samples: int = 256
    search_translation: float = 0.6  # in units of the target's mean side
    lost_translation: float = 1.4  # the same, in the frame after a failure
    search_scale: float = 1.05
    top_samples: int = 5  # their mean is the target's box
    success_threshold: float = 0.0  # on the mean target logit of the top samples

    # first frame
    initial_positives: int = 500
    initial_negatives: int = 5000
    initial_positive_overlap: tuple[float, float] = (0.7, 1.0)
    initial_negative_overlap: tuple[float, float] = (0.0, 0.5)
    replicas: int = 100  # additional close views of the target
    replica_negative_share: float = 0.25  # replicas get this fraction of initial_negatives and box_samples in addition

    # box regression
    box_samples: int = 1000
    box_overlap: tuple[float, float] = (0.6, 1.0)
    box_area: tuple[float, float] = (1.0, 2.0)  # the sample's area in units of the box's
    box_penalty: float = 1000.0  # ridge coefficient

    # later frames
    frame_positives: int = 50
    frame_negatives: int = 200
    frame_positive_overlap: tuple[float, float] = (0.7, 1.0)
    frame_negative_overlap: tuple[float, float] = (0.0, 0.3)

    # memories, in frames
    short_term: int = 20
    long_term: int = 100  # positives of regular updates; set to short_term for no long-term memory
    update_interval: int = 10  # a regular update every this many frames

    # online learning
    batch_positives: int = 32
    batch_negatives: int = 96
    mined_negatives: int = 1024  # candidates; the hardest become the batch's negatives
    initial_iterations: int = 50
    update_iterations: int = 15
    initial_rate: float = 1e-4
    regular_rate: float = 3e-4
    occasional_rate: float = 3e-4
    last_layer_rate: float = 10.0  # fc6 learns this many times faster
    momentum: float = 0.9
    shared_momentum: bool = True  # regular and occasional updates share one momentum (False: each has its own)
    weight_decay: float = 5e-4
    gradient_clip: float = 10.0  # largest joint norm of all layers' gradients
    weight_backup: Literal["none", "copy", "alias"] = "none"  # see weight_backup.py


# Parameters of the paper's Algorithm 1. All compared trackers set these explicitly, so that a network's
# recommendations affect all of them alike.
ALGORITHM_1: dict[str, Any] = {"long_term": 20, "shared_momentum": False, "weight_backup": "copy"}
