"""Polygons to boxes, and numbers through the TraX protocol."""
import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytracking.vot_integration.regions import RegionError, box_from_region, on_the_wire, polygon_area

coordinate = st.floats(-500, 2000, width=32)


def rotated(cx, cy, w, h, angle):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return (np.array([[-w, -h], [w, -h], [w, h], [-w, h]]) / 2 @ turn.T + [cx, cy]).reshape(-1)


def test_rectangles_pass_unchanged():
    for conversion in ("union", "preserve_area"):
        assert box_from_region([3.5, 4, 10, 20], conversion).tolist() == [3.5, 4, 10, 20]


def test_union_is_the_smallest_box_around_the_corners():
    assert box_from_region([10, 0, 20, 10, 10, 20, 0, 10], "union").tolist() == [0, 0, 20, 20]


def test_preserve_area_by_hand():
    # A square on its tip: extent 20x20, area 200, so that the box shrinks by sqrt(1/2); plus one pixel each way.
    size = 20 * np.sqrt(0.5) + 1
    box = box_from_region([10, 0, 20, 10, 10, 20, 0, 10], "preserve_area")
    np.testing.assert_allclose(box, [10 - size / 2, 10 - size / 2, size, size], rtol=0, atol=1e-12)


@given(coordinate, coordinate, st.floats(2, 300), st.floats(2, 300), st.floats(0, 2 * np.pi))
def test_preserve_area_keeps_area_centre_and_shape(cx, cy, w, h, angle):
    corners = rotated(cx, cy, w, h, angle)
    x, y, width, height = box_from_region(corners, "preserve_area")
    np.testing.assert_allclose((width - 1) * (height - 1), w * h, rtol=1e-9)
    np.testing.assert_allclose([x + width / 2, y + height / 2], [cx, cy], atol=1e-6)
    union = box_from_region(corners, "union")
    np.testing.assert_allclose((width - 1) / (height - 1), union[2] / union[3], rtol=1e-9)


@given(coordinate, coordinate, st.floats(2, 300), st.floats(2, 300), st.floats(0, 2 * np.pi))
def test_area_of_four_corners_agrees_with_that_of_any_polygon(cx, cy, w, h, angle):
    corners = rotated(cx, cy, w, h, angle).reshape(-1, 2)
    # A fifth corner in the middle of an edge takes the other formula and changes nothing.
    five = np.vstack([corners, (corners[0] + corners[3]) / 2])
    np.testing.assert_allclose(polygon_area(five), polygon_area(corners), rtol=1e-6)


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ([1, 2, float("nan"), 4], "finite"),
        ([1, 2, 3, 4, 5], "5 numbers"),
        ([1, 1, 2, 1, 3, 1], "no area"),
    ],
)
def test_bad_regions_are_named(region, message):
    with pytest.raises(RegionError, match=message):
        box_from_region(region, "union")


def test_unknown_conversion_lists_the_known_ones():
    with pytest.raises(RegionError, match="preserve_area, union"):
        box_from_region([1, 2, 3, 4], "minimum")


@settings(max_examples=200)
@given(st.lists(st.floats(-3000, 3000), min_size=4, max_size=4))
def test_the_wire_rounds_as_libtrax_does(numbers):
    from trax import Rectangle
    from trax._ctypes import trax_region_decode, trax_region_encode
    from trax.region import Region

    region = Rectangle.create(*numbers)  # named, because libtrax frees it with the object
    encoded = ctypes.cast(trax_region_encode(region.reference), ctypes.c_char_p).value
    decoded = Region.wrap(ctypes.c_void_p(trax_region_decode(encoded)))
    assert on_the_wire(numbers) == list(decoded.bounds())
