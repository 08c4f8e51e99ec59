"""The demo sequences' figures, painted from ellipses and boxes; some have moving parts."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from pytracking.demo.textures import Colour, fractal_noise

SAMPLES = 4  # a pixel's coverage is counted on a grid of 4 x 4 points


@dataclass(frozen=True)
class Part:
    """A painted piece that swings about its pivot."""

    texture: np.ndarray  # (h, w, 4) uint8, the last channel is coverage
    pivot: tuple[int, int]  # (x, y) in the texture, pixels
    attach: tuple[int, int] = (0, 0)  # position of the pivot, (x, y) from the figure's centre, pixels
    swing: int = 0  # amplitude of the rotation, 1/1024 turn
    squeeze: int = 0  # amplitude of the change in height, 1/256
    phase: int = 0  # 1/1024 turn


Figure = tuple[Part, ...]  # drawn in this order


class _Painter:
    """An RGBA picture painted with smooth-edged shapes."""

    def __init__(self, width: int, height: int) -> None:
        self.pixels = np.zeros((height, width, 4), np.int64)
        ys, xs = np.mgrid[0 : height * SAMPLES, 0 : width * SAMPLES]
        self._xs, self._ys = 2 * xs + 1, 2 * ys + 1  # sample positions in units of 1 / (2 * SAMPLES) pixel

    def _paint(self, inside: np.ndarray, colour: Colour) -> _Painter:
        height, width = self.pixels.shape[:2]
        coverage = inside.reshape(height, SAMPLES, width, SAMPLES).sum(axis=(1, 3))[..., None] * 255 // SAMPLES**2
        old = self.pixels[..., 3:]
        # colours are not premultiplied, so an empty pixel takes the new colour as it is
        mixed = (self.pixels[..., :3] * (255 - coverage) + np.array(colour) * coverage) // 255
        self.pixels[..., :3] = np.where(old == 0, colour, mixed)
        self.pixels[..., 3:] = np.maximum(old, coverage)
        return self

    def ellipse(self, x: int, y: int, rx: int, ry: int, colour: Colour) -> _Painter:
        """Paints an ellipse; centre and radii in pixels."""
        unit = 2 * SAMPLES
        dx, dy = self._xs - x * unit, self._ys - y * unit
        return self._paint(dx * dx * ry * ry + dy * dy * rx * rx <= (rx * ry * unit) ** 2, colour)

    def box(self, x: int, y: int, width: int, height: int, colour: Colour) -> _Painter:
        """Paints an axis-aligned rectangle."""
        unit = 2 * SAMPLES
        across = (self._xs >= x * unit) & (self._xs < (x + width) * unit)
        return self._paint(across & (self._ys >= y * unit) & (self._ys < (y + height) * unit), colour)

    def stripes(self, period: int, width: int, colour: Colour, slant: int = 0) -> _Painter:
        """Paints stripes over the existing shapes; ``slant`` is their shift in pixels over the height."""
        height, full = self.pixels.shape[:2]
        ys, xs = np.mgrid[0:height, 0:full]
        on = ((xs + slant * ys // height) % period < width) & (self.pixels[..., 3] > 0)
        self.pixels[on, :3] = colour
        return self

    def finish(self, seed: int, grain: int = 90) -> np.ndarray:
        """Adds grain (contrast in 1/256) and light from above; returns the texture."""
        height, width = self.pixels.shape[:2]
        noise = fractal_noise(seed, (height, width), (max(2, height // 4), max(2, width // 4))) - 128
        light = 286 - 60 * np.arange(height)[:, None] // height + grain * noise // 128
        self.pixels[..., :3] = np.clip(self.pixels[..., :3] * light[..., None] >> 8, 0, 255)
        return self.pixels.astype(np.uint8)


def _limb(length: int, width: int, colour: Colour, seed: int) -> np.ndarray:
    half = width // 2
    painter = _Painter(width, length).box(0, half, width, length - 2 * half, colour)
    return painter.ellipse(half, half, half, half, colour).ellipse(half, length - half, half, half, colour).finish(seed)


def beetle() -> Figure:
    shell = _Painter(56, 72).ellipse(28, 10, 11, 9, (30, 28, 34)).ellipse(28, 42, 25, 29, (178, 42, 34))
    shell.box(27, 14, 2, 57, (36, 24, 24))
    for x, y in ((16, 32), (40, 32), (14, 48), (42, 48), (20, 61), (36, 61)):
        shell.ellipse(x, y, 5, 5, (26, 22, 24))
    legs = []
    for row, y in enumerate((-10, 4, 18)):
        for side in (-1, 1):
            # the two legs of a row swing in opposite phase
            leg = _Painter(28, 6).box(0, 1, 28, 4, (34, 30, 30)).finish(31 + row)
            pivot = (27, 3) if side < 0 else (1, 3)
            legs.append(Part(leg, pivot, (side * 18, y), swing=50, phase=row * 340 + (512 if side > 0 else 0)))
    return *legs, Part(shell.finish(3), (28, 38))


def fish() -> Figure:
    body = _Painter(76, 44).ellipse(38, 22, 36, 20, (226, 118, 36)).stripes(24, 7, (238, 232, 222), slant=8)
    body.ellipse(62, 16, 4, 4, (245, 245, 240)).ellipse(63, 16, 2, 2, (15, 15, 18))
    tail = _Painter(34, 40).ellipse(12, 10, 11, 9, (214, 98, 30)).ellipse(12, 30, 11, 9, (214, 98, 30))
    tail.box(12, 16, 20, 8, (214, 98, 30))
    fin = _Painter(22, 22).ellipse(11, 11, 10, 10, (190, 84, 26)).finish(43)
    return (
        Part(tail.finish(42), (32, 20), (-32, 0), swing=90),
        Part(fin, (11, 3), (2, 14), swing=120, phase=300),
        Part(body.finish(41), (38, 22), squeeze=26, phase=512),
    )


def car() -> Figure:
    paint, seed = (44, 84, 168), 51
    body = _Painter(92, 44).box(4, 18, 84, 18, paint).ellipse(12, 24, 9, 11, paint).ellipse(80, 24, 9, 11, paint)
    body.ellipse(46, 19, 28, 17, paint).ellipse(46, 18, 23, 13, (176, 204, 214)).box(44, 4, 4, 15, paint)
    body.box(18, 19, 58, 3, paint).box(82, 22, 6, 5, (246, 232, 160)).box(4, 22, 5, 6, (190, 36, 30))
    body.box(30, 27, 8, 2, (220, 220, 220)).box(4, 33, 84, 3, (40, 40, 44))
    wheel = _Painter(20, 20).ellipse(10, 10, 10, 10, (24, 24, 26)).ellipse(10, 10, 6, 6, (170, 170, 176))
    wheel.box(9, 3, 2, 14, (60, 60, 64)).box(3, 9, 14, 2, (60, 60, 64))
    turning = wheel.finish(seed + 1, 30)
    parts = [Part(turning, (10, 10), (x, 13), swing=512) for x in (-26, 26)]
    return Part(body.finish(seed, 40), (46, 22)), *parts


def bird() -> Figure:
    body = _Painter(64, 30).ellipse(28, 16, 22, 9, (96, 82, 74)).ellipse(48, 11, 9, 8, (58, 50, 52))
    body.box(54, 10, 9, 3, (222, 160, 48)).ellipse(50, 9, 2, 2, (240, 240, 235)).box(2, 14, 16, 6, (70, 60, 56))
    body.ellipse(30, 20, 14, 4, (214, 204, 190))
    wing = _Painter(30, 40).ellipse(15, 20, 13, 20, (74, 62, 60)).stripes(7, 2, (150, 132, 116), slant=10).finish(62)
    far = (wing[::-1].astype(np.int64) * [180, 180, 180, 256] >> 8).astype(np.uint8)
    return (
        Part(np.ascontiguousarray(far), (15, 38), (2, -2), squeeze=150, swing=40),
        Part(body.finish(61), (30, 15)),
        Part(np.ascontiguousarray(wing[::-1]), (15, 38), (-3, 0), squeeze=150, swing=40, phase=60),
    )


def runner() -> Figure:
    shirt, band, skin, trousers, seed = (206, 60, 52), (244, 238, 230), (206, 156, 122), (40, 48, 74), 71
    torso = _Painter(26, 40).box(3, 4, 20, 34, shirt).ellipse(13, 5, 10, 5, shirt).box(3, 14, 20, 7, band)
    head = _Painter(20, 22).ellipse(10, 12, 8, 10, skin).ellipse(10, 6, 9, 6, (52, 36, 26))
    leg, arm = _limb(34, 9, trousers, seed + 2), _limb(28, 7, skin, seed + 3)
    return (
        Part(arm, (3, 3), (0, -13), swing=130, phase=512),
        Part(leg, (4, 4), (0, 16), swing=110),
        Part(leg, (4, 4), (0, 16), swing=110, phase=512),
        Part(torso.finish(seed, 60), (13, 20)),
        Part(head.finish(seed + 1, 50), (10, 20), (0, -17), swing=14),
        Part(arm, (3, 3), (0, -13), swing=130),
    )


def ball() -> Figure:
    disc = _Painter(52, 52).ellipse(26, 26, 25, 25, (236, 234, 228))
    disc.ellipse(26, 26, 8, 8, (30, 34, 40)).ellipse(8, 18, 8, 8, (196, 52, 46))
    disc.ellipse(44, 18, 8, 8, (36, 84, 160)).ellipse(26, 48, 8, 8, (44, 130, 72))
    return (Part(disc.finish(81, 70), (26, 26)),)


def butterfly(colour: Colour = (92, 64, 160), spot: Colour = (240, 200, 70), seed: int = 91) -> Figure:
    wing = _Painter(30, 52).ellipse(16, 15, 13, 14, colour).ellipse(14, 38, 11, 12, colour)
    wing.ellipse(17, 12, 5, 5, spot).ellipse(13, 39, 4, 4, spot).ellipse(22, 22, 2, 2, (245, 245, 240))
    right = wing.finish(seed, 70)
    # turned by 90 degrees so that the renderer's squeeze opens and closes the wings
    body = _Painter(8, 50).ellipse(4, 25, 4, 24, (38, 30, 30)).finish(seed + 1)
    upper = np.ascontiguousarray(right.transpose(1, 0, 2)[::-1])
    lower = np.ascontiguousarray(right.transpose(1, 0, 2))
    return (
        Part(upper, (26, 29), (0, -2), squeeze=120),
        Part(lower, (26, 1), (0, 2), squeeze=120),
        Part(np.ascontiguousarray(body.transpose(1, 0, 2)), (25, 4)),
    )


def drone() -> Figure:
    frame = _Painter(36, 36).ellipse(18, 18, 7, 7, (44, 46, 52)).ellipse(18, 16, 3, 3, (220, 60, 40))
    for x, y in ((7, 7), (29, 7), (7, 29), (29, 29)):
        for step in range(1, 6):
            frame.ellipse(18 + (x - 18) * step // 6, 18 + (y - 18) * step // 6, 2, 2, (60, 62, 68))
        frame.ellipse(x, y, 6, 6, (150, 154, 160)).ellipse(x, y, 2, 2, (30, 30, 34))
    return (Part(frame.finish(101, 40), (18, 18)),)


@cache
def lantern_texture() -> np.ndarray:
    """Paints a cylinder's texture, once around: a pale side with red marks and a dark side with another pattern."""
    wrap = _Painter(192, 64).box(0, 0, 96, 64, (226, 206, 160)).box(96, 0, 96, 64, (52, 70, 92))
    for x, y, rx, ry in ((24, 22, 12, 12), (60, 40, 14, 10), (44, 10, 6, 5), (84, 20, 7, 14), (14, 52, 8, 6)):
        wrap.ellipse(x, y, rx, ry, (178, 44, 38))
    for x in (104, 124, 144, 164, 180):
        wrap.box(x, 6, 7, 52, (120, 176, 168))
    wrap.box(96, 28, 96, 7, (230, 170, 60)).box(0, 0, 192, 4, (40, 34, 30)).box(0, 60, 192, 4, (40, 34, 30))
    return wrap.finish(111, 70)


def pillar(width: int, height: int, colour: Colour, seed: int) -> Figure:
    """An upright occluder."""
    post = _Painter(width, height).box(0, 0, width, height, colour).stripes(max(6, width // 3), 2, (60, 56, 52))
    return (Part(post.finish(seed, 120), (width // 2, height // 2)),)


def bush(seed: int) -> Figure:
    """Foliage with gaps to see through."""
    shape, places = _Painter(110, 80), ((28, 46, 26, 26), (58, 34, 30, 30), (84, 50, 24, 24), (56, 58, 44, 20))
    for x, y, rx, ry in places:
        shape.ellipse(x, y, rx, ry, (52, 92, 40))
    texture = shape.finish(seed, 200)
    holes = fractal_noise(seed + 1, (80, 112), (10, 14))[:, :110] > 146
    texture[holes, 3] = 0
    return (Part(texture, (55, 40)),)


FIGURES: dict[str, Callable[[], Figure]] = {
    "beetle": beetle,
    "fish": fish,
    "car": car,
    "bird": bird,
    "runner": runner,
    "ball": ball,
    "butterfly": butterfly,
    "butterfly_pale": lambda: butterfly((112, 76, 148), (236, 184, 84), 95),
    "drone": drone,
    "pole": lambda: pillar(14, 260, (120, 116, 110), 121),
    "wall": lambda: pillar(96, 260, (150, 108, 84), 123),
    "bush": lambda: bush(127),
}


@cache
def figure(name: str) -> Figure:
    """Returns a figure by name; it is painted only once."""
    return FIGURES[name]()
