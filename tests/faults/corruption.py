"""Random damage to files, the same for the same seed."""
from __future__ import annotations

import random


def corrupted(content: bytes, seed: int) -> bytes:
    """One of: flipped bytes, a cut, a piece removed, doubled, zeroed, moved, or replaced by noise."""
    choice = random.Random(seed)
    data = bytearray(content)
    start = choice.randrange(len(data))
    length = min(choice.choice((1, 2, 8, 64, 4096)), len(data) - start)
    piece = slice(start, start + length)
    kind = choice.choice(("flip", "flip", "cut", "remove", "double", "zero", "move", "noise", "header"))
    if kind == "flip":
        for _ in range(choice.choice((1, 1, 3, 30))):
            data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
    elif kind == "cut":
        del data[start:]
    elif kind == "remove":
        del data[piece]
    elif kind == "double":
        data[piece] = data[piece] * 2
    elif kind == "zero":
        data[piece] = bytes(length)
    elif kind == "move":
        moved = bytes(data[piece])
        del data[piece]
        place = choice.randrange(len(data) + 1)
        data[place:place] = moved
    elif kind == "noise":
        data[piece] = choice.randbytes(length)
    else:  # sizes and directories stand at both ends
        place = choice.choice((choice.randrange(min(512, len(data))), -1 - choice.randrange(min(4096, len(data)))))
        data[place] = choice.randrange(256)
    return bytes(data)
