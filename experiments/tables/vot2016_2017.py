"""Table 3: RLS-RTMDNet and its baselines on VOT2016 and VOT2017, 15 runs, by the official reset-based protocol."""
from ..definition import Benchmark, Experiment
from .rtmdnet_ablation import TRACKERS

EXPERIMENT = Experiment(
    name="vot2016_2017",
    title="RLS-RTMDNet and its baselines on VOT2016/2017",
    label="table:vot1",
    published="vot2016_2017",
    runs=15,
    benchmarks=(
        Benchmark(
            dataset="vot16", trackers=TRACKERS, metrics=("eao", "accuracy", "neg_log_reliability"), protocol="vot",
        ),
        Benchmark(
            dataset="vot17", trackers=TRACKERS, metrics=("eao", "accuracy", "neg_log_reliability", "rt_eao"),
            protocol="vot",
        ),
    ),
)
