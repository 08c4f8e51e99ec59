"""Training samples of the first frame, from seven jittered scenes and a hundred close replicas."""
from dataclasses import dataclass

import numpy as np

from pytracking.tracker.rtmdnet.params import RtmdnetParams
from pytracking.tracker.rtmdnet.sampling import (
    RandomSource,
    SampleDistribution,
    draw_around,
    draw_around_each,
)
from pytracking.tracker.rtmdnet.scene import (
    SceneGeometry,
    Scenes,
    enclosing_box,
    ensure_visible,
    jittered_scenes,
    replica_scenes,
)

POSITIVES = SampleDistribution(kind="gaussian", translation=0.1, scale=1.2)
NEGATIVES = SampleDistribution(kind="uniform", translation=1.0, scale=2.0, aspect=1.1)
CLOSE_NEGATIVES = SampleDistribution(kind="uniform", translation=0.3, scale=2.0, aspect=1.1)
BOX_SAMPLES = SampleDistribution(kind="uniform", translation=0.3, scale=1.5, aspect=1.1)


@dataclass(frozen=True, slots=True)
class SceneSamples:
    """Positives, negatives and box-regression samples, each with the number of its scene.

    Attributes:
        scenes: shared by the three kinds.
        boxes: one array (n, 4) per kind.
        owners: one array (n,) of scene numbers per kind.
    """

    scenes: Scenes
    boxes: tuple[np.ndarray, np.ndarray, np.ndarray]
    owners: tuple[np.ndarray, np.ndarray, np.ndarray]

    @property
    def counts(self) -> list[int]:
        """Number of samples of each kind."""
        return [len(boxes) for boxes in self.boxes]


def samples_in_jittered_scenes(
    rng: RandomSource, target: np.ndarray, image_size: tuple[int, int], params: RtmdnetParams, geometry: SceneGeometry
) -> SceneSamples:
    """Draws samples, then randomly chooses the wanted number of (sample, scene) pairs of each kind."""
    positives = draw_around(
        rng, POSITIVES, target, params.initial_positives, image_size, overlap_range=params.initial_positive_overlap
    )
    negatives = draw_around(
        rng, NEGATIVES, target, params.initial_negatives, image_size, overlap_range=params.initial_negative_overlap
    )
    negatives = negatives[rng.permutation(len(negatives))]
    box_samples = draw_around(
        rng, BOX_SAMPLES, target, params.box_samples, image_size,
        overlap_range=params.box_overlap, area_range=params.box_area,
    )  # fmt: skip
    scene_box = ensure_visible(enclosing_box(negatives if len(negatives) else positives, params.padding), image_size)
    scenes = jittered_scenes(scene_box, target[2:], geometry)
    limits = params.initial_positives, params.initial_negatives, params.box_samples
    boxes, owners = [], []
    for samples, limit in zip((positives, negatives, box_samples), limits, strict=True):
        views = choose(rng, len(scenes) * len(samples), limit)
        owner, number = np.divmod(views, max(len(samples), 1))
        boxes.append(samples[number])
        owners.append(owner)
    return SceneSamples(scenes, tuple(boxes), tuple(owners))


def samples_in_replicas(
    rng: RandomSource, target: np.ndarray, image_size: tuple[int, int], params: RtmdnetParams, geometry: SceneGeometry
) -> SceneSamples:
    """Draws a few samples in each of many close views of the target."""
    count = params.replicas
    scenes = replica_scenes(rng.standard_normal((count, 3)), target, geometry)
    around = np.broadcast_to(target, (count, 4))
    positives = draw_around_each(
        rng, POSITIVES, around, params.initial_positives // count, image_size,
        overlap_range=params.initial_positive_overlap,
    )  # fmt: skip
    negatives = draw_around_each(
        rng, CLOSE_NEGATIVES, around, int(params.initial_negatives / count * params.replica_negative_share), image_size,
        overlap_range=params.initial_negative_overlap,
    )  # fmt: skip
    box_samples = draw_around_each(
        rng, BOX_SAMPLES, around, int(params.box_samples / count * params.replica_negative_share), image_size,
        overlap_range=params.box_overlap, area_range=params.box_area,
    )  # fmt: skip
    boxes, owners = zip(positives, negatives, box_samples, strict=True)
    return SceneSamples(scenes, boxes, owners)


def choose(rng: RandomSource, count: int, limit: int) -> np.ndarray:
    """At most ``limit`` of the numbers below ``count``; if there are more, a random choice in random order."""
    return rng.permutation(count)[:limit] if count > limit else np.arange(count)
