"""Parameters of RLS-DiMP: DiMP's, and those of recursive least squares."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pytracking.tracker.base import compared
from pytracking.tracker.dimp.params import Algorithm2Params


@dataclass(kw_only=True, slots=True)
class RLSDimpParams(Algorithm2Params):
    """The paper's RLS-DiMP for short-term benchmarks; parameter files state what they change."""

    learner: Literal["rls", "exact"] = compared("rls")  # the paper's, or every position in the normal equations

    delta: float = 0.1  # P_0 = I / delta
    beta: float = 1.0  # forgetting factor of P, or of an exact learner's samples; 1 forgets nothing
    block_input: Literal["virtual", "released", "block"] = "virtual"  # how an update's samples enter P, see learner.py
    block_rows: int = 32  # positions that are drawn at each update for block_input="block"
    reset_every: int | None = None  # P starts again after this many updates; None: never
    p_form: Literal["auto", "factored", "dense"] = "auto"  # representation of P, see rls_ext
    p_dtype: Literal["float16", "float32", "float64"] = "float32"
    p_memory_mib: float | None = 6.75  # most that P may hold; None: no limit. Does not apply to a dense P

    # With learner="exact", see exact_learner.py
    exact_iterations: int = 3  # conjugate gradient steps of an update
    exact_samples: int = 1  # most new samples that an update takes in, the newest ones
    exact_ridge: float = 0.003  # least weight of |w|^2: what suits a few descent steps is too little for a solution
    exact_form: Literal["auto", "dense", "sketched"] = "auto"  # auto: sketched on a CPU where dense takes more than
    exact_memory_mib: float = 40.0  # this, which sketches may hold


# Where the released code departs from the paper. It also keeps P in float16, which p_form="dense", p_dtype="float16"
# reproduces at 128 MiB and half a second per update on a CPU; the exact form differs from it by rounding alone.
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
