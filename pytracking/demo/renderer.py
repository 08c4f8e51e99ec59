"""Draws scenes (background, figures in front of each other, light, grain) and measures the target's visible part."""
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from pytracking.demo.fixed_point import ARCSINE, ONE, SINE, SINE_ONE, TURN, cosine, random_bytes, sine
from pytracking.demo.sprites import Part, figure, lantern_texture
from pytracking.demo.textures import BACKGROUNDS, WORLD

HEIGHT, WIDTH = 240, 320
MARGIN = 128  # the target is also drawn this far outside the image, to measure how much of it has left
LANTERN_RADIUS = 32
LEAST_VISIBLE = 15  # percent; below this the target counts as absent


@dataclass
class Actor:
    """A figure in a pose."""

    figure: str
    x: int  # of its centre in the image, q8
    y: int
    scale: int = ONE  # q8
    angle: int = 0  # 1/1024 turn
    gait: int = 0  # phase of its moving parts, 1/1024 turn
    stretch: int = ONE  # height over width, q8
    bend: int = 0  # amplitude of a wave running along the figure, q8 pixels


@dataclass
class Scene:
    """The contents of one exposure."""

    camera: tuple[int, int]  # upper left corner in the world, q8
    target: Actor
    behind: list[Actor] = field(default_factory=list)
    front: list[Actor] = field(default_factory=list)
    gain: tuple[int, int, int] = (ONE, ONE, ONE)  # brightness per channel, q8
    spotlight: int = 0  # strength of a brightness gradient from left to right, -256..256
    drift: tuple[int, int] | None = None  # corner of a second background layer that moves independently, q8


@dataclass
class Rendered:
    """A frame and its annotation."""

    image: np.ndarray  # (h, w, 3) uint8 RGB
    box: tuple[int, int, int, int] | None  # x, y, w, h of the part inside the image; None: absent
    visible: int  # visible part of the target, percent


def render(background: str, seed: int, scenes: list[Scene], frame: int) -> Rendered:
    """Renders a frame as the mean of its exposures; the middle one is annotated."""
    total = np.zeros((HEIGHT, WIDTH, 3), np.int32)
    for index, scene in enumerate(scenes):
        image, target, cover = _expose(background, seed, scene)
        total += image
        if index == len(scenes) // 2:
            box, visible = _measure(target, cover)
    image = total // len(scenes)
    image = np.clip(image + _grain(seed, frame), 0, 255)
    # six bits per channel: invisible under the grain, and lossless files become half as large
    return Rendered((image & 252).astype(np.uint8), box, visible)


def _expose(background: str, seed: int, scene: Scene) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    image = _view(background, seed, scene.camera)
    if scene.drift is not None:
        image = (image + _view(background, seed + 1, scene.drift)) // 2
    target = np.zeros((HEIGHT + 2 * MARGIN, WIDTH + 2 * MARGIN), bool)
    cover = np.zeros((HEIGHT, WIDTH), bool)
    for actor in scene.behind:
        _draw(image, None, actor)
    _draw(image, target, scene.target)
    for actor in scene.front:
        _draw(image, cover, actor)
    return _light(image, scene), target, cover


def _measure(target: np.ndarray, cover: np.ndarray) -> tuple[tuple[int, int, int, int] | None, int]:
    inside = target[MARGIN : MARGIN + HEIGHT, MARGIN : MARGIN + WIDTH]
    seen = np.count_nonzero(inside & ~cover)
    visible = 100 * int(seen) // max(1, int(np.count_nonzero(target)))
    if visible < LEAST_VISIBLE:
        return None, visible
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    return (left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top), visible


@cache
def _world(background: str, seed: int) -> np.ndarray:
    """Returns the background, repeated far enough for every view to be a single slice."""
    tile = BACKGROUNDS[background](seed)
    return np.pad(tile, ((0, HEIGHT + 1), (0, WIDTH + 1), (0, 0)), mode="wrap").astype(np.uint16)


def _view(background: str, seed: int, corner: tuple[int, int]) -> np.ndarray:
    """Returns the background seen from a corner, to 1/16 pixel: (h, w, 3) uint16."""
    world = _world(background, seed)
    left, top = corner[0] // ONE % WORLD[1], corner[1] // ONE % WORLD[0]
    fx, fy = corner[0] % ONE // 16, corner[1] % ONE // 16
    area = world[top : top + HEIGHT + 1, left : left + WIDTH + 1]
    across = area[:, :-1] * np.uint16(16 - fx) + area[:, 1:] * np.uint16(fx)  # at most 255 * 16
    return (across[:-1] * np.uint16(16 - fy) + across[1:] * np.uint16(fy)) >> 8


def _light(image: np.ndarray, scene: Scene) -> np.ndarray:
    gain = np.array(scene.gain, np.int32)
    if scene.spotlight:
        ramp = ONE + scene.spotlight * (2 * np.arange(WIDTH) - WIDTH) // (2 * WIDTH)
        gain = (gain * ramp[:, None] // ONE).astype(np.int32)
    elif scene.gain == (ONE, ONE, ONE):
        return image
    return np.clip((image * gain) >> 8, 0, 255)


@cache
def _grain_tile(seed: int) -> np.ndarray:
    size = (HEIGHT + 64, WIDTH + 64, 3)
    throws = random_bytes(seed + 7000, 2 * size[0] * size[1] * size[2]).reshape(2, *size).astype(np.int16)
    return (throws[0] + throws[1] - 255) >> 7  # -2 .. 1


def _grain(seed: int, frame: int) -> np.ndarray:
    """Returns sensor noise: a different crop of one tile for each frame."""
    dy, dx = (int(value) % 64 for value in random_bytes(seed * 4099 + frame, 2))
    return _grain_tile(seed)[dy : dy + HEIGHT, dx : dx + WIDTH]


def _draw(image: np.ndarray, mask: np.ndarray | None, actor: Actor) -> None:
    """Draws a figure into the image and marks it in the mask, which may have a margin around the image."""
    if actor.figure == "lantern":
        _draw_lantern(image, mask, actor)
        return
    for part in figure(actor.figure):
        angle = actor.angle + part.swing * sine(actor.gait + part.phase) // SINE_ONE
        if part.swing == TURN // 2:  # a wheel
            angle = actor.angle + actor.gait
        ax, ay = part.attach[0] * actor.scale, part.attach[1] * actor.scale * actor.stretch // ONE
        x = actor.x + (ax * cosine(actor.angle) - ay * sine(actor.angle)) // SINE_ONE
        y = actor.y + (ax * sine(actor.angle) + ay * cosine(actor.angle)) // SINE_ONE
        height = actor.scale * actor.stretch // ONE
        height = height * (ONE + part.squeeze * sine(actor.gait + part.phase) // SINE_ONE) // ONE
        _draw_part(image, mask, part, (x, y), angle, (actor.scale, height), actor.bend, actor.gait)


def _draw_part(
    image: np.ndarray,
    mask: np.ndarray | None,
    part: Part,
    place: tuple[int, int],
    angle: int,
    scale: tuple[int, int],
    bend: int,
    gait: int,
) -> None:
    height, width = part.texture.shape[:2]
    xs, ys = (-part.pivot[0], width - part.pivot[0]), (-part.pivot[1], height - part.pivot[1])
    corners = [(x * scale[0], y * scale[1]) for x in xs for y in ys]
    window = _window(place, corners, angle, bend, _margin(mask))
    if window is None:
        return
    across, down = _local(window, place, angle)
    if bend:
        across = across + bend * SINE[(down * 8 // ONE + gait) % TURN] // SINE_ONE
    u = across * ONE // scale[0] + part.pivot[0] * ONE
    v = down * ONE // scale[1] + part.pivot[1] * ONE
    small = min(scale) < ONE * 5 // 8
    texture = _premultiplied(part.texture.tobytes(), part.texture.shape, small)
    _blend(image, mask, window, _sample(texture, u >> small, v >> small))


def _draw_lantern(image: np.ndarray, mask: np.ndarray | None, actor: Actor) -> None:
    """Draws a turning cylinder; ``gait`` is its angle of rotation."""
    radius = LANTERN_RADIUS * actor.scale
    place = (actor.x, actor.y)
    corners = [(x, y) for x in (-radius, radius) for y in (-radius, radius)]
    window = _window(place, corners, actor.angle, 0, _margin(mask))
    if window is None:
        return
    across, down = _local(window, place, actor.angle)
    u = np.clip(across * ONE // radius, -ONE, ONE)  # -256 .. 256 over the silhouette
    around = np.sign(u) * ARCSINE[np.abs(u)]
    texture = lantern_texture()
    column = (actor.gait + around) % TURN * texture.shape[1] // TURN
    row = np.clip((down + radius) * texture.shape[0] // (2 * radius), 0, texture.shape[0] - 1)
    colour = texture[row, column].astype(np.int64)
    shade = 110 + 146 * SINE[(around + TURN // 4) % TURN] // SINE_ONE
    edge = np.clip(np.minimum(radius - np.abs(across), radius - np.abs(down)) + ONE // 2, 0, ONE - 1)
    colour[..., 3] = edge
    colour[..., :3] = colour[..., :3] * shade[..., None] * edge[..., None] >> 16
    _blend(image, mask, window, colour)


def _margin(mask: np.ndarray | None) -> int:
    return 0 if mask is None else (mask.shape[0] - HEIGHT) // 2


def _window(
    place: tuple[int, int], corners: list[tuple[int, int]], angle: int, bend: int, margin: int
) -> tuple[int, int, int, int] | None:
    """Returns the pixels (left, top, right, bottom) a rotated rectangle may touch, clipped to image plus margin."""
    c, s = cosine(angle), sine(angle)
    xs = [place[0] + (x * c - y * s) // SINE_ONE for x, y in corners]
    ys = [place[1] + (x * s + y * c) // SINE_ONE for x, y in corners]
    reach = abs(bend) + 2 * ONE
    left, top = max(-margin, (min(xs) - reach) // ONE), max(-margin, (min(ys) - reach) // ONE)
    right, bottom = min(WIDTH + margin, (max(xs) + reach) // ONE), min(HEIGHT + margin, (max(ys) + reach) // ONE)
    return (left, top, right, bottom) if left < right and top < bottom else None


def _local(window: tuple[int, int, int, int], place: tuple[int, int], angle: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the coordinates of the window's pixels in the figure's axes, q8 image pixels."""
    left, top, right, bottom = window
    dx = np.arange(left, right, dtype=np.int64)[None, :] * ONE + ONE // 2 - place[0]
    dy = np.arange(top, bottom, dtype=np.int64)[:, None] * ONE + ONE // 2 - place[1]
    c, s = cosine(angle), sine(angle)
    return (dx * c + dy * s) >> 14, (dy * c - dx * s) >> 14


@cache
def _premultiplied(data: bytes, shape: tuple[int, int, int], small: bool) -> np.ndarray:
    """Returns a texture with colours premultiplied by coverage and an empty border; at half size if ``small``."""
    texture = np.frombuffer(data, np.uint8).reshape(shape).astype(np.int32)
    texture[..., :3] = texture[..., :3] * texture[..., 3:] // 255
    if small:
        even = np.pad(texture, ((0, shape[0] % 2), (0, shape[1] % 2), (0, 0)))
        texture = (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) // 4
    return np.pad(texture, ((1, 2), (1, 2), (0, 0)))


def _sample(texture: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Samples a bordered texture bilinearly at q8 positions: (h, w, 4)."""
    height, width = texture.shape[0] - 3, texture.shape[1] - 3
    u = np.clip(u + ONE // 2, 0, (width + 1) * ONE)
    v = np.clip(v + ONE // 2, 0, (height + 1) * ONE)
    column, row = u >> 8, v >> 8
    fu, fv = (u & 255).astype(np.int32)[..., None], (v & 255).astype(np.int32)[..., None]
    flat, stride = texture.reshape(-1, 4), texture.shape[1]
    index = row * stride + column
    upper = flat[index] * (ONE - fu) + flat[index + 1] * fu
    lower = flat[index + stride] * (ONE - fu) + flat[index + stride + 1] * fu
    return (upper * (ONE - fv) + lower * fv) >> 16


def _blend(image: np.ndarray, mask: np.ndarray | None, window: tuple[int, int, int, int], colour: np.ndarray) -> None:
    left, top, right, bottom = window
    if mask is not None:
        margin = _margin(mask)
        mask[top + margin : bottom + margin, left + margin : right + margin] |= colour[..., 3] >= 128
    x0, y0, x1, y1 = max(0, left), max(0, top), min(WIDTH, right), min(HEIGHT, bottom)
    if x0 < x1 and y0 < y1:
        piece = colour[y0 - top : y1 - top, x0 - left : x1 - left]
        under = image[y0:y1, x0:x1]
        under[...] = np.minimum(255, under * (255 - piece[..., 3:]) // 255 + piece[..., :3])
