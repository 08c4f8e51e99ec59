"""Look-alikes: another object of the target's class, blended into a crop next to the target.

Photographs rarely show two objects of one class close together, but tracked videos often do, and the filter must tell
them apart.
"""
import cv2
import numpy as np

SIZES = (0.7, 1.3)  # range of the look-alike's size relative to the target's
NEAREST = 0.75  # least distance of the centres, in units of the mean of the two sizes
TRIES = 10


def with_look_alike(crop: np.ndarray, box: np.ndarray, rival: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Blends the picture ``rival`` (h, w, 3) into a copy of the crop (side, side, 3) at a random place and size.

    The target's ``box`` [x, y, w, h] stays mostly free; if no such place is found, the crop is returned unchanged.
    """
    side = crop.shape[0]
    scale = np.sqrt(box[2] * box[3] / (rival.shape[0] * rival.shape[1])) * rng.uniform(*SIZES)
    size = np.maximum(np.round(np.array(rival.shape[1::-1]) * scale), 4).astype(int)  # width, height
    if size.max() >= side:
        return crop
    for _ in range(TRIES):
        corner = (rng.random(2) * (side - size)).astype(int)
        offset = np.abs(corner + size / 2 - box[:2] - box[2:] / 2)
        if (offset > NEAREST * (size + box[2:]) / 2).any():
            return _blended(crop, cv2.resize(rival, size.tolist(), interpolation=cv2.INTER_AREA), corner)
    return crop


def _blended(crop: np.ndarray, picture: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Pastes the picture with soft, rounded edges, so that the network cannot recognise it by its outline."""
    height, width = picture.shape[:2]
    across, down = np.linspace(-1, 1, width)[None], np.linspace(-1, 1, height)[:, None]
    distance = (np.abs(across) ** 4 + np.abs(down) ** 4) ** 0.25  # 1 on a rectangle with round corners
    alpha = np.clip((1 - distance) / 0.25, 0, 1)[..., None]
    result = crop.copy()
    place = result[corner[1] : corner[1] + height, corner[0] : corner[0] + width]
    place[:] = (alpha * picture + (1 - alpha) * place).round().astype(np.uint8)
    return result
