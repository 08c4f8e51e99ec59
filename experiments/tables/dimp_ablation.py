"""Table 4: RLS-DiMP, DiMP, DiMP*, BGD-DiMP and its moving averages on LaSOT-test, mean of 20 runs."""
from ..definition import Benchmark, Experiment

LONG_TERM = {
    "DiMP": "dimp:dimp50",
    "DiMP*": "dimp:dimp50_star",
    "BGD-DiMP": "dimp:bgd_long_term",
    "BGD-DiMP-fm": "dimp:bgd_ema_fast_long_term",
    "BGD-DiMP-mm": "dimp:bgd_ema_moderate_long_term",
    "BGD-DiMP-sm": "dimp:bgd_ema_slow_long_term",
    "RLS-DiMP": "rls_dimp:long_term",
    # Not in the paper: a control with RLS's step length, which P_0 = I/delta makes ten times longer at equal rate, but
    # without its memory.
    "BGD-DiMP matched": "dimp:bgd_matched_long_term",
}

EXPERIMENT = Experiment(
    name="dimp_ablation",
    title="RLS-DiMP and its baselines on LaSOT-test",
    label="table:ablationstudy_RLS_DiMP",
    published="dimp_ablation",
    runs=20,
    benchmarks=(
        Benchmark(
            dataset="lasot", trackers=LONG_TERM, metrics=("precision", "norm_precision", "success"), rule="lasot"
        ),
    ),
)
