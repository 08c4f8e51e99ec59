"""Table 5: TrackingNet, GOT-10k, LaSOT, OxUvA-dev and TLP, mean of 20 runs."""
from ..definition import Benchmark, Experiment
from .dimp_ablation import LONG_TERM

ROWS = ("DiMP", "DiMP*", "BGD-DiMP", "RLS-DiMP", "BGD-DiMP matched")
LONG = {label: LONG_TERM[label] for label in ROWS}
SHORT = {
    "DiMP": "dimp:dimp50",
    "DiMP*": "dimp:dimp50_star",
    "BGD-DiMP": "dimp:bgd",
    "RLS-DiMP": "rls_dimp:default",
    "BGD-DiMP matched": "dimp:bgd_matched",
}
GOT10K_NETWORK = "dimp50_got10k.pth"  # the protocol requires a network trained only on GOT-10k
GOT10K = {label: f"{name}@{GOT10K_NETWORK}" for label, name in SHORT.items()} | {
    "RLS-DiMP": f"rls_dimp:got10k@{GOT10K_NETWORK}"
}
OXUVA = LONG | {"RLS-DiMP": "rls_dimp:oxuva"}

EXPERIMENT = Experiment(
    name="dimp_comparison",
    title="RLS-DiMP and its baselines on the large benchmarks",
    label="tab:RLS_DiMPresults",
    published="dimp_comparison",
    runs=20,
    benchmarks=(
        Benchmark(
            dataset="trackingnet", trackers=SHORT, metrics=("success", "precision"), rule="trackingnet",
            protocol="server", why="the ground truth is on the benchmark's server: pack the results and upload them",
        ),
        Benchmark(
            dataset="got10k_test", trackers=GOT10K, metrics=("ao", "sr50", "sr75"), rule="got10k",
            protocol="server", why="the ground truth is on the benchmark's server: pack the results and upload them",
        ),
        Benchmark(dataset="lasot", trackers=LONG, metrics=("success", "precision"), rule="lasot"),
        Benchmark(dataset="oxuva", trackers=OXUVA, metrics=("tpr", "tnr"), rule="oxuva"),
        Benchmark(dataset="tlp", trackers=LONG, metrics=("success", "precision")),
    ),
)
