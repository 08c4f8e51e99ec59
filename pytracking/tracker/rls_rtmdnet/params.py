"""Parameters of RLS-RTMDNet; the defaults are the paper's."""
from dataclasses import dataclass
from typing import Literal

from pytracking.tracker.rtmdnet.params import RtmdnetParams


@dataclass(kw_only=True, slots=True)
class RLSRtmdnetParams(RtmdnetParams):
    """Algorithm 1: RT-MDNet without long-term memory, with backups, and with RLS in initial and regular learning."""

    long_term: int = 20  # frames: no more than the short-term memory; RLS retains the rest
    shared_momentum: bool = False
    weight_backup: Literal["none", "copy", "alias"] = "copy"  # the released code: "alias"

    delta: tuple[float, float, float] = (5e-4, 5e-4, 5e-4)  # P_0 = I/delta of fc4, fc5, fc6
    # Most that a layer's P may hold; None: no limit. With the published network P is exact for some 1070 frames; then
    # the weaker half of the directions is forgotten, so that memory and time stay bounded on endless streams.
    p_memory_mib: float | None = 96.0
    beta: float = 1.0  # forgetting factor; 1 forgets nothing
    # The norm that gradient_clip limits: of the gradient "before", or of what is stepped by "after" P is applied. The
    # paper is silent; "before" makes steps 1/delta = 2000 times longer, and the tracker fails (docs/rtmdnet.md).
    clip: Literal["before", "after"] = "after"
    # The weights' decay is part of the gradient, so it is multiplied by P and clipped; or "plain": added by
    # the optimizer after preconditioning and clipping, as in the released code.
    decay: Literal["preconditioned", "plain"] = "preconditioned"
    virtual_input: Literal["after_dropout", "before_dropout"] = "after_dropout"  # the released code: "before_dropout"
