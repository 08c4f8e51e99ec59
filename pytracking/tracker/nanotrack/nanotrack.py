"""NanoTrack v3: compares a template from the first frame with a search patch; each cell predicts a score and a box."""
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ltr.errors import MissingPackageError, UserError
from pytracking.tracker.base import BaseTracker
from pytracking.tracker.nanotrack.free_shape import free_spatial_size
from pytracking.tracker.nanotrack.params import NanoTrackParams


class NanoTrack(BaseTracker):
    """Deterministic; the template is never updated."""

    params: NanoTrackParams

    def __init__(self, params: NanoTrackParams) -> None:
        super().__init__(params)
        backbone = Path(params.network_file)
        head = backbone.with_name(params.head_weights)
        if not head.is_file():
            raise FileNotFoundError(f"the second network of NanoTrack is missing: put {head.name} into {head.parent}")
        self._backbone, self._head = open_session(backbone), open_session(head)

    def initialize(self, image: np.ndarray, info: dict[str, Any]) -> None:
        x, y, w, h = (float(value) for value in info["init_bbox"])
        self._centre, self._size = np.array([x + w / 2, y + h / 2]), np.array([w, h])
        self._border = image.reshape(-1, 3).mean(0)
        patch = self._cut(image, self._template_extent(), self.params.template_side)
        (self._template,) = self._run(self._backbone, patch)
        self._points: np.ndarray | None = None

    def track(self, image: np.ndarray, info: dict[str, Any] | None = None) -> dict[str, Any]:
        params = self.params
        extent = self._template_extent() * params.search_side / params.template_side
        (features,) = self._run(self._backbone, self._cut(image, extent, params.search_side))
        logits, distances = self._run(self._head, self._template, features)
        if self._points is None:
            self._points, self._window = cell_points(logits.shape[-1], params.stride)
        scale = extent / params.search_side  # image pixels per patch pixel
        scores = target_probability(logits[0])
        offsets, sizes = decode_boxes(distances[0], self._points)
        penalty = change_penalty(sizes * scale, self._size, params.size_penalty, params.context)
        ranked = penalty * scores * (1 - params.window_influence) + self._window * params.window_influence
        best = int(ranked.argmax())
        rate = penalty[best] * scores[best] * params.size_rate
        self._move(self._centre + offsets[best] * scale, sizes[best] * scale, rate, image.shape[:2])
        box = np.concatenate([self._centre - self._size / 2, self._size])
        return {"target_bbox": box.tolist(), "score": float(scores[best]), "flag": "normal"}

    def _move(self, centre: np.ndarray, size: np.ndarray, rate: float, image_size: tuple[int, int]) -> None:
        limit = np.array(image_size[::-1], float)
        self._centre = np.clip(centre, 0, limit)
        self._size = np.clip((1 - rate) * self._size + rate * size, self.params.minimum_side, limit)

    def _template_extent(self) -> float:
        """Side of the template's region in image pixels."""
        return float(np.sqrt((self._size + self.params.context * self._size.sum()).prod()))

    def _cut(self, image: np.ndarray, extent: float, side: int) -> np.ndarray:
        """The region around the target as network input: BGR 0..255 (1, 3, side, side)."""
        factor = side / extent
        offset = (side - 1) / 2 - factor * (self._centre - 0.5)  # warpAffine has pixel centres at whole numbers
        matrix = np.array([[factor, 0, offset[0]], [0, factor, offset[1]]])
        patch = cv2.warpAffine(image, matrix, (side, side), borderMode=cv2.BORDER_CONSTANT, borderValue=self._border)
        return np.ascontiguousarray(patch[..., ::-1].transpose(2, 0, 1)[None], np.float32)

    @staticmethod
    def _run(session: Any, *inputs: np.ndarray) -> list[np.ndarray]:
        names = [each.name for each in session.get_inputs()]
        return session.run(None, dict(zip(names, inputs, strict=True)))


def open_session(path: Path) -> Any:
    """Opens an ONNX network with free spatial size on one CPU thread; UserError for other kinds of files."""
    try:
        import onnxruntime
    except ImportError:
        message = "NanoTrack needs onnxruntime, which is not installed: pip install onnxruntime"
        raise MissingPackageError(message) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    try:
        model = free_spatial_size(Path(path).read_bytes())
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except OSError:
        raise
    except Exception as error:  # onnxruntime's exceptions have no common base class
        reason = str(error).splitlines()[0][:160]
        raise UserError(f"{path} is not an ONNX network that can be run ({reason})") from error


def cell_points(cells: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets (cells * cells, 2) x, y of the cells from the patch's middle, and their cosine window."""
    line = (np.arange(cells) - cells // 2) * float(stride)
    x, y = np.meshgrid(line, line)
    hann = np.hanning(cells)
    return np.stack([x.ravel(), y.ravel()], 1), np.outer(hann, hann).ravel()


def target_probability(logits: np.ndarray) -> np.ndarray:
    """The target's probability (h * w,): softmax of the logits (2, h, w) of background and target."""
    background, target = logits.reshape(2, -1).astype(np.float64)
    return 1 / (1 + np.exp(np.clip(background - target, -60, 60)))


def decode_boxes(distances: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre offsets and sizes, (n, 2) each, from each cell's distances to left, top, right and bottom (4, h, w)."""
    left, top, right, bottom = distances.reshape(4, -1).astype(np.float64)
    low, high = points - np.stack([left, top], 1), points + np.stack([right, bottom], 1)
    return (low + high) / 2, high - low


def change_penalty(sizes: np.ndarray, last: np.ndarray, strength: float, context: float) -> np.ndarray:
    """Factors (n,) in 0..1; 1 for boxes with the size and shape of the last one."""

    def ratio(value: np.ndarray) -> np.ndarray:
        return np.maximum(value, 1 / value)

    def extent(size: np.ndarray) -> np.ndarray:
        return np.sqrt((size + context * size.sum(-1, keepdims=True)).prod(-1))

    sizes = np.maximum(sizes, 1e-3)
    change = ratio(extent(sizes) / extent(last)) * ratio(sizes[:, 0] / sizes[:, 1] * last[1] / last[0])
    return np.exp(-strength * (change - 1))
