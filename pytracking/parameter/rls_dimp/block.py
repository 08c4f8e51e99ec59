"""Beyond the paper: P is updated with positions drawn from all samples instead of one virtual input."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(block_input="block", p_memory_mib=None)
