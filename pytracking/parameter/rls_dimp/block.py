"""Beyond the paper: P learns from positions drawn from all samples instead of from one virtual input."""
from pytracking.tracker.dimp.params import ALGORITHM_2
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**ALGORITHM_2, block_input="block", p_memory_mib=None)
