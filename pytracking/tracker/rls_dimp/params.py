"""Parameters of RLS-DiMP: DiMP's, and those of recursive least squares."""
from dataclasses import dataclass
from typing import Any, Literal

from pytracking.tracker.base import never_recommended
from pytracking.tracker.dimp.params import Algorithm2Params


@dataclass(kw_only=True, slots=True)
class RLSDimpParams(Algorithm2Params):
    """The paper's RLS-DiMP for short-term benchmarks; parameter files state what they change."""

    learner: Literal["rls", "exact"] = never_recommended("rls")  # the paper's, or the one of exact_learner.py

    delta: float = 0.1  # P_0 = I / delta
    beta: float = 1.0  # forgetting factor of P, or of the exact learner's samples; 1: no forgetting
    block_input: Literal["virtual", "released", "block"] = "virtual"  # how an update's samples enter P, see learner.py
    block_rows: int = 32  # positions drawn per update with block_input="block"
    reset_every: int | None = None  # reset P after this many updates; None: never
    p_form: Literal["auto", "factored", "dense"] = "auto"  # representation of P, see rls_ext
    p_dtype: Literal["float16", "float32", "float64"] = "float32"
    p_memory_mib: float | None = 6.75  # maximum size of P; None: no limit. Ignored for a dense P

    # With learner="exact", see exact_learner.py
    exact_iterations: int = 3  # conjugate gradient steps per update
    exact_samples: int = 1  # maximum number of new samples per update; the newest are used
    exact_ridge: float = 0.003  # minimum weight of |w|^2; the network's suits a few descent steps, not a full solution
    exact_form: Literal["auto", "dense", "sketched"] = "auto"  # auto: sketched on a CPU if dense exceeds the limit
    exact_memory_mib: float = 40.0  # limit for "auto", and maximum size of the sketches


# Differences between the released code and the paper. The released code also stores P in float16; p_form="dense" with
# p_dtype="float16" reproduces that at 128 MiB and half a second per update on a CPU, and changes only the rounding.
RELEASED: dict[str, Any] = {
    "crop_convention": "rls",
    "displacement_origin": "rls",
    "iounet_k": 1,
    "num_init_random_boxes": 0,
    "net_opt_update_iter": 5,
    "update_when_lost": False,
    "block_input": "released",
    "reset_every": 100,
    "p_memory_mib": None,  # bounded by the resets
}
