"""The success plot on LaSOT's hard sequences: those where not every run of RLS-DiMP exceeds an AUC of 0.75."""
from ..definition import Experiment
from .dimp_ablation import EXPERIMENT as ABLATION

EXPERIMENT = Experiment(
    name="dimp_hard_sequences",
    title="RLS-DiMP and its baselines on LaSOT's hard sequences",
    label="fig:ablationstudyLaSOT",
    runs=ABLATION.runs,
    figure="hard",
    benchmarks=ABLATION.benchmarks,
    notes=("This experiment shares its runs and result files with dimp_ablation.",),
)
