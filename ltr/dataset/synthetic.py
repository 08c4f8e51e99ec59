"""Synthetic videos: sprites that move, turn, deform and occlude each other on photographs, with exact boxes.

Video `index` of a dataset with seed `seed` is always the same. Only requested frames are drawn; boxes come from the
sprite's outline, so reading a track draws nothing.
"""
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from ltr.dataset.base import Track, VideoDataset
from ltr.dataset.sprites import SpriteBank, blob_mask
from ltr.dataset.synthetic_motion import Poses, smooth_path

FRAME_SIZES = ((320, 240), (480, 270), (480, 360), (640, 360))  # (width, height) pixels, as in common benchmarks


@dataclass(slots=True)
class Layer:
    """One moving sprite."""

    sprite: np.ndarray  # (h, w, 4) uint8 RGBA
    outline: np.ndarray  # (points, 2) float: the silhouette's contour in sprite pixels
    poses: Poses
    blur: float  # pixels of motion blur per pixel of motion
    gain: np.ndarray  # (frames,) brightness factor

    def box(self, t: int) -> np.ndarray:
        """Tight box [x, y, w, h] of the whole silhouette in frame t, including hidden parts."""
        matrix = self.poses.matrix(t, self.sprite.shape)
        points = self.poses.deform_points(self.outline, t, self.sprite.shape) @ matrix[:, :2].T + matrix[:, 2]
        low, high = points.min(axis=0), points.max(axis=0)
        return np.concatenate([low, high - low + 1])


@dataclass(slots=True)
class Scene:
    """Everything that determines the frames of one video."""

    size: tuple[int, int]  # (width, height)
    photo: np.ndarray
    camera: np.ndarray  # (frames, 4): centre x, centre y (fractions of the slack), log zoom, angle
    layers: list[Layer]  # in drawing order
    target: int  # index of the target in `layers`
    gain: np.ndarray  # (frames,) brightness factor of the frame
    noise: float  # standard deviation of the pixel noise
    softness: float  # standard deviation of the whole frame's blur, pixels
    jpeg_quality: int
    seed: int


class SyntheticVideos(VideoDataset):
    """`length` videos of `video_frames` frames each."""

    name = "synthetic"

    def __init__(self, bank: SpriteBank, length: int, seed: int = 0, video_frames: int = 60) -> None:
        self.bank, self.length, self.seed, self.video_frames = bank, length, seed, video_frames
        self.scene = lru_cache(maxsize=8)(self._make_scene)

    def __len__(self) -> int:
        return self.length

    def track(self, index: int) -> Track:
        scene = self.scene(index)
        width, height = scene.size
        boxes = np.stack([scene.layers[scene.target].box(t) for t in range(self.video_frames)])  # (frames, 4)
        low = np.clip(boxes[:, :2], 0, [width - 1, height - 1])
        high = np.clip(boxes[:, :2] + boxes[:, 2:], 1, [width, height])
        clipped = np.concatenate([low, high - low], axis=1)
        in_view = clipped[:, 2:].prod(axis=1) / boxes[:, 2:].prod(axis=1)
        hidden = np.zeros(self.video_frames)
        for layer in scene.layers[scene.target + 1 :]:
            hidden += [_covered_part(clipped[t], layer.box(t)) for t in range(self.video_frames)]
        visible = (in_view > 0.5) & (hidden < 0.6) & (clipped[:, 2:].min(axis=1) >= 6)
        return Track(clipped.astype(np.float32), visible)

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        scene = self.scene(index)
        return [_draw_frame(scene, t) for t in frame_ids]

    def _make_scene(self, index: int) -> Scene:
        if not 0 <= index < self.length:
            raise IndexError(f"no video {index}: there are {self.length}")
        rng = np.random.default_rng([self.seed, index])
        n = self.video_frames
        size = FRAME_SIZES[rng.integers(len(FRAME_SIZES))]
        target_size = min(size) * np.exp(rng.uniform(np.log(0.06), np.log(0.4)))
        target = self._make_layer(rng, size, target_size)
        behind = [self._make_distractor(rng, size, target) for _ in range(rng.integers(0, 4))]
        front = [self._make_distractor(rng, size, target) for _ in range(rng.integers(0, 3))]
        if rng.random() < 0.3:
            front.append(self._make_occluder(rng, size, target))
        lit = rng.choice([0.0, 0.1, 0.25])
        camera = np.stack([smooth_path(rng, n, spread, 0.95) for spread in (0.15, 0.15, 0.08, 0.03)], axis=1)
        return Scene(
            size=size,
            photo=self.bank.photo(rng),
            camera=camera * rng.choice([0.0, 0.5, 1.5]),
            layers=[*behind, target, *front],
            target=len(behind),
            gain=np.exp(smooth_path(rng, n, lit, 0.95)).clip(0.4, 1.8),
            noise=rng.choice([0.0, 2.0, 6.0]),
            softness=rng.choice([0.0, 0.6, 1.1]),
            jpeg_quality=int(rng.integers(45, 96)),
            seed=int(rng.integers(2**31)),
        )

    def _make_layer(self, rng: np.random.Generator, frame_size: tuple[int, int], size: float) -> Layer:
        sprite = self._make_sprite(rng)
        return Layer(
            sprite=sprite,
            outline=_outline(sprite[..., 3]),
            poses=Poses.random(rng, self.video_frames, frame_size, size),
            blur=rng.choice([0.0, 0.4, 0.8]),
            gain=np.exp(smooth_path(rng, self.video_frames, rng.choice([0.0, 0.15]), 0.95)).clip(0.5, 1.6),
        )

    def _make_sprite(self, rng: np.random.Generator) -> np.ndarray:
        """A recoloured sprite from the bank, or a silhouette filled with a piece of a photograph."""
        sprite = _recoloured(self.bank.sprite(rng), rng)
        if rng.random() < 0.4:
            mask = sprite[..., 3] if rng.random() < 0.6 else blob_mask(rng)
            texture = _photo_piece(self.bank.photo(rng), mask.shape, rng)
            if mask.shape == sprite.shape[:2] and rng.random() < 0.5:  # keep some of the sprite's own shading
                texture = cv2.addWeighted(texture, 0.6, np.ascontiguousarray(sprite[..., :3]), 0.4, 0)
            sprite = np.dstack([texture, mask])
        return sprite[:, ::-1].copy() if rng.random() < 0.5 else sprite

    def _make_distractor(self, rng: np.random.Generator, frame_size: tuple[int, int], target: Layer) -> Layer:
        """Another object, which looks like the target half of the time."""
        layer = self._make_layer(rng, frame_size, float(target.poses.size.mean() * np.exp(rng.normal(0, 0.3))))
        if rng.random() < 0.5:
            layer.sprite = _recoloured(target.sprite, rng, 0.3) if rng.random() < 0.6 else target.sprite
            layer.outline = target.outline
        return layer

    def _make_occluder(self, rng: np.random.Generator, frame_size: tuple[int, int], target: Layer) -> Layer:
        """An object that crosses the target's path once."""
        layer = self._make_layer(rng, frame_size, float(target.poses.size.mean() * rng.uniform(0.7, 1.6)))
        t = rng.integers(self.video_frames)
        meeting_point = target.poses.centre[t] + rng.normal(0, 0.3, 2) * target.poses.size[t]
        layer.poses.centre += meeting_point - layer.poses.centre[t]
        return layer


def _outline(alpha: np.ndarray) -> np.ndarray:
    contours, _ = cv2.findContours((alpha > 127).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return np.concatenate([c[::2, 0] for c in contours]).astype(np.float64)


def _recoloured(sprite: np.ndarray, rng: np.random.Generator, strength: float = 1.0) -> np.ndarray:
    colours = sprite[..., :3].astype(np.float32)
    gains = np.exp(rng.normal(0, 0.2 * strength, 3))
    saturation = rng.uniform(1 - 0.7 * strength, 1 + 0.2 * strength)
    grey = colours.mean(axis=2, keepdims=True)
    colours = (grey + (colours - grey) * saturation) * gains + rng.normal(0, 15 * strength)
    return np.dstack([np.clip(colours, 0, 255).astype(np.uint8), sprite[..., 3]])


def _photo_piece(photo: np.ndarray, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    side = rng.integers(60, min(photo.shape[:2]) // 2)
    top, left = (rng.integers(0, s - side) for s in photo.shape[:2])
    return cv2.resize(photo[top : top + side, left : left + side], shape[::-1], interpolation=cv2.INTER_AREA)


def _covered_part(box: np.ndarray, cover: np.ndarray) -> float:
    """Fraction of `box` covered by the box `cover`, assuming that a silhouette fills 70 % of its box."""
    low = np.maximum(box[:2], cover[:2])
    high = np.minimum(box[:2] + box[2:], cover[:2] + cover[2:])
    return 0.7 * float(np.clip(high - low, 0, None).prod() / max(box[2:].prod(), 1.0))


def _draw_frame(scene: Scene, t: int) -> np.ndarray:
    rng = np.random.default_rng([scene.seed, t])
    width, height = scene.size
    frame = _draw_background(scene, t).astype(np.float32)
    for layer in scene.layers:
        draw_layer(frame, layer, t)
    frame *= scene.gain[t]
    if scene.softness > 0:
        frame = cv2.GaussianBlur(frame, (0, 0), scene.softness)
    if scene.noise > 0:
        frame += scene.noise * rng.standard_normal((height, width, 1), dtype=np.float32)
    frame = np.clip(frame, 0, 255).astype(np.uint8)
    _, encoded = cv2.imencode(".jpg", frame[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, scene.jpeg_quality])
    return cv2.cvtColor(cv2.imdecode(encoded, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def _draw_background(scene: Scene, t: int) -> np.ndarray:
    width, height = scene.size
    photo_height, photo_width = scene.photo.shape[:2]
    x, y, zoom, angle = scene.camera[t]
    scale = max(width / photo_width, height / photo_height) * 1.25 * np.exp(zoom)
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    centre = np.array([photo_width * (0.5 + 0.2 * x), photo_height * (0.5 + 0.2 * y)])
    linear = np.array([[cos, -sin], [sin, cos]])
    offset = np.array([width / 2, height / 2]) - linear @ centre
    matrix = np.hstack([linear, offset[:, None]])
    return cv2.warpAffine(scene.photo, matrix, scene.size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)


def draw_layer(frame: np.ndarray, layer: Layer, t: int) -> None:
    """Blends a layer into the frame (h, w, 3) float32, in place."""
    poses, sprite = layer.poses, layer.sprite
    matrix = poses.matrix(t, sprite.shape)
    if poses.wave_height > 0:
        margin = int(np.ceil(poses.wave_height * max(sprite.shape[:2]))) + 1
        sprite = cv2.remap(sprite, *poses.undeform_grid(t, sprite.shape, margin), cv2.INTER_LINEAR, borderValue=0)
        matrix = np.hstack([matrix[:, :2], matrix[:, 2:] - matrix[:, :2] @ np.full((2, 1), margin)])
    shrink = float(np.sqrt(abs(np.linalg.det(matrix[:, :2]))))
    if shrink < 0.6:  # the bilinear warp below would skip pixels: shrink by area first
        small = cv2.resize(sprite, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
        ratio = np.array([sprite.shape[1] / small.shape[1], sprite.shape[0] / small.shape[0]])
        offset = matrix[:, 2] + matrix[:, :2] @ ((ratio - 1) / 2)
        matrix, sprite = np.hstack([matrix[:, :2] * ratio, offset[:, None]]), small
    corners = np.array([[0, 0], [1, 0], [0, 1], [1, 1]]) * (np.array(sprite.shape[1::-1]) - 1)
    motion = poses.centre[t] - poses.centre[max(t - 1, 0)]
    blur_length = int(min(layer.blur * np.linalg.norm(motion), 0.6 * poses.size[t]))
    points = corners @ matrix[:, :2].T + matrix[:, 2]
    low = np.maximum(np.floor(points.min(axis=0)).astype(int) - 1 - blur_length, 0)
    high = np.minimum(np.ceil(points.max(axis=0)).astype(int) + 2 + blur_length, frame.shape[1::-1])
    if (high - low).min() <= 0:
        return
    local = np.hstack([matrix[:, :2], (matrix[:, 2] - low)[:, None]])
    rgba = sprite.astype(np.float32)
    rgba[..., :3] *= rgba[..., 3:] * (layer.gain[t] / 255)  # premultiplied alpha, so that edges have no fringe
    rgba = cv2.warpAffine(rgba, local, tuple(int(v) for v in high - low), flags=cv2.INTER_LINEAR, borderValue=0)
    if blur_length >= 2:
        rgba = cv2.filter2D(rgba, -1, _line_kernel(motion, blur_length))
    view = frame[low[1] : high[1], low[0] : high[0]]
    view *= 1 - rgba[..., 3:] / 255
    view += rgba[..., :3]


def _line_kernel(direction: np.ndarray, length: int) -> np.ndarray:
    side = length | 1
    kernel = np.zeros((side, side), np.float32)
    half = direction / (np.linalg.norm(direction) + 1e-9) * (side // 2)
    start, end = (side // 2 - half).round().astype(int), (side // 2 + half).round().astype(int)
    cv2.line(kernel, tuple(int(v) for v in start), tuple(int(v) for v in end), 1.0)
    return kernel / kernel.sum()
