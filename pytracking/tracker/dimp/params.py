"""Parameters of the DiMP tracker and its baselines, with defaults and units."""
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytracking.features.crop import BorderMode, Convention
from pytracking.tracker.base import TrackerParams, never_recommended

RefinementSpace = Literal["default", "edges", "relative"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AugmentationParams:
    """Augmentations of the first frame, in this order; the defaults give 15 samples."""

    relative_shifts: tuple[tuple[float, float], ...] = ((0.6, 0.6), (-0.6, 0.6), (0.6, -0.6), (-0.6, -0.6))
    # shifts of the target (y, x), half patches
    flip_horizontal: bool = True
    blurs: tuple[tuple[float, float], ...] = ((3, 1), (1, 3), (2, 2))  # standard deviations (y, x), patch pixels
    rotations: tuple[float, ...] = (10, -10, 45, -45)  # degrees
    dropout_copies: int = 2  # copies of the original sample with feature channels dropped
    dropout_probability: float = 0.2


MANY_ROTATIONS = AugmentationParams(  # 30 samples, for ATOM and for the short, hard sequences of VOT 2018
    blurs=((2, 0.2), (0.2, 2), (3, 1), (1, 3), (2, 2)),
    rotations=(5, -5, 10, -10, 20, -20, 30, -30, 45, -45, -60, 60),
    dropout_copies=7,
)
FEW_SAMPLES = AugmentationParams(  # for VOT 2019
    relative_shifts=((0.6, 0.6), (-0.6, -0.6)),
    blurs=((2, 0.2), (1, 3)),
    rotations=(-5, 10, -30, 60),
    dropout_copies=3,
)


@dataclass(kw_only=True, slots=True)
class DimpParams(TrackerParams):
    """Parameters of DiMP-50; parameter files state what they change.

    A network's recommendations (``metadata["tracker"]``) apply to the parameters that neither the parameter file nor
    the user states (:func:`~pytracking.tracker.base.with_recommendations`).
    """

    weights: str | None = "dimp50.pth"
    fallback_weights: str | None = "dimp_mobile"

    # Search patch
    image_sample_size: int = 288  # side of the patch, pixels
    search_area_scale: float = 5.0  # side of the patch, target sizes
    border_mode: BorderMode = "replicate"  # how to handle patches that extend beyond the frame
    patch_max_scale_change: float | None = 1.5  # maximum factor by which the inside modes shrink a patch
    crop_convention: Convention = "new"  # rounding of the patch's corners, see pytracking.features.crop

    # First frame
    augmentation: AugmentationParams = field(default_factory=AugmentationParams)
    augmentation_expansion_factor: float = 2.0  # side of the wide patch that the samples are cut from, patches
    random_shift_factor: float = 1 / 3  # range of the random shift of flipped, blurred and rotated samples, patches

    # Samples
    sample_memory_size: int = 50
    learning_rate: float = 0.01  # weight of a new sample
    hard_negative_learning_rate: float = 0.02  # weight of a new sample with a distractor
    init_samples_minimum_weight: float = 0.25  # minimum total weight of the first frame's samples; 0: no minimum

    # Online learning
    objective: Literal["network", "density"] = never_recommended("network")  # the network's own loss, or PrDiMP's
    learner: Literal["steepest_descent", "gradient_descent"] = never_recommended("steepest_descent")
    step_length: float = 3e-2  # of gradient descent; the default is the paper's for short-term benchmarks
    step_factor: float = never_recommended(1.0)  # multiplies step_length; 1 / delta: steps as long as RLS's
    ema_alpha: float = never_recommended(1.0)  # weight of the new filter in the moving average; 1: no average
    update_classifier: bool = True
    train_skipping: int = 20  # frames between regular updates
    early_frames: int = 0  # up to this frame, learn from every frame in which the target is found
    update_when_lost: bool = False  # do regular updates even if the flag is uncertain or not_found
    net_opt_iter: int = 10  # recursions on the first frame
    net_opt_update_iter: int = 2  # recursions of a regular update
    net_opt_hn_iter: int = 1  # recursions after a distractor was seen

    # Localisation
    score_preprocess: Literal["none", "softmax", "exp"] = "none"  # applied to the raw scores
    score_filter_ksz: int = 1  # then scores are summed over this many cells squared; odd
    advanced_localization: bool = True  # judge the peak by its height and by other peaks; False: always accept it
    target_not_found_threshold: float = 0.25  # score
    distractor_threshold: float = 0.8  # fraction of the highest score
    hard_negative_threshold: float = 0.5  # fraction of the highest score
    displacement_scale: float = 0.8  # half score maps
    target_neighborhood_scale: float = 2.2  # target sizes
    #: displacements are measured from the last position (new) or from the middle of the map (rls)
    displacement_origin: Literal["new", "rls"] = "new"
    uncertain_threshold: float | None = None  # score
    #: peaks below this fraction of the usual one are uncertain; after a loss, below a higher one, see confidence.py
    uncertain_part: float | None = None
    hard_sample_threshold: float | None = None  # score
    interpolate_peak: bool = False  # place the peak between cells; for networks with weak box refinement
    window_output: bool = False  # multiply the scores by a cosine window
    perform_hn_without_windowing: bool = False  # search for the second peak in the scores without the window
    target_inside_ratio: float = 0.2  # fraction of the target that always stays in the frame

    # Scale from the classifier, before the box is refined; for networks with weak box refinement
    scale_step: float | None = None  # ratio of neighbouring scales, e.g. 1.05; None: scale from box refinement only
    scale_weight: float = 0.5  # damping: fraction of the estimated change that is applied
    scale_patch_part: float = 0.5  # side of the compared patches, search patches

    # Box refinement
    use_iou_net: bool = True
    iounet_k: int = 3  # number of best boxes to average
    num_init_random_boxes: int = 9
    box_jitter_pos: float = 0.1  # of the random boxes, target sizes
    box_jitter_sz: float = 0.5  # of the random boxes, target sizes
    maximal_aspect_ratio: float = 6.0
    box_refinement_space: RefinementSpace = "default"  # coordinates of the steps, see refinement.py
    box_refinement_iter: int = 5
    box_refinement_step_length: float | tuple[float, float] = 1.0  # for all coordinates, or (positions, sizes)
    box_refinement_step_decay: float = 1.0
    box_refinement_undo: bool = False  # with a decay below 1: undo and shorten only steps that were no improvement
    # Fraction of the refinement that is applied, or (centre, size); below 1 smooths over time
    refinement_weight: float | tuple[float, float] = 1.0
    refinement_by_confidence: bool = False  # apply less of it if the peak is below the usual one, see confidence.py
    update_scale_when_uncertain: bool = True

    # Output
    output_score_map: bool = False  # add the score map to each frame's output
    output_past_margin: bool = False  # add learner["past_margin"], see past.py
    debug_dir: Path | None = None  # folder for the debug figures; None: a window
    output_presence: bool = False  # add OxUvA's keys: present, score, xmin, xmax, ymin, ymax (relative to the frame)


@dataclass(kw_only=True, slots=True)
class Algorithm2Params(DimpParams):
    """DiMP with the update stage of the paper's Algorithm 2, for any learner.

    All trackers of a comparison use this class or state the same parameters, so that a network's recommendation reaches
    either all of them or none.
    """

    net_opt_update_iter: int = 5
    update_when_lost: bool = True  # update every 20th frame, whatever its flag


# BGD-DiMP: Algorithm 2 with plain gradient descent, and the paper's learning rate for long-term benchmarks.
BGD: dict[str, Any] = {"learner": "gradient_descent"}
BGD_LONG_TERM: dict[str, Any] = BGD | {"step_length": 3e-3}

# The same update stage for parameter files based on another tracker's published settings.
ALGORITHM_2: dict[str, Any] = {"net_opt_update_iter": 5, "update_when_lost": True}
# The same on VOT, as the paper says: every 20th frame, with the learning rate for short-term benchmarks.
ALGORITHM_2_VOT: dict[str, Any] = ALGORITHM_2 | {"train_skipping": 20, "step_length": 3e-2}

# DiMP's published changes for VOT: a smaller patch, a windowed score map that always finds a target, a larger memory.
_VOT = {
    "learning_rate": 0.0075,
    "init_samples_minimum_weight": 0.0,
    "train_skipping": 10,
    "early_frames": 0,
    "window_output": True,
    "perform_hn_without_windowing": True,
    "target_not_found_threshold": 0.0,
    "distractor_threshold": 100.0,
    "hard_negative_threshold": 0.45,
    "displacement_scale": 0.7,
}
VOT18: dict[str, Any] = _VOT | {
    "image_sample_size": 224,
    "search_area_scale": 4.0,
    "augmentation": MANY_ROTATIONS,
    "sample_memory_size": 250,
    "net_opt_iter": 25,
    "net_opt_update_iter": 3,
    "net_opt_hn_iter": 3,
}
VOT19: dict[str, Any] = _VOT | {
    "image_sample_size": 256,
    "search_area_scale": 4.5,
    "augmentation": FEW_SAMPLES,
    "augmentation_expansion_factor": 1.4,
    "sample_memory_size": 100,
    "net_opt_iter": 15,
    "net_opt_update_iter": 2,
    "net_opt_hn_iter": 2,
    "box_refinement_iter": 3,
}
# The box head of PrDiMP and SuperDiMP predicts a log-density, which is maximised in relative coordinates.
LOG_DENSITY_BOXES: dict[str, Any] = {
    "box_refinement_space": "relative",
    "box_refinement_iter": 10,
    "box_refinement_step_length": 2.5e-3,
}
PRDIMP18: dict[str, Any] = LOG_DENSITY_BOXES | {
    "weights": "prdimp18.pth.tar",
    "early_frames": 0,
    "objective": "density",
    "score_preprocess": "softmax",
    "target_not_found_threshold": 0.04,  # probability
}
# PrDiMP's loss has at most 0.08 of the curvature of DiMP's (bundled network, four sequences). Scaling delta like the
# loss keeps the steps of RLS unchanged; the step length of gradient descent is divided by the factor.
PRDIMP_CURVATURE = 0.08
# A larger search area, kept inside the frame if possible.
_WIDE_SEARCH = {"image_sample_size": 352, "search_area_scale": 6.0, "border_mode": "inside_major"}
PRDIMP50: dict[str, Any] = PRDIMP18 | _WIDE_SEARCH | {"weights": "prdimp50.pth.tar"}
SUPER_DIMP: dict[str, Any] = LOG_DENSITY_BOXES | _WIDE_SEARCH | {"weights": "super_dimp.pth.tar", "early_frames": 0}
PRDIMP50_VOT18: dict[str, Any] = VOT18 | LOG_DENSITY_BOXES | {
    "weights": "prdimp50.pth.tar",
    "objective": "density",
    "learning_rate": 0.01,
    "train_skipping": 1,
    "net_opt_update_iter": 1,
    "net_opt_hn_iter": 1,
    "distractor_threshold": 99999.0,
    "hard_negative_threshold": 999999.0,
}

PRDIMP50_BGD: dict[str, Any] = PRDIMP50 | ALGORITHM_2 | {
    "learner": "gradient_descent",
    "step_length": 3e-2 / PRDIMP_CURVATURE,
}
SUPER_DIMP_BGD: dict[str, Any] = SUPER_DIMP | ALGORITHM_2 | {"learner": "gradient_descent"}
