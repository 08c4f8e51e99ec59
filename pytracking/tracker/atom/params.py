"""ATOM's parameters: DiMP's, and those of its classifier, which is learnt online from scratch."""
from dataclasses import dataclass, field
from typing import Any, Literal

from pytracking.tracker.base import never_recommended
from pytracking.tracker.dimp.params import MANY_ROTATIONS, DimpParams


@dataclass(frozen=True, kw_only=True, slots=True)
class AtomClassifier:
    """Shape of the classifier, its loss, and its learning."""

    kernel_size: int = 4  # side of the filter, cells
    channels: int = 64  # after the projection
    feature_size_odd: bool = False  # whether patches have an odd number of cells per side
    filter_reg: float = 0.1
    projection_reg: float = 1e-4
    slope_length: float | None = 0.05  # a of the scores' activation, see objective.py; None: no activation
    output_sigma_factor: float = 1 / 4  # width of the label, target sizes
    score_upsample_factor: int = 1  # pixels of the score map per pixel of the patch, along each side
    init_steps: int = 6  # Gauss-Newton steps on the first frame
    init_iterations: int = 10  # conjugate gradient iterations per Gauss-Newton step
    fletcher_reeves: bool = False  # formula for conjugate directions in updates; False: Polak-Ribiere
    forgetting_rate: float | None = None  # of the last update's search direction; None: discard it


@dataclass(kw_only=True, slots=True)
class AtomParams(DimpParams):
    """Parameters of ATOM; ``ATOM`` below holds its published values."""

    learner: Literal["conjugate_gradient", "gradient_descent"] = never_recommended("conjugate_gradient")
    classifier: AtomClassifier = field(default_factory=AtomClassifier)


ATOM: dict[str, Any] = {
    "weights": "atom_default.pth",
    "augmentation": MANY_ROTATIONS,
    "sample_memory_size": 250,
    "train_skipping": 10,
    "early_frames": 0,
    "update_when_lost": True,
    "net_opt_update_iter": 5,
    "net_opt_hn_iter": 5,
    "displacement_origin": "rls",
    "crop_convention": "new",
    "box_refinement_undo": True,
}
ATOM_VOT: dict[str, Any] = ATOM | {
    "image_sample_size": 224,
    "search_area_scale": 4.0,
    "learning_rate": 0.0075,
    "init_samples_minimum_weight": 0.0,
    "window_output": True,
    "target_not_found_threshold": -1.0,
    "distractor_threshold": 100.0,
    "hard_negative_threshold": 0.3,
    "displacement_scale": 0.7,
}
# ATOM does not normalise its features to windows of unit energy: its loss is up to 4000 times as curved as DiMP's
# (bundled network, four sequences). See PRDIMP_CURVATURE for the consequences.
ATOM_CURVATURE = 4000
ATOM_BGD: dict[str, Any] = ATOM | {"learner": "gradient_descent", "step_length": 3e-2 / ATOM_CURVATURE}
