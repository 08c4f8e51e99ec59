"""Beyond the paper: separates the effect of RLS's memory from that of its longer step, and compares its variants.

P_0 = I/delta = 10 I multiplies the step by ten at equal learning rate, so plain gradient descent with the learning rate
divided by delta ("BGD-DiMP matched") is the control that the paper lacks. Use ``--dataset folder:PATH`` for real
sequences.
"""
from ..definition import Benchmark, Experiment
from .mini import DIMP_NETWORK, METRICS, on_network

TRACKERS = {
    "RLS-DiMP": "rls_dimp:default",
    "BGD-DiMP": "dimp:bgd",
    "BGD-DiMP matched": "dimp:bgd_matched",
    "exact block": "rls_dimp:block",
    "beta 0.999": "rls_dimp:beta_0999",
    "beta 0.99": "rls_dimp:beta_099",
    "beta 0.95": "rls_dimp:beta_095",
    "reset every 100": "rls_dimp:reset_100",
    "float16 dense P": "rls_dimp:half_precision",
}

EXPERIMENT = Experiment(
    name="beyond",
    title="Variants of RLS-DiMP, and the control for its step length",
    runs=3,
    figure="differences",
    benchmarks=(
        Benchmark(dataset="demo", trackers=on_network(TRACKERS, DIMP_NETWORK), metrics=METRICS),
    ),
)
