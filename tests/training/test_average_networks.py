"""The mean of several trainings of one network."""
from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ltr.average_networks import average, main
from ltr.checkpoint import read_checkpoint, save_checkpoint
from ltr.errors import UserError
from ltr.train_settings.dimp import dimp_mobile

CONSTRUCTOR = {"function": "ltr.models.tracking.dimpnet.dimpnet_mobile", "kwargs": {"width": 0.35}}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "first.pth", tmp_path / "second.pth"]
    for number, path in enumerate(paths):
        net = {"weight": torch.tensor([1.0, 4.0]) * (number + 1), "count": torch.tensor(number)}
        save_checkpoint(path, net, CONSTRUCTOR, {"tracker": {"train_skipping": number}, "seed": number})
    return paths


def test_weights_are_averaged_and_the_rest_is_the_last_files(files: list[Path], tmp_path: Path) -> None:
    assert main([*map(str, files), "--output", str(tmp_path / "mean.pth")]) == 0
    mean = read_checkpoint(tmp_path / "mean.pth")
    torch.testing.assert_close(mean.net["weight"], torch.tensor([1.5, 6.0]))
    assert mean.net["count"] == 1 and mean.constructor == CONSTRUCTOR
    assert mean.metadata["tracker"] == {"train_skipping": 1} and len(set(mean.metadata["averaged"])) == 2


def test_a_setting_gives_the_recommendations(files: list[Path], tmp_path: Path) -> None:
    main([str(files[0]), "--output", str(tmp_path / "mean.pth"), "--setting", "dimp.dimp_mobile"])
    assert read_checkpoint(tmp_path / "mean.pth").metadata["tracker"] == dimp_mobile.TRACKER


def test_networks_of_different_kinds_are_refused(files: list[Path], tmp_path: Path, capsys) -> None:
    save_checkpoint(tmp_path / "other.pth", {"weight": torch.ones(2)}, {**CONSTRUCTOR, "kwargs": {}})
    with pytest.raises(UserError, match="other.pth.*constructors differ"):
        average([tmp_path / "other.pth", files[1]])
    save_checkpoint(tmp_path / "short.pth", {"weight": torch.ones(3)}, CONSTRUCTOR)
    with pytest.raises(SystemExit):
        main([str(tmp_path / "short.pth"), str(files[1]), "--output", str(tmp_path / "mean.pth")])
    assert "short.pth" in capsys.readouterr().err and not (tmp_path / "mean.pth").exists()


def test_wrong_arguments_are_named(files: list[Path], tmp_path: Path, capsys) -> None:
    for wrong in ([str(tmp_path / "absent.pth")], [str(files[0]), "--setting", "dimp.nothing"]):
        with pytest.raises(SystemExit):
            main([*wrong, "--output", str(tmp_path / "mean.pth")])
        assert wrong[-1] in capsys.readouterr().err and not (tmp_path / "mean.pth").exists()


def test_weights_too_large_for_16_bits_are_an_error_message(tmp_path: Path, capsys) -> None:
    save_checkpoint(tmp_path / "large.pth", {"weight": torch.tensor([1e9])}, CONSTRUCTOR)
    with pytest.raises(SystemExit):
        main([str(tmp_path / "large.pth"), "--output", str(tmp_path / "mean.pth")])
    assert "16 bits" in capsys.readouterr().err and not (tmp_path / "mean.pth").exists()


def test_the_shipped_network_recommends_what_its_setting_says() -> None:
    shipped = Path(dimp_mobile.__file__).parents[2] / "bundled" / "dimp_mobile.pth"
    assert read_checkpoint(shipped).metadata["tracker"] == dimp_mobile.TRACKER
