"""Two Ray nodes on this machine, one of which dies during the run: the results are those of the local engine."""
import threading
import time

import pytest

from ltr.errors import UserError
from pytracking.experiments.definition import Benchmark, Experiment
from pytracking.experiments.running import run_experiment
from pytracking.experiments.selection import Selection, jobs_of

ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")

from pytracking.experiments.engines.ray_cluster import RayPool  # noqa: E402


@pytest.fixture
def experiment(sequences):
    benchmark = Benchmark(
        dataset=f"folder:{sequences}",
        trackers={"RLS-DiMP": "rls_dimp:default@dimp_mobile"},
        metrics=("success",),
        rule="strict",
    )
    return Experiment(name="cluster", title="cluster", runs=3, benchmarks=(benchmark,))


def boxes_by_run(jobs) -> dict[tuple[str, str], str]:
    return {
        (tracker.results_dir.name, sequence.name): (tracker.results_dir / f"{sequence.name}.txt").read_text()
        for job in jobs
        for tracker in job.all_trackers
        for sequence in job.sequences
    }


@pytest.fixture
def cluster(monkeypatch):
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "1")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.second = cluster.add_node(num_cpus=1)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_a_node_that_dies_loses_nothing(experiment, results, cluster, monkeypatch, tmp_path):
    local = jobs_of(experiment, Selection())
    run_experiment(experiment, local, workers=0, progress=False)
    expected = boxes_by_run(local)
    assert len(set(expected.values())) == len(expected), "runs differ, so that a mixed-up seed would show"

    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path / "cluster_results"))
    jobs = jobs_of(experiment, Selection())
    with RayPool(cluster.address) as pool:
        assert wait_for_nodes(2) == 2
        killer = KillAfterFirst(pool, cluster)
        (summary,) = run_experiment(experiment, jobs, workers=1, pool=killer, progress=False)
        killer.thread.join()
        assert wait_for_nodes(1, exactly=True) == 1, "the node is dead, and known to be"
    assert "6 sequences tracked" in summary and "0 failed" in summary
    assert boxes_by_run(jobs) == expected


def wait_for_nodes(nodes: int, seconds: float = 60.0, *, exactly: bool = False) -> int:
    """Waits until a cluster has this many living nodes (or more, unless ``exactly``), and says how many it has."""
    deadline = time.monotonic() + seconds
    while True:
        alive = sum(node["Alive"] for node in ray.nodes())
        if alive == nodes or (alive > nodes and not exactly) or time.monotonic() > deadline:
            return alive
        time.sleep(0.5)


class KillAfterFirst:
    """A pool that kills the cluster's second node, without farewell, when the first task has ended."""

    def __init__(self, pool: RayPool, cluster) -> None:
        self._pool = pool
        kill = {"target": cluster.remove_node, "args": (cluster.second,), "kwargs": {"allow_graceful": False}}
        self.thread = threading.Thread(**kill)

    def run(self, tasks, progress):
        for outcome in self._pool.run(tasks, progress):
            if self.thread.ident is None:
                self.thread.start()
            yield outcome


def test_ray_missing_says_how_to_get_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"rls-tracking\[ray\]"):
        RayPool()


def test_ray_that_does_not_start_gets_a_sentence(monkeypatch):
    def too_slow(**_):
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "init", too_slow)
    with pytest.raises(UserError, match="did not start on this machine: The current node timed out"), RayPool():
        pass


@pytest.mark.parametrize("options", [{"cpus": 0}, {"gpus": -1.0}])
def test_impossible_shares_are_refused(options):
    with pytest.raises(ValueError, match="cpus must be at least 1"):
        RayPool(**options)
