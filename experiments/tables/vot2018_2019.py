"""Table 6: RLS-DiMP and its baselines on VOT2018 and VOT2019, 15 runs, by the official reset-based protocol."""
from ..definition import Benchmark, Experiment

METRICS = ("eao", "accuracy", "neg_log_reliability", "rt_eao")

EXPERIMENT = Experiment(
    name="vot2018_2019",
    title="RLS-DiMP and its baselines on VOT2018/2019",
    label="table:vot2",
    published="vot2018_2019",
    runs=15,
    benchmarks=(
        Benchmark(
            dataset="vot18", metrics=METRICS, protocol="vot",
            trackers={"DiMP": "dimp:dimp50_vot18", "BGD-DiMP": "dimp:bgd_vot18", "DiMP*": "dimp:dimp50_star_vot18",
                      "RLS-DiMP": "rls_dimp:vot18"},
        ),
        Benchmark(
            dataset="vot19", metrics=METRICS, protocol="vot",
            trackers={"DiMP": "dimp:dimp50_vot19", "BGD-DiMP": "dimp:bgd_vot19", "DiMP*": "dimp:dimp50_star_vot19",
                      "RLS-DiMP": "rls_dimp:vot19"},
        ),
    ),
)
