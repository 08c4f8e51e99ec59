"""Debug views of a DiMP-style tracker: frame with box, score map and learning curves in one figure per frame."""
from pathlib import Path
from typing import Any

import numpy as np

INTERACTIVE_BACKENDS = ("gtk3agg", "gtk3cairo", "gtk4agg", "gtk4cairo", "macosx", "qt5agg", "qtagg", "tkagg", "wxagg")


class DebugViews:
    """Draws nothing at level 0, frames with an update at level 1, every frame from level 2.

    Figures are saved in ``folder`` as ``frame_00042.png``. Without a folder they are shown in a window if matplotlib
    can open one, and otherwise saved in ``debug_views`` in the working directory. matplotlib is imported only when
    something is drawn.
    """

    def __init__(self, level: int, folder: Path | str | None = None) -> None:
        self.level = level
        self.folder = None if folder is None else Path(folder)
        self.start()

    def start(self) -> None:
        """Clears the learning curves of the last sequence."""
        self._updates: list[tuple[int, float, int, float]] = []  # frame, loss, rank of P - P_0, size of P in KiB

    def show(self, frame_number: int, image: np.ndarray, output: dict[str, Any], scores: np.ndarray) -> None:
        """Draws a frame's output, depending on the level."""
        if self.level < 1:
            return
        learner = output["learner"]
        if learner["updated"]:
            self._updates.append((frame_number, learner["loss"], learner["rank"], learner["nbytes"] / 1024))
        if learner["updated"] or self.level > 1:
            self._draw(frame_number, image, output, scores)

    def _draw(self, frame_number: int, image: np.ndarray, output: dict[str, Any], scores: np.ndarray) -> None:
        from matplotlib import pyplot as plt
        from matplotlib.patches import Rectangle

        figure, axes = plt.subplots(2, 2, num="DiMP", clear=True, figsize=(11, 7), layout="constrained")
        x, y, w, h = output["target_bbox"]
        axes[0, 0].imshow(image)
        axes[0, 0].add_patch(Rectangle((x, y), w, h, fill=False, edgecolor="yellow", linewidth=2))
        axes[0, 0].set_title(f"frame {frame_number}: {output['flag']}, score {output['score']:.2f}")
        axes[0, 0].set_axis_off()
        shown = axes[0, 1].imshow(scores, vmin=min(0.0, float(scores.min())), vmax=max(1.0, float(scores.max())))
        axes[0, 1].set_title("score map")
        figure.colorbar(shown, ax=axes[0, 1])
        frames, losses, ranks, sizes = zip(*self._updates, strict=True) if self._updates else ((),) * 4
        axes[1, 0].plot(frames, losses, marker=".")
        axes[1, 0].set(title="loss when an update starts", xlabel="frame")
        axes[1, 1].plot(frames, ranks, marker=".")
        axes[1, 1].set(title=_memory_title(output["learner"]), xlabel="frame")
        axes[1, 1].set_ylabel("rank of P's change", color="C0")
        size = axes[1, 1].twinx()
        size.plot(frames, sizes, marker=".", color="C1")
        size.set_ylabel("size of P, KiB", color="C1")
        size.set_ylim(bottom=0)
        if self.folder is None and plt.get_backend().lower() in INTERACTIVE_BACKENDS:
            plt.pause(0.001)
            return
        folder = self.folder or Path("debug_views")
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"frame_{frame_number:05d}.png", dpi=80)


def _memory_title(learner: dict[str, Any]) -> str:
    if not learner["rank"]:
        return "learner's memory"
    bound = learner["error_bound"]
    return f"P: rank {learner['rank']}, " + (f"within {bound:.1e} |P_0| of exact" if bound > 1e-6 else "exact")
