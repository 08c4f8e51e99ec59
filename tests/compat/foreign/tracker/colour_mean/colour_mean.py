"""Written for pytracking's interface: follows the window whose pixels look most like the first box."""
import time

import numpy as np
import torch

from pytracking import TensorList, dcf
from pytracking.features.preprocessing import numpy_to_torch
from pytracking.tracker.base import BaseTracker


class ColourMean(BaseTracker):
    multiobj_mode = "parallel"

    def initialize(self, image, info: dict) -> dict:
        start = time.time()
        self.frame_num = 1
        if not self.params.has("device"):
            self.params.device = "cuda" if self.params.use_gpu else "cpu"
        self.state = [round(value) for value in info["init_bbox"]]
        x, y, w, h = self.state
        self.template = numpy_to_torch(image)[..., y : y + h, x : x + w].to(self.params.device)
        self.parts = TensorList([self.template])
        self.window = dcf.hann2d(torch.tensor([2 * self.params.radius + 1] * 2), centered=True)[0, 0]
        return {"time": time.time() - start}

    def track(self, image, info: dict = None) -> dict:
        self.frame_num += 1
        frame, radius = numpy_to_torch(image), self.params.get("radius", 3)
        x, y, w, h = self.state
        scores = torch.full((2 * radius + 1, 2 * radius + 1), -1e9)
        for row in range(-radius, radius + 1):
            for column in range(-radius, radius + 1):
                part = frame[..., y + row : y + row + h, x + column : x + column + w]
                if part.shape == self.template.shape and min(y + row, x + column) >= 0:
                    difference = (self.parts - part).abs().mean()
                    scores[row + radius, column + radius] = -difference[0]
        best, place = dcf.max2d(scores[None])
        row, column = (place[0] - radius).tolist()
        self.state = [x + column, y + row, w, h]
        if self.visdom is not None:
            self.visdom.register(scores, "heatmap", 2, "Score Map")
        elif self.params.debug >= 2:
            from pytracking.utils.plotting import show_tensor

            show_tensor(scores, 5, title="scores")
        return {"target_bbox": self.state, "object_presence_score": float(np.exp(best.item() / 255))}
