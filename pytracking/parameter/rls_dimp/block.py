"""Beyond the paper: P learns from positions drawn from all samples instead of from one virtual input."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(block_input="block", p_memory_mib=None)
