"""Beyond the paper: how well a learner's filter fits past frames and the next ones.

Not a tracking experiment: all learners get the same samples with the true boxes (``experiments.memory_probe``). Use
``--dataset folder:PATH`` for real sequences, or ``--sequences lantern_long`` for the demo's long one.
"""
from ..definition import Benchmark, Experiment
from .mini import DIMP_NETWORK, DIMP_TRACKERS, METRICS, on_network

TRACKERS = DIMP_TRACKERS | {
    "RLS-DiMP released": "rls_dimp:reference",
    "RLS-DiMP block": "rls_dimp:block",
    "RLS-DiMP beta 0.99": "rls_dimp:beta_099",
    "exact": "rls_dimp:exact",
    "exact window": "rls_dimp:exact_window",
}

EXPERIMENT = Experiment(
    name="memory",
    title="What learners remember: margins on past and next frames",
    runs=1,
    benchmarks=(
        Benchmark(
            dataset="demo", trackers=on_network(TRACKERS, DIMP_NETWORK), metrics=METRICS, protocol="memory"
        ),
    ),
)
