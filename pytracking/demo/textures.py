"""Noise textures for tiling backgrounds and the figures' grain, in integer arithmetic (see fixed_point)."""
import numpy as np

from pytracking.demo.fixed_point import SINE, SINE_ONE, TURN, random_bytes, random_integers, smooth

WORLD = (512, 640)  # height and width of a background, which then repeats

Colour = tuple[int, int, int]


def value_noise(seed: int, size: tuple[int, int], cell: tuple[int, int]) -> np.ndarray:
    """Returns smooth, tiling noise 0..255; ``cell`` (height, width) is the spacing of its random values."""
    height, width = size
    rows, columns = height // cell[0], width // cell[1]
    lattice = random_bytes(seed, rows * columns).reshape(rows, columns).astype(np.int64)
    row, row_weight = _lattice_position(height, rows)
    column, column_weight = _lattice_position(width, columns)
    upper = _mix(lattice[row][:, column], lattice[row][:, (column + 1) % columns], column_weight)
    lower_row = (row + 1) % rows
    lower = _mix(lattice[lower_row][:, column], lattice[lower_row][:, (column + 1) % columns], column_weight)
    return _mix(upper, lower, row_weight[:, None]) >> 16


def _lattice_position(length: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    position = np.arange(length) * cells * 256 // length
    return position >> 8, smooth(position & 255, 256)


def _mix(first: np.ndarray, second: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Blends with a weight in 1/256; the result is scaled by 256."""
    return first * (256 - weight) + second * weight


def fractal_noise(seed: int, size: tuple[int, int], cell: tuple[int, int]) -> np.ndarray:
    """Returns four octaves of value noise, 0..255: large blotches with fine grain."""
    total = np.zeros(size, np.int64)
    for octave, weight in enumerate((8, 4, 2, 2)):
        fine = (max(2, cell[0] >> octave), max(2, cell[1] >> octave))
        total += weight * value_noise(seed * 16 + octave, size, fine)
    return total >> 4


def colour_map(noise: np.ndarray, colours: list[Colour]) -> np.ndarray:
    """Maps 0..255 to a gradient through the colours, doubling the contrast: (h, w) -> (h, w, 3) uint8."""
    level = np.clip((noise - 128) * 2 + 128, 0, 255) * (len(colours) - 1)  # 0 .. 255 * (n - 1)
    index = np.minimum(level // 255, len(colours) - 2)
    weight = (level - index * 255)[..., None]
    table = np.array(colours, np.int64)
    return ((table[index] * (255 - weight) + table[index + 1] * weight) // 255).astype(np.uint8)


def meadow(seed: int) -> np.ndarray:
    """Grass with patches and flowers."""
    greens = [(38, 66, 24), (84, 122, 46), (128, 148, 70), (170, 168, 98)]
    image = colour_map(fractal_noise(seed, WORLD, (64, 64)), greens)
    _scatter(image, seed + 1, 260, (2, 5), [(236, 226, 90), (240, 240, 235), (196, 92, 140)])
    return image


def wood(seed: int) -> np.ndarray:
    """Planks with grain."""
    grain = fractal_noise(seed, WORLD, (32, 160))
    rings = (SINE[(grain * 14 + np.arange(WORLD[0])[:, None] * 3) % TURN] * 40 // SINE_ONE) + grain
    image = colour_map(np.clip(rings, 0, 255), [(74, 46, 28), (128, 86, 52), (166, 120, 76), (196, 156, 108)])
    image[np.arange(WORLD[0]) % 64 < 2] //= 3
    return image


def water(seed: int) -> np.ndarray:
    """Ripples."""
    noise = fractal_noise(seed, WORLD, (16, 64))
    return colour_map(noise, [(14, 52, 82), (28, 92, 120), (74, 142, 160), (182, 214, 214)])


def city(seed: int) -> np.ndarray:
    """House fronts with windows, seen from across a street."""
    image = colour_map(fractal_noise(seed, WORLD, (48, 48)), [(88, 86, 90), (126, 122, 118), (158, 150, 140)])
    tints = random_integers(seed + 1, 10, -34, 35)
    lights = random_integers(seed + 2, 32 * 40, 0, 5)
    for house in range(10):
        front = image[:, house * 64 : (house + 1) * 64].astype(np.int64)
        front += np.array([tints[house], tints[house] // 2, -tints[house] // 2])
        image[:, house * 64 : (house + 1) * 64] = np.clip(front, 0, 255)
    for row in range(16):
        for column in range(20):
            top, left = row * 32 + 8, column * 32 + 9
            glass = [(42, 50, 64), (58, 70, 88), (36, 40, 50), (214, 196, 128), (96, 112, 128)]
            image[top : top + 17, left : left + 14] = glass[lights[row * 20 + column]]
            image[top + 8 : top + 9, left : left + 14] = (150, 146, 140)
    return image


def forest(seed: int) -> np.ndarray:
    """Foliage with trunks and gaps of sky."""
    leaves = fractal_noise(seed, WORLD, (24, 24))
    image = colour_map(leaves, [(16, 30, 14), (42, 72, 28), (90, 120, 52), (190, 208, 196)])
    for trunk, left in enumerate(random_integers(seed + 1, 9, 0, WORLD[1] - 24)):
        bark = value_noise(seed + 10 + trunk, (WORLD[0], 64), (32, 4))[:, : 10 + trunk % 4 * 4]
        image[:, left : left + bark.shape[1]] = colour_map(bark, [(36, 26, 18), (70, 54, 40), (104, 86, 66)])
    return image


def crowd(seed: int) -> np.ndarray:
    """Coloured discs on pavement: clutter of the targets' size."""
    image = colour_map(fractal_noise(seed, WORLD, (64, 64)), [(96, 92, 88), (132, 128, 122), (164, 160, 154)])
    palette = [(172, 60, 48), (52, 86, 150), (206, 168, 62), (70, 120, 78), (120, 74, 132), (60, 58, 62)]
    palette.append((214, 208, 198))
    _scatter(image, seed + 1, 150, (6, 20), palette)
    grain = fractal_noise(seed + 2, WORLD, (8, 8))[..., None]
    return np.clip(image.astype(np.int64) * (grain + 130) >> 8, 0, 255).astype(np.uint8)


def _scatter(image: np.ndarray, seed: int, count: int, radius: tuple[int, int], palette: list[Colour]) -> None:
    """Paints discs at random positions, wrapping around the edges."""
    ys = random_integers(seed, count, 0, WORLD[0])
    xs = random_integers(seed + 1, count, 0, WORLD[1])
    radii = random_integers(seed + 2, count, *radius)
    colours = random_integers(seed + 3, count, 0, len(palette))
    for y, x, r, colour in zip(ys, xs, radii, colours, strict=True):
        dy, dx = np.mgrid[-r : r + 1, -r : r + 1]
        inside = dy * dy + dx * dx <= r * r
        image[(y + dy[inside]) % WORLD[0], (x + dx[inside]) % WORLD[1]] = palette[colour]


BACKGROUNDS = {"meadow": meadow, "wood": wood, "water": water, "city": city, "forest": forest, "crowd": crowd}
