"""Integer arithmetic for the renderer: without floats, every machine renders the same bytes.

Positions and sizes are in 1/256 pixel ("q8"), angles in 1/1024 turn, sines in 1/16384 ("q14"). Random numbers are the
raw output of PCG64: numpy guarantees its stream, but not those of ``Generator``'s distributions.
"""
import numpy as np

ONE = 256  # one pixel, or a factor of one
TURN = 1024  # a full turn
SINE_ONE = 1 << 14
TICKS = 8  # units of time per frame; a blurred frame is exposed during several of them


def _sine_table() -> np.ndarray:
    """Computes the sine of every angle by an integer Taylor series, rounded once at the end."""
    precision = 1 << 80
    pi = 3797952473636338580787993  # floor(pi * 2**80)
    table = np.zeros(TURN, np.int64)
    for step in range(TURN // 4 + 1):
        angle = 2 * pi * step // TURN
        term, total, order = angle, 0, 1
        while term:
            total += term
            term = -term * angle // precision * angle // precision // ((order + 1) * (order + 2))
            term = 0 if term == -1 else term  # floor division of a negative number never reaches 0
            order += 2
        value = (total * SINE_ONE * 2 + precision) // (2 * precision)
        table[step] = table[TURN // 2 - step] = value
        table[(TURN - step) % TURN] = table[TURN // 2 + step] = -value
    return table


SINE = _sine_table()
# angle whose sine is x / 256, for x in 0..256: maps a cylinder's silhouette to the angle around its axis
ARCSINE = np.searchsorted(SINE[: TURN // 4 + 1], np.arange(ONE + 1) * (SINE_ONE // ONE))


def sine(angle: int) -> int:
    return int(SINE[angle % TURN])


def cosine(angle: int) -> int:
    return int(SINE[(angle + TURN // 4) % TURN])


def random_bytes(seed: int, count: int) -> np.ndarray:
    """Returns ``count`` uniform bytes."""
    words = np.random.PCG64(seed).random_raw((count + 7) // 8)
    return words.astype("<u8").view(np.uint8)[:count]


def random_integers(seed: int, count: int, low: int, high: int) -> list[int]:
    """Returns ``count`` integers in ``low..high - 1``."""
    return [low + int(word) % (high - low) for word in np.random.PCG64(seed).random_raw(count)]


def smooth(fraction: np.ndarray | int, one: int) -> np.ndarray | int:
    """Smoothstep: 3t^2 - 2t^3 for t = fraction / one, scaled by ``one``."""
    return fraction * fraction * (3 * one - 2 * fraction) // (one * one)


def path(time: int, *knots: tuple[int, int]) -> int:
    """Interpolates smoothly between knots (frame, value); ``time`` in 1/8 frame."""
    if time <= knots[0][0] * TICKS:
        return knots[0][1]
    for (start, before), (end, after) in zip(knots, knots[1:], strict=False):
        if time <= end * TICKS:
            fraction = (time - start * TICKS) * 4096 // ((end - start) * TICKS)
            return before + (after - before) * smooth(fraction, 4096) // 4096
    return knots[-1][1]


def wave(time: int, amplitude: int, period: int, phase: int = 0) -> int:
    """A sinusoid; ``time`` in 1/8 frame, ``period`` in frames, ``phase`` in 1/1024 turn."""
    return amplitude * sine(time * TURN // (period * TICKS) + phase) // SINE_ONE
