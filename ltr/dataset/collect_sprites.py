"""Makes a sprite bank from Debian packages: ``python -m ltr.dataset.collect_sprites FOLDER``.

Sprites are Tux Paint's stamps (cut-out photographs and drawings) and the Noto colour emoji; photographs are desktop
backgrounds. Packages are downloaded with ``apt-get download`` and unpacked without being installed; without apt, unpack
them by hand and pass the folder as ``--unpacked``. Reading the emoji needs ``fonttools`` (extra ``train``).
"""
import argparse
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from tqdm import tqdm

from ltr.dataset.sprites import PHOTO_SIDE, SPRITE_SIDE

PACKAGES = (  # all free software by Debian's guidelines; each package's copyright file has the licence
    "tuxpaint-stamps-default",
    "fonts-noto-color-emoji",
    "gnome-backgrounds",
    "mate-backgrounds",
    "lomiri-wallpapers-16.04",
    "lomiri-wallpapers-20.04",
    "plasma-workspace-wallpapers",
    "ukui-wallpapers",
    "palapeli-data",
)
NOT_OBJECTS = ("alphabets", "math", "money", "roadsigns", "flags", "shapes", "faces/")  # folders of stamps to skip
EMOJI_STEP = 3  # use every third emoji: neighbours are variants of each other (skin tones)


def unpack_packages(target: Path) -> None:
    """Downloads and unpacks `PACKAGES` below `target`."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True)
        for package in sorted(Path(folder).glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", str(package), str(target)], check=True)


def cut_to_alpha(rgba: np.ndarray) -> np.ndarray | None:
    """Crops a picture to its opaque part and shrinks it to SPRITE_SIDE; None if it does not look like an object."""
    if rgba.ndim != 3 or rgba.shape[2] != 4:
        return None
    rows, columns = np.where(rgba[..., 3] > 127)
    if len(rows) < 400:
        return None
    rgba = rgba[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    height, width = rgba.shape[:2]
    opaque = (rgba[..., 3] > 127).mean()
    if not 0.15 < opaque < 0.97 or max(height, width) > 5 * min(height, width):
        return None
    shrink = SPRITE_SIDE / max(height, width)
    if shrink < 1:
        size = (max(1, round(width * shrink)), max(1, round(height * shrink)))
        rgba = cv2.resize(rgba, size, interpolation=cv2.INTER_AREA)
    return rgba


def stamp_pictures(root: Path) -> Iterator[np.ndarray]:
    for path in sorted(root.glob("usr/share/tuxpaint/stamps/**/*.png")):
        if any(word in path.as_posix() for word in NOT_OBJECTS):
            continue
        picture = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        if picture is not None:
            yield picture


def emoji_pictures(root: Path) -> Iterator[np.ndarray]:
    """The bitmaps in the emoji font's CBDT table, sorted by glyph name."""
    from fontTools.ttLib import TTFont

    for path in sorted(root.glob("usr/share/fonts/**/NotoColorEmoji.ttf")):
        glyphs = TTFont(path)["CBDT"].strikeData[0]
        for name in sorted(glyphs)[::EMOJI_STEP]:
            data = getattr(glyphs[name], "imageData", None)
            if data:
                yield cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)


def background_pictures(root: Path) -> Iterator[np.ndarray]:
    """One picture per wallpaper, skipping copies in other sizes and flat drawings."""
    folders = ("backgrounds", "wallpapers", "palapeli")
    paths = sorted(path for folder in folders for path in root.glob(f"usr/share/{folder}/**/*.[jpw]*"))
    folders_seen: set[Path] = set()
    for path in paths:
        if path.parent.name == "images":  # Plasma stores one picture in many sizes
            if path.parent in folders_seen:
                continue
            folders_seen.add(path.parent)
        picture = cv2.imread(str(path), cv2.IMREAD_COLOR) if path.is_file() and not path.is_symlink() else None
        if picture is None or min(picture.shape[:2]) < 480:
            continue
        shrink = PHOTO_SIDE / max(picture.shape[:2])
        picture = cv2.resize(picture, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
        if _textured_part(picture) > 0.4:
            yield picture


def _textured_part(picture: np.ndarray) -> float:
    """Fraction of 16x16 blocks that are not flat: high in photographs, low in drawn wallpapers."""
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(np.float32)
    mean, mean_square = cv2.blur(grey, (16, 16)), cv2.blur(grey * grey, (16, 16))
    return float((np.sqrt(np.clip(mean_square - mean * mean, 0, None)) > 6)[8::16, 8::16].mean())


def build_bank(root: Path, bank: Path) -> tuple[int, int]:
    """Writes the bank and returns the number of sprites and of photographs."""
    (bank / "sprites").mkdir(parents=True, exist_ok=True)
    (bank / "photos").mkdir(parents=True, exist_ok=True)
    sprites = photos = 0
    for kind, pictures in (("stamp", stamp_pictures(root)), ("emoji", emoji_pictures(root))):
        for number, picture in enumerate(tqdm(pictures, desc=kind, unit="picture")):
            sprite = cut_to_alpha(picture)
            if sprite is not None:
                cv2.imwrite(str(bank / "sprites" / f"{kind}_{number:05d}.png"), sprite)
                sprites += 1
    for number, picture in enumerate(tqdm(background_pictures(root), desc="photo", unit="picture")):
        cv2.imwrite(str(bank / "photos" / f"{number:05d}.jpg"), picture, [cv2.IMWRITE_JPEG_QUALITY, 92])
        photos += 1
    return sprites, photos


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bank", type=Path, help="folder to write the bank to")
    parser.add_argument("--unpacked", type=Path, help="folder with the packages already unpacked")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = args.unpacked or Path(scratch)
        if args.unpacked is None:
            unpack_packages(root)
        sprites, photos = build_bank(root, args.bank)
    print(f"{args.bank}: {sprites} sprites, {photos} photographs")
    return 0 if sprites and photos else 1


if __name__ == "__main__":
    raise SystemExit(main())
