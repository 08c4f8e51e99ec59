"""Local sequences become the toolkit's."""
from pathlib import Path

import numpy as np
import pytest

from pytracking.evaluation.sequence import Sequence, SequenceError
from pytracking.utils.image_io import read_image, write_image
from pytracking.vot_integration.sequences import find_sequences, from_dataset, write_sequences
from tests.vot import miniature


def loaded(folder: Path):
    from vot.dataset import load_dataset

    return load_dataset(str(folder))


def write_annotation(path: Path, rows) -> None:
    path.write_text("".join(",".join(f"{value:g}" for value in row) + "\n" for row in rows))


def numbers(region) -> list[float]:
    return [region.x, region.y, region.width, region.height]


def check(target: Path, frames: tuple[Path, ...], boxes) -> None:
    sequence = loaded(target)["seq0"]
    assert len(sequence) == len(frames)
    for index, frame in enumerate(frames):
        np.testing.assert_array_equal(read_image(sequence.frame(index).filename("color")), read_image(frame))
    for index, box in enumerate(boxes):
        assert numbers(sequence.groundtruth(index)) == box


def test_vot_layout_keeps_speed_and_tags(tmp_path):
    frames = miniature.write_frames(tmp_path / "in" / "seq0" / "color", 0, 4)
    boxes = [miniature.truth(0, frame) for frame in range(4)]
    write_annotation(tmp_path / "in" / "seq0" / "groundtruth.txt", boxes)
    (tmp_path / "in" / "seq0" / "sequence").write_text("name=seq0\nfps=7\n")
    (tmp_path / "in" / "seq0" / "occlusion.tag").write_text("0\n1\n0\n0\n")
    write_sequences(find_sequences(tmp_path / "in"), tmp_path / "out")
    check(tmp_path / "out", frames, boxes)
    sequence = loaded(tmp_path / "out")["seq0"]
    assert sequence.metadata("fps") == 7 and sequence.tags(1) == ["occlusion"] and not sequence.tags(2)


def test_old_vot_layout_with_polygons_and_a_list(tmp_path):
    polygons = [miniature.corners(miniature.truth(0, frame)) for frame in range(3)]
    for name in ("seq0", "seq1"):
        miniature.write_frames(tmp_path / "in" / name, 0, 3)
        write_annotation(tmp_path / "in" / name / "groundtruth.txt", polygons)
    (tmp_path / "in" / "list.txt").write_text("seq1\n")
    write_sequences(find_sequences(tmp_path / "in"), tmp_path / "out")
    dataset = loaded(tmp_path / "out")
    assert dataset.list() == ["seq1"]
    points = [number for point in dataset["seq1"].groundtruth(2).points() for number in point]
    np.testing.assert_allclose(points, polygons[2], atol=1e-4)


@pytest.mark.parametrize(("origin", "x", "y"), [(0, 11, 21), (1, 10, 20)])
def test_otb_layout_is_taken_as_written_unless_an_origin_is_stated(tmp_path, origin, x, y):
    frames = miniature.write_frames(tmp_path / "seq0" / "img", 0, 3)
    write_annotation(tmp_path / "seq0" / "groundtruth_rect.txt", [[11, 21, 16, 12]] * 3)
    write_sequences(find_sequences(tmp_path / "seq0", origin), tmp_path / "out")
    check(tmp_path / "out", frames, [[x, y, 16, 12]] * 3)


def test_an_origin_moves_all_corners_of_a_polygon(tmp_path):
    miniature.write_frames(tmp_path / "seq0" / "color", 0, 2)
    write_annotation(tmp_path / "seq0" / "groundtruth.txt", [[1, 2, 11, 2, 11, 12, 1, 12], [1, 2, 3, 4]])
    (source,) = find_sequences(tmp_path, origin=1)
    assert source.regions == ((0, 1, 10, 1, 10, 11, 0, 11), (0, 1, 3, 4))


def test_a_dataset_of_the_project(tmp_path):
    frames = miniature.write_frames(tmp_path / "frames", 0, 2)
    boxes = np.array([[1.5, 2, 3, 4], [5, 6, 7, 8]])
    write_sequences(from_dataset([Sequence("seq0", frames, "demo", boxes)]), tmp_path / "out")
    check(tmp_path / "out", frames, boxes.tolist())
    with pytest.raises(SequenceError, match="only the first box"):
        from_dataset([Sequence("seq0", frames, "demo", boxes[:1])])


def test_other_image_formats_are_converted(tmp_path):
    image = miniature.render(0, 0)
    write_image(tmp_path / "in" / "seq0" / "img" / "1.bmp", image)
    write_annotation(tmp_path / "in" / "seq0" / "groundtruth.txt", [[1, 2, 3, 4]])
    write_sequences(find_sequences(tmp_path / "in"), tmp_path / "out")
    np.testing.assert_array_equal(read_image(loaded(tmp_path / "out")["seq0"].frame(0).filename("color")), image)


@pytest.mark.parametrize(
    ("rows", "message"),
    [("1,2,3,4\n", "1 regions, but 2 images"), ("1,2,3\n1,2,3\n", "line 1: 3 numbers"), ("a,b,c,d\n", "line 1: not")],
)
def test_broken_annotations_are_named(tmp_path, rows, message):
    miniature.write_frames(tmp_path / "seq0" / "color", 0, 2)
    (tmp_path / "seq0" / "groundtruth.txt").write_text(rows)
    with pytest.raises(SequenceError, match=message) as error:
        find_sequences(tmp_path)
    assert "groundtruth.txt" in str(error.value)


def test_a_folder_without_sequences_shows_the_layouts(tmp_path):
    with pytest.raises(SequenceError, match="groundtruth_rect.txt"):
        find_sequences(tmp_path)
