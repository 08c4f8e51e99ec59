"""Parameters of RLS-RTMDNet; the defaults are the paper's."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytracking.tracker.rtmdnet.params import RTMDNetParams


@dataclass(kw_only=True, slots=True)
class RLSRTMDNetParams(RTMDNetParams):
    """Algorithm 1: RT-MDNet without long-term memory, with backups, and with RLS in initial and regular learning."""

    long_term: int = 20  # frames: no more than the short-term memory; RLS retains the rest
    shared_momentum: bool = False
    weight_backup: Literal["none", "copy", "alias"] = "copy"  # the released code: "alias"

    delta: tuple[float, float, float] = (5e-4, 5e-4, 5e-4)  # P_0 = I/delta of fc4, fc5, fc6
    beta: float = 1.0  # forgetting factor; 1 forgets nothing
    clip: Literal["before", "after"] = "before"  # preconditioning the gradient; the released code: "after"
    decay: Literal["preconditioned", "plain"] = "preconditioned"  # of the weights; the released code: "plain"
    virtual_input: Literal["after_dropout", "before_dropout"] = "after_dropout"  # the released code: "before_dropout"
