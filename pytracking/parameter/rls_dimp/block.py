"""Beyond the paper: P learns from positions drawn from all samples instead of from one virtual input."""
from pytracking.tracker.dimp.params import ALGORITHM_2
from pytracking.tracker.rls_dimp.params import RlsDimpParams


def parameters() -> RlsDimpParams:
    return RlsDimpParams(**ALGORITHM_2, block_input="block", p_memory_mib=None)
