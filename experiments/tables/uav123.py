"""Table 2 and the UAV123 success plot: success rates at 0.5 and 0.75 of RT-MDNet and RLS-RTMDNet."""
from ..definition import Benchmark, Experiment
from .rtmdnet_ablation import TRACKERS

EXPERIMENT = Experiment(
    name="uav123",
    title="Success rates on UAV123",
    label="table:uav1, fig:stateofartstudyUAV1",
    published="uav123",
    runs=50,
    figure="success",
    benchmarks=(Benchmark(dataset="uav", trackers=TRACKERS, metrics=("sr50", "sr75", "success")),),
)
