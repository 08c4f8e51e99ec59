"""Both ablations end to end, offline, with the bundled networks on the demo dataset.

Small enough for a laptop. Use ``--dataset folder:PATH`` for real sequences. docs/experiments.md discusses the numbers.
"""
from ..definition import Benchmark, Experiment

DIMP_NETWORK, RTMDNET_NETWORK = "dimp_mobile", "rtmdnet_small"
DIMP_TRACKERS = {
    "DiMP": "dimp:dimp50",
    "DiMP*": "dimp:dimp50_star",
    "BGD-DiMP": "dimp:bgd",
    "BGD-DiMP-fm": "dimp:bgd_ema_fast",
    "BGD-DiMP-mm": "dimp:bgd_ema_moderate",
    "BGD-DiMP-sm": "dimp:bgd_ema_slow",
    "BGD-DiMP matched": "dimp:bgd_matched",
    "RLS-DiMP": "rls_dimp:default",
}
RTMDNET_TRACKERS = {
    "RT-MDNet": "rtmdnet:rtmdnet",
    "simpleRT-MDNet": "rtmdnet:simple",
    "RLS-RTMDNet": "rls_rtmdnet:default",
}
# RT-MDNet takes a quarter of a second per frame on a CPU, so it gets the shorter sequences.
RTMDNET_SEQUENCES = ("bird", "drone", "beetle", "lantern")
METRICS = ("success", "precision", "norm_precision")


def on_network(trackers: dict[str, str], network: str) -> dict[str, str]:
    """The same trackers on another network."""
    return {label: f"{name}@{network}" for label, name in trackers.items()}


EXPERIMENT = Experiment(
    name="mini",
    title="Both ablations with the bundled networks on the demo dataset",
    runs=3,
    figure="success",
    benchmarks=(
        Benchmark(
            dataset="demo", trackers=on_network(DIMP_TRACKERS, DIMP_NETWORK), metrics=METRICS
        ),
        Benchmark(
            dataset="demo",
            trackers=on_network(RTMDNET_TRACKERS, RTMDNET_NETWORK),
            sequences=RTMDNET_SEQUENCES,
            metrics=METRICS,
        ),
    ),
)
