"""Table 1: RLS-RTMDNet, RT-MDNet and simpleRT-MDNet on OTB-2015 and UAV123, mean of 50 runs."""
from ..definition import Benchmark, Experiment

TRACKERS = {
    "RT-MDNet": "rtmdnet:rtmdnet",
    "simpleRT-MDNet": "rtmdnet:simple",
    "RLS-RTMDNet": "rls_rtmdnet:default",
}

EXPERIMENT = Experiment(
    name="rtmdnet_ablation",
    title="RLS-RTMDNet and its baselines on OTB-2015 and UAV123",
    label="table:ablationstudy_RLS_RTMDNet",
    published="rtmdnet_ablation",
    runs=50,
    benchmarks=(
        Benchmark(dataset="otb", trackers=TRACKERS, metrics=("precision", "success"), rule="otb"),
        Benchmark(dataset="uav", trackers=TRACKERS, metrics=("precision", "success")),
    ),
)
