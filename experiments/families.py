"""Translates an experiment on DiMP to another family: each row gets the family's counterpart."""
from dataclasses import replace

from ltr.errors import UserError
from pytracking.evaluation.reference import TrackerReference

from .definition import Benchmark, Experiment

_ROLES = {  # of DiMP's rows; other families have one learning rate, so short- and long-term files share a counterpart
    ("dimp", "dimp50"): "baseline",
    ("dimp", "bgd"): "bgd",
    ("dimp", "bgd_long_term"): "bgd",
    ("dimp", "bgd_matched"): "matched",
    ("dimp", "bgd_matched_long_term"): "matched",
    ("rls_dimp", "default"): "rls",
    ("rls_dimp", "long_term"): "rls",
    ("rls_dimp", "exact"): "exact",
}
FAMILIES: dict[str, tuple[str, dict[str, str]]] = {  # family -> name in tables, and role -> tracker
    "prdimp": ("PrDiMP", {
        "baseline": "dimp:prdimp50", "bgd": "dimp:prdimp50_bgd", "matched": "dimp:prdimp50_bgd_matched",
        "rls": "rls_dimp:prdimp50", "exact": "rls_dimp:prdimp50_exact",
    }),
    "super_dimp": ("SuperDiMP", {
        "baseline": "dimp:super_dimp", "bgd": "dimp:super_dimp_bgd", "matched": "dimp:super_dimp_bgd_matched",
        "rls": "rls_dimp:super_dimp", "exact": "rls_dimp:super_dimp_exact",
    }),
    "atom": ("ATOM", {
        "baseline": "atom:default", "bgd": "atom:bgd", "matched": "atom:bgd_matched",
        "rls": "rls_atom:default", "exact": "rls_atom:exact",
    }),
}  # fmt: skip


def of_family(experiment: Experiment, family: str) -> Experiment:
    """The experiment's DiMP rows with another family's trackers; raises UserError if no row has a counterpart."""
    if family not in FAMILIES:
        raise UserError(f"there is no family {family!r}; there are: dimp, {', '.join(FAMILIES)}")
    benchmarks = [_translate(benchmark, *FAMILIES[family]) for benchmark in experiment.benchmarks]
    benchmarks = [benchmark for benchmark in benchmarks if benchmark.trackers]
    if not benchmarks:
        raise UserError(f"no row of experiment {experiment.name!r} has a counterpart in family {family!r}")
    return replace(
        experiment,
        name=f"{experiment.name}_{family}",
        title=f"{experiment.title} ({FAMILIES[family][0]})",
        benchmarks=tuple(benchmarks),
        published=None,
        label="",
    )


def _translate(benchmark: Benchmark, title: str, trackers: dict[str, str]) -> Benchmark:
    rows = {}
    for label, text in benchmark.trackers.items():
        name = TrackerReference.parse(text)
        role = _ROLES.get((name.tracker, name.parameters))
        if role is not None:
            counterpart = TrackerReference.parse(trackers[role])
            text = str(replace(counterpart, network=name.network))
            rows[label.replace("DiMP", title)] = text.replace("/", ":", 1)  # the notation of definitions
    return replace(benchmark, trackers=rows)
