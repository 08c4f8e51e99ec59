"""The demo sequences: figures, their motion and backgrounds. ``P`` converts pixels to q8."""
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytracking.demo.fixed_point import ONE, TICKS, TURN, path, wave
from pytracking.demo.renderer import Actor, Rendered, Scene, render

P = ONE  # one pixel
DIGESTS_FILE = Path(__file__).with_name("digests.json")  # written by ``python -m pytracking.demo``


@dataclass(frozen=True)
class Scenario:
    """One sequence."""

    name: str
    frames: int
    background: str
    object_class: str
    challenges: tuple[str, ...]
    scene: Callable[[int], Scene]  # of a time in 1/8 frame
    exposures: int = 1  # more than one gives motion blur


def _steps(time: int, period: int) -> int:
    """Phase of a gait with a period of ``period`` frames."""
    return time * TURN // (period * TICKS)


def beetle(t: int) -> Scene:
    scale = path(t, (0, 180), (60, 300), (110, 150), (160, 420), (200, 240))
    x = 160 * P + wave(t, 80 * P, 130) + wave(t, 14 * P, 37)
    y = 120 * P + wave(t, 45 * P, 90, 200)
    angle = path(t, (0, 0), (70, 220), (130, -160), (200, 300))
    target = Actor("beetle", x, y, scale, angle, _steps(t, 9))
    return Scene((wave(t, 60 * P, 170), wave(t, 40 * P, 140)), target)


def fish(t: int) -> Scene:
    x, y = 150 * P + wave(t, 95 * P, 150), 120 * P + wave(t, 55 * P, 80, 128)
    angle = wave(t, 70, 80, 384)
    target = Actor("fish", x, y, 250 + wave(t, 50, 120), angle, _steps(t, 14), ONE + wave(t, 60, 50), bend=5 * P)
    return Scene((t * P // 10, wave(t, 20 * P, 100)), target, drift=(-t * P // 6, t * P // 14))


def car(t: int) -> Scene:
    light = path(t, (0, 256), (45, 256), (75, 80), (115, 90), (140, 330), (175, 330), (200, 150), (220, 230))
    warm = path(t, (0, 0), (120, 0), (150, 60), (220, -20))
    target = Actor("car", 150 * P + wave(t, 60 * P, 160), 165 * P + wave(t, 3 * P, 11), 230 + wave(t, 40, 140))
    target.gait = _steps(t, 12)
    flicker = wave(t, path(t, (85, 0), (90, 22), (115, 22), (120, 0)), 3)
    gain = (light + warm + flicker, light + flicker, light - warm + flicker)
    return Scene((t * 3 * P // TICKS, 60 * P + wave(t, 8 * P, 60)), target, gain=gain, spotlight=wave(t, 200, 110))


def bird(t: int) -> Scene:
    x = 160 * P + wave(t, 70 * P, 34) + wave(t, 40 * P, 61, 300)
    y = 110 * P + wave(t, 50 * P, 27, 100)
    target = Actor("bird", x, y, 235 + wave(t, 50, 70), wave(t, 90, 34, 256), _steps(t, 8))
    return Scene((wave(t, 120 * P, 100), wave(t, 60 * P, 70)), target)


def runner(t: int) -> Scene:
    camera = t * 5 * P // (2 * TICKS), 100 * P
    x = 140 * P + wave(t, 40 * P, 120)
    target = Actor("runner", x, 130 * P + wave(t, 4 * P, 8), 250 + wave(t, 30, 100), wave(t, 20, 16), _steps(t, 16))
    posts = [Actor("pole", at * P - camera[0], 120 * P) for at in (230, 330, 360, 640)]
    posts.append(Actor("wall", 500 * P - camera[0], 120 * P))
    posts.append(Actor("bush", 420 * P - camera[0], 160 * P, 300))
    posts.append(Actor("bush", 590 * P - camera[0], 120 * P, 280, 100))
    return Scene(camera, target, front=posts)


def ball(t: int) -> Scene:
    x = path(t, (0, 100), (40, 220), (75, 372), (95, 372), (125, 230), (160, -50), (172, -50), (200, 140)) * P
    y = 130 * P + wave(t, 50 * P, 48, 256)
    target = Actor("ball", x, y, 260 + wave(t, 60, 90), path(t, (0, 0), (80, 1500), (200, -1800)))
    return Scene((wave(t, 50 * P, 120), wave(t, 30 * P, 90)), target)


def butterflies(t: int) -> Scene:
    def flight(name: str, phase: int, size: int) -> Actor:
        x = 160 * P + wave(t, 100 * P, 170, phase) + wave(t, 22 * P, 40, phase * 3)
        y = 120 * P + wave(t, 70 * P, 130, phase * 2) + wave(t, 12 * P, 31, phase)
        return Actor(name, x, y, size + wave(t, 24, 90, phase), wave(t, 120, 110, phase), _steps(t, 12) + phase)

    others = [flight("butterfly_pale", 300, 230), flight("butterfly", 610, 215), flight("butterfly_pale", 880, 250)]
    return Scene((wave(t, 30 * P, 150), t * P // 12), flight("butterfly", 0, 235), behind=others[:2], front=others[2:])


def lantern(t: int) -> Scene:
    x, y = 160 * P + wave(t, 75 * P, 140), 118 * P + wave(t, 40 * P, 95, 300)
    turn = path(t, (0, 256), (60, 620), (110, 240), (200, 1280))
    target = Actor("lantern", x, y, 210 + wave(t, 50, 110), wave(t, 110, 120), turn)
    return Scene((wave(t, 70 * P, 160), wave(t, 40 * P, 120)), target, spotlight=wave(t, 120, 80))


def drone(t: int) -> Scene:
    shake = wave(t, 10 * P, 7), wave(t, 8 * P, 9, 100)
    camera = wave(t, 170 * P, 140) + shake[0], wave(t, 90 * P, 100) + shake[1]
    x = 160 * P + wave(t, 60 * P, 75) - shake[0]
    y = 120 * P + wave(t, 45 * P, 58, 200) - shake[1]
    return Scene(camera, Actor("drone", x, y, path(t, (0, 190), (90, 120), (180, 210)), wave(t, 60, 50)))


def lantern_long(t: int) -> Scene:
    """Shows its pale side, then its dark side for long, hides, and returns pale next to a dark look-alike."""
    frame = t // TICKS
    turn = path(
        t, (0, 256), (150, 300), (230, 768), (420, 740), (560, 800), (760, 770), (805, 770), (830, 256), (960, 300),
        (1030, 768), (1120, 740), (1180, 256),
    )
    x = path(t, (0, 90), (120, 220), (260, 120), (400, 230), (520, 110), (640, 200), (740, 230), (790, 168))
    x = path(t, (790, x), (840, 152), (950, 90), (1060, 230), (1200, 150)) if frame >= 790 else x
    y = 118 * P + wave(t, 34 * P, 170) + wave(t, 8 * P, 41)
    target = Actor("lantern", x * P + wave(t, 10 * P, 60), y, 205 + wave(t, 45, 310), wave(t, 60, 200), turn)
    # the wall passes in front of the target around frame 815, the bushes around frames 330 and 620
    front = [
        Actor("wall", path(t, (770, 420), (800, 165), (832, 160), (865, -120)) * P, 120 * P),
        Actor("bush", path(t, (290, 400), (380, -90)) * P, 130 * P, 290),
        Actor("bush", path(t, (580, -90), (670, 420)) * P, 120 * P, 300, 200),
    ]
    other_x = path(t, (300, -60), (380, 60), (480, 250), (600, 290), (700, 90), (800, 60), (880, 240), (1000, 300))
    other_y = 130 * P + wave(t, 40 * P, 150, 500)
    other = Actor("lantern", other_x * P, other_y, 190, wave(t, 50, 130), 700 + wave(t, 90, 240))
    light = path(t, (0, 256), (480, 256), (540, 170), (720, 180), (800, 256), (1000, 300), (1200, 240))
    return Scene(
        (wave(t, 110 * P, 420), wave(t, 60 * P, 330)), target, behind=[other], front=front, gain=(light, light, light)
    )


SCENARIOS = (
    Scenario("beetle", 200, "wood", "beetle", ("scale change", "in-plane rotation", "deformation"), beetle),
    Scenario("fish", 200, "water", "fish", ("deformation", "moving background", "background clutter"), fish),
    Scenario("car", 220, "city", "car", ("illumination change", "camera motion"), car),
    Scenario("bird", 150, "forest", "bird", ("motion blur", "fast motion", "deformation"), bird, exposures=5),
    Scenario("runner", 240, "city", "person", ("partial occlusion", "full occlusion", "deformation"), runner),
    Scenario("ball", 200, "meadow", "ball", ("out of view", "in-plane rotation", "scale change"), ball),
    Scenario("butterflies", 240, "meadow", "butterfly", ("look-alike distractors", "deformation"), butterflies),
    Scenario("lantern", 200, "forest", "lantern", ("out-of-plane rotation", "illumination change"), lantern),
    Scenario("drone", 180, "crowd", "drone", ("low resolution", "camera motion", "background clutter"), drone),
    Scenario(
        "lantern_long",
        1200,
        "wood",
        "lantern",
        ("long term", "appearance returns", "full occlusion", "look-alike distractors", "out-of-plane rotation"),
        lantern_long,
    ),
)


def render_sequence(scenario: Scenario) -> Iterator[Rendered]:
    """Renders the frames of a sequence."""
    for frame in range(scenario.frames):
        yield render_frame(scenario, frame)


def render_frame(scenario: Scenario, frame: int) -> Rendered:
    """Renders one frame (0-based) of a sequence."""
    first = frame * TICKS - scenario.exposures // 2
    scenes = [scenario.scene(first + tick) for tick in range(scenario.exposures)]
    return render(scenario.background, 1000 + 10 * SCENARIOS.index(scenario), scenes, frame)


def digested(frame: Rendered) -> bytes:
    """Returns the pixels and annotation of a frame as bytes for its sequence's SHA-256."""
    return frame.image.tobytes() + f"{frame.box} {frame.visible}\n".encode()


def reference_digests() -> dict[str, str]:
    """Returns the reference SHA-256 of each sequence by name."""
    return json.loads(DIGESTS_FILE.read_text(encoding="utf-8"))


def version() -> str:
    """Returns a short id of the current state of all sequences."""
    return hashlib.sha256(DIGESTS_FILE.read_bytes()).hexdigest()[:8]
