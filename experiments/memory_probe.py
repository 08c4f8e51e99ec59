"""The memory probe: measures what learners remember of a sequence, independently of tracking.

Tracking results depend on what a learner remembers and on where its tracker happened to look. Here patches are cut
around the previous frame's true box, so all learners get the same samples, and features are computed once. At regular
intervals each learner's filter is tested on past, recent and next frames.
"""
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ltr.errors import UserError
from ltr.models.target_classifier import FilterObjective
from pytracking.evaluation import Sequence
from pytracking.evaluation.frame_loop import FrameLoop
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.geometry import TargetState
from pytracking.tracker.dimp.guard import UpdateGuard
from pytracking.tracker.dimp.past import FAR, NEAR, margins
from pytracking.tracker.dimp.sample_memory import SampleMemory

MARGIN = f"highest score within {NEAR:g} cell of the target's centre minus the highest {FAR:g} or more cells away"
SPANS = ("past", "recent", "next")


@dataclass(frozen=True)
class Schedule:
    """When filters are tested, and on which frames; all numbers in frames."""

    every: int = 25  # interval between tests
    frames: int = 25  # test frames per span
    past: int = 100  # age of the youngest past frame

    @property
    def shortest(self) -> int:
        """Smallest number of frames after the first that a sequence must have."""
        return self.past + 2 * self.frames

    def trials(self, count: int) -> Iterator[tuple[int, dict[str, list[int]]]]:
        """For each test: how many of ``count`` frames the learners have seen, and the test frames of each span."""
        for seen in range(self.past + self.frames, count - self.frames + 1, self.every):
            old = np.linspace(0, seen - self.past - 1, self.frames).round().astype(int)
            yield seen, {
                "past": old.tolist(),
                "recent": list(range(seen - self.frames, seen)),
                "next": list(range(seen, seen + self.frames)),
            }


@dataclass(frozen=True)
class Walk:
    """Samples of one sequence: the first frame's with the filter learnt from them, then one per frame.

    Use it before its tracker starts on another sequence, because ``problem_of`` may depend on the target's size.
    """

    filters: Tensor  # (1, C, k, k)
    problem_of: Callable[[Tensor, Tensor, Tensor], FilterObjective]  # takes samples, their boxes and weights
    first_features: Tensor  # (n, C, h, w)
    first_boxes: Tensor  # (n, 4) x y w h in the patch, pixels
    features: Tensor  # (m, C, h, w)
    boxes: Tensor  # (m, 4)


def usable_frames(sequence: Sequence, schedule: Schedule) -> np.ndarray:
    """Numbers of the frames with a box; empty if there are too few or the first frame has none."""
    truth = sequence.ground_truth_rect
    known = np.flatnonzero(np.isfinite(truth).all(axis=1) & (truth[:, 2:] > 0).all(axis=1))
    return known if len(known) > schedule.shortest and known[0] == 0 else known[:0]


@torch.no_grad()
def walk_along(sequence: Sequence, tracker: DimpTracker, schedule: Schedule) -> Walk:
    """The samples that this tracker would cut if it never erred; frames without a box are skipped."""
    truth, known = sequence.ground_truth_rect, usable_frames(sequence, schedule)
    if not len(known):
        needed = schedule.shortest + 1
        raise UserError(f"{sequence.label}: the probe needs {needed} frames with boxes, including the first frame")
    FrameLoop(tracker).start_sequence(sequence)
    features, boxes = [], []
    for before, index in zip(known, known[1:], strict=False):
        image = sequence.load_frame(index)
        _place(tracker.state, truth[before], image.shape[:2])
        patch, frame = tracker.cut_patch(image)
        features.append(tracker.sample_features(tracker.network.backbone_features(tracker.network.normalise(patch))))
        target = TargetState.from_box(truth[index], image.shape[:2], tracker.patch_size, 1.0)
        boxes.append(torch.tensor(frame.box_in_patch(target.pos, target.size), dtype=torch.float32))
    first = tracker.memory
    boxes = torch.stack(boxes).to(first.boxes)
    return Walk(
        tracker.filters, tracker.problem_of, first.features.clone(), first.boxes.clone(), torch.cat(features), boxes
    )


def _place(state: TargetState, box: np.ndarray, image_size: tuple[int, int]) -> None:
    """Moves a tracker's state to a box."""
    other = TargetState.from_box(box, image_size, state.base_size, 1.0)
    state.pos, state.image_size = other.pos, other.image_size
    state.resize(other.size, rescale=True)


@torch.no_grad()
def remembered(walk: Walk, tracker: DimpTracker, schedule: Schedule, *, learns: bool = True) -> dict[str, np.ndarray]:
    """Span -> margins of the tracker's learner on the span's frames at every test, (tests, frames).

    Only the tracker's learner and its update schedule are used. If ``learns`` is False, the filter stays that of the
    first frame.
    """
    params, guard = tracker.params, UpdateGuard("the probe continues with the previous filter")
    memory = SampleMemory(
        walk.first_features,
        walk.first_boxes,
        size=params.sample_memory_size,
        learning_rate=params.learning_rate,
        init_samples_minimum_weight=params.init_samples_minimum_weight,
    )
    filters, found = walk.filters, {span: [] for span in SPANS}
    tracker.learner.start(filters, torch.Generator().manual_seed(0))
    trials = dict(schedule.trials(len(walk.features)))
    for seen in range(1, len(walk.features) + 1 if trials else 0):
        if learns:
            tracker.learner.notice(memory.add(walk.features[seen - 1 : seen], walk.boxes[seen - 1]))
        if learns and seen % params.train_skipping == 0:
            problem = walk.problem_of(memory.features, memory.boxes, memory.weights)
            filters = guard.choose(
                problem, filters, tracker.learner.update(problem, filters, params.net_opt_update_iter)
            )
        for span, frames in trials.get(seen, {}).items():
            features, boxes = walk.features[frames], walk.boxes[frames]
            scores = walk.problem_of(features, boxes, boxes.new_ones(len(boxes))).scores(filters)[0]
            margin = margins(scores, boxes, filters.shape[-1], tracker.network.feature_stride)
            found[span].append(margin.cpu().numpy())
    return {span: np.array(values) for span, values in found.items()}
