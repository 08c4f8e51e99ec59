"""Tracks a video with numpy and onnxruntime alone, on what `python -m pytracking export` wrote beside this file.

    ffmpeg -v error -i VIDEO -f rawvideo -pix_fmt rgb24 - | python track.py WIDTH HEIGHT X Y W H

prints a line x, y, w, h for each frame. It learns on the first frame and follows position and scale from there; what
the full tracker does besides (augmentation, online learning, box refinement) is left out.
"""
import sys
from pathlib import Path

import numpy as np
import onnxruntime


class Tracker:
    def __init__(self, folder, image, box):
        self.net = onnxruntime.InferenceSession(str(Path(folder) / "features.onnx"), providers=["CPUExecutionProvider"])
        self.set = dict(np.load(Path(folder) / "settings.npz"))
        x, y, w, h = box
        self.pos, self.size = np.array([y + (h - 1) / 2, x + (w - 1) / 2]), np.array([h, w], float)
        self.side = int(self.set["side"])
        self.scale = float(self.set["search_area"] * np.sqrt(h * w) / self.side)
        self.base = self.size / self.scale
        wide, _, _ = cut(image, np.round(self.pos), self.scale, 2 * self.side)
        quarter, offset = self.side // 2, (self.pos - np.round(self.pos)) / self.scale
        features, raw = self.features(wide[quarter : quarter + self.side, quarter : quarter + self.side])
        self.learn(features[0], raw[0], offset + self.side / 2, self.base)

    def features(self, *patches):
        images = np.stack(patches).transpose(0, 3, 1, 2) / 255
        images = (images - self.set["mean"]) / self.set["std"]
        return self.net.run(["classification", "initial"], {"images": images.astype(np.float32)})

    def learn(self, features, raw, centre, size):
        """Pools a first filter from the target and improves it by steepest descent on DiMP's loss."""
        k, stride = int(self.set["kernel"]), float(self.set["stride"])
        edges = (centre - size / 2)[:, None] / stride + size[:, None] / stride * np.linspace(0, 1, k + 1)
        hat = np.clip(edges[..., None] - np.arange(raw.shape[1]), -1, 1)
        down, across = np.diff(hat * (1 - np.abs(hat) / 2), axis=1) / (size / stride / k)[:, None, None]
        w = (down @ raw @ across.T).ravel()
        seen = windows(features, k)
        grid = np.arange(features.shape[1] + 1 - k % 2)
        where = np.hypot(grid[:, None] - centre[0] / stride + k % 2 / 2, grid - centre[1] / stride + k % 2 / 2).ravel()
        knots = np.arange(self.set["tables"].shape[1]) * float(self.set["bin"])
        label, mask, weight = (np.interp(where, knots, table) for table in self.set["tables"])
        mask = 1 / (1 + np.exp(-mask))
        for _ in range(int(self.set["steps"])):
            s = seen @ w
            slope = weight * ((1 - mask) * np.sign(s) + 1 + mask) / 2
            error = weight * (((1 - mask) * np.abs(s) + (1 + mask) * s) / 2 - label)
            gradient = seen.T @ (slope * error) + self.set["reg"] * w
            curvature = np.sum((slope * (seen @ gradient)) ** 2) + self.set["reg"] * gradient @ gradient
            w = w - self.set["step"] * (gradient @ gradient) / curvature * gradient
        self.w, self.k, self.rows = w, k, len(grid)

    def track(self, image):
        patch, middle, zoom = cut(image, self.pos, self.scale, self.side)
        scores = (windows(self.features(patch)[0][0], self.k) @ self.w).reshape(self.rows, -1)
        row, column = np.unravel_index(np.argmax(scores * self.set["window"]), scores.shape)
        if (scores * self.set["window"])[row, column] >= self.set["threshold"]:
            peak = np.array([top(scores[:, column], row), top(scores[row], column)]) - (self.rows - 1) / 2
            self.pos = middle + peak * float(self.set["stride"]) * zoom
            factors = float(self.set["scale_step"]) ** np.array([-1, 0, 1])
            patches = [cut(image, self.pos, self.scale * f, int(self.set["scale_side"]))[0] for f in factors]
            peaks = [np.max(windows(each, self.k) @ self.w) for each in self.features(*patches)[0]]
            change = np.clip(top(np.array(peaks), 1, limit=1) - 1, -1, 1) if max(peaks) > 0 else 0
            self.size = self.size * factors[2] ** (self.set["scale_weight"] * change)
            self.scale = float(np.sqrt(self.size.prod() / self.base.prod()))
        return [*(self.pos - (self.size - 1) / 2)[::-1], *self.size[::-1]]


def cut(image, centre, scale, side):
    """A square patch, where its middle is, and image pixels per patch pixel; beyond the image its edge is repeated."""
    step = max(int(scale - 0.1), 1)
    pixel = np.trunc(centre).astype(int)
    thin = image[pixel[0] % step :: step, pixel[1] % step :: step]
    length = max(round(float(np.float32(scale) * np.float32(side)) / step), 2)
    first, last = pixel // step - (length - 1) / 2, pixel // step + length / 2 + 1
    rows, columns = (np.clip(np.arange(int(first[a]), int(last[a])), 0, thin.shape[a] - 1) for a in (0, 1))
    crop = thin[rows][:, columns].astype(np.float32)
    for axis in (0, 1):
        at = np.maximum((np.arange(side) + 0.5) * crop.shape[axis] / side - 0.5, 0)
        low = np.minimum(at.astype(int), crop.shape[axis] - 1)
        part = (at - low).astype(np.float32).reshape(-1, *[1] * (2 - axis))
        high = np.minimum(low + 1, crop.shape[axis] - 1)
        crop = np.take(crop, low, axis) * (1 - part) + np.take(crop, high, axis) * part
    return crop, (step * (first + last) - 1) / 2, step * float(np.sqrt(np.prod(last - first))) / side


def windows(features, k):
    """Every k x k window of a map (C, h, w), zeros around it: (windows, C * k * k)."""
    padded = np.pad(features, ((0, 0), (k // 2, k // 2), (k // 2, k // 2)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (k, k), (1, 2))
    return seen.transpose(1, 2, 0, 3, 4).reshape(-1, len(features) * k * k)


def top(line, index, limit=0.5):
    """Where the parabola through a value and its neighbours is highest."""
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
        if tracker is None:
            tracker = Tracker(Path(__file__).parent, frame, box)
        else:
            box = tracker.track(frame)
        print(*(f"{number:.2f}" for number in box), sep=", ", flush=True)
