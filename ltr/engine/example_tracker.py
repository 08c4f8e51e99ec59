"""Tracks a video with only numpy and onnxruntime, using the files that `pytracking export` wrote next to this one.

    ffmpeg -v error -i VIDEO -f rawvideo -pix_fmt rgb24 - | python track.py WIDTH HEIGHT X Y W H

prints a line x, y, w, h per frame. It learns on the first frame and then follows position and scale, without the full
tracker's augmentation, online learning, box refinement and treatment of uncertain peaks.
"""
import sys
from pathlib import Path

import numpy as np
import onnxruntime


class Tracker:
    """Follows one target."""

    def __init__(self, folder, image, box):
        files = {name: str(Path(folder) / f"{name}.onnx") for name in ("patch", "features", "learn", "scores")}
        self.nets = {name: onnxruntime.InferenceSession(file) for name, file in files.items()}
        self.set = {name: value.item() for name, value in np.load(Path(folder) / "settings.npz").items()}
        x, y, w, h = box
        self.pos, self.size, side = np.array([y + (h - 1) / 2, x + (w - 1) / 2]), np.array([h, w]), self.set["side"]
        self.scale = self.set["search_area"] * np.sqrt(h * w) / side
        self.base, middle = self.size / self.scale, slice(side // 2, side // 2 + side)
        wide, seen, zoom = self.cut(image, np.round(self.pos), self.scale, 2 * side)
        features, initial = self.run("features", images=wide[:, :, middle, middle])[-2:]
        centre = (self.pos - seen) / zoom + side / 2
        (self.filter,) = self.run("learn", features=features, initial=initial, centre=centre, size=self.size / zoom)

    def run(self, name, **inputs):
        floats = {key: value.astype(np.float32) if value.dtype == float else value for key, value in inputs.items()}
        return self.nets[name].run(None, floats)

    def scores(self, patches):
        features = self.run("features", images=patches)[-2]
        return self.run("scores", features=features, filter=self.filter)[0][:, 0]

    def track(self, image):
        patch, middle, zoom = self.cut(image, self.pos + self.set["offset"] * self.scale, self.scale, self.set["side"])
        scores = self.scores(patch)[0]
        row, column = np.unravel_index(np.argmax(scores), scores.shape)
        if scores[row, column] >= self.set["threshold"]:
            peak = np.array([top(scores[:, column], row), top(scores[row], column)]) - (len(scores) - 1) / 2
            self.pos = middle + peak * self.set["stride"] * zoom
            factors = self.set["scale_step"] ** np.array([-1, 0, 1])
            patches = [self.cut(image, self.pos, self.scale * each, self.set["scale_side"])[0] for each in factors]
            peaks = self.scores(np.concatenate(patches)).max((1, 2))
            change = np.clip(top(peaks, 1, limit=1) - 1, -1, 1) if max(peaks) > 0 else 0
            self.size = self.size * factors[2] ** (self.set["scale_weight"] * change)
            self.scale = np.sqrt(self.size.prod() / self.base.prod())
        return [*(self.pos - (self.size - 1) / 2)[::-1], *self.size[::-1]]

    def cut(self, image, centre, scale, side):
        """A patch for the network (edges are repeated), its centre in the image, and image pixels per patch pixel."""
        step = max(round(0.8 * float(scale)), 1)  # large targets: average blocks of pixels first
        length = step * max(round(float(np.float32(scale) * np.float32(side)) / step), 2)
        first = np.round(centre + 0.5 - length / 2).astype(int)
        rows, columns = (np.clip(np.arange(at, at + length), 0, image.shape[a] - 1) for a, at in enumerate(first))
        crop = image[rows][:, columns]
        if step > 1:
            crop = crop.reshape(length // step, step, length // step, step, 3).mean((1, 3)).round().astype(np.uint8)
        (patch,) = self.run("patch", crop=crop, side=np.array([side, side]))
        return patch, first + (length - 1) / 2, length / side


def top(line, index, limit=0.5):
    """Position of the maximum of the parabola through a value and its neighbours."""
    if not 0 < index < len(line) - 1:
        return index
    before, here, after = (float(value) for value in line[index - 1 : index + 2])
    bend = before - 2 * here + after
    if bend >= 0:
        return int(np.argmax(line)) if limit == 1 else index
    return index + np.clip(0.5 * (before - after) / bend, -limit, limit)


if __name__ == "__main__":
    width, height, *box = map(float, sys.argv[1:])
    tracker, length = None, int(width * height) * 3
    while len(data := sys.stdin.buffer.read(length)) == length:
        frame = np.frombuffer(data, np.uint8).reshape(int(height), int(width), 3)
        box = tracker.track(frame) if tracker else box
        tracker = tracker or Tracker(Path(__file__).parent, frame, box)
        print(*(f"{number:.2f}" for number in box), sep=", ", flush=True)
