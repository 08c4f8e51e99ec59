"""Section 6.4, the complexity comparison: frames per second and memory of every tracker of both ablations.

Speed and peak memory are columns of every table. This experiment runs the paper's trackers once on the demo dataset,
so it needs the published weights but no benchmark. ``benchmarks/`` measures single parts.
"""
from ..definition import Benchmark, Experiment
from .dimp_comparison import SHORT
from .rtmdnet_ablation import TRACKERS

EXPERIMENT = Experiment(
    name="complexity",
    title="Speed and memory with the published weights",
    label="Section:experimentComplexity",
    runs=1,
    benchmarks=(
        Benchmark(dataset="demo", trackers=SHORT, metrics=("success",)),
        Benchmark(dataset="demo", trackers=TRACKERS, metrics=("success",)),
    ),
)
