"""The demonstration of docs/rls.md holds for any seed, and draws its figure."""
import pytest

from benchmarks import rls_drift


@pytest.mark.parametrize("seed", range(4))
def test_the_window_forgets_and_rls_does_not(seed):
    curves = rls_drift.run(seed, leg=100)
    learned, away, back = 99, 299, 399
    assert curves.old_window[learned] < 0.1 and curves.old_rls[learned] < 0.05  # both knew it
    assert curves.old_window[away] > 0.3  # forgotten
    assert curves.old_rls[away] < 0.05  # remembered
    assert curves.now_rls[away] < 0.1  # and the new inputs learned as well
    assert curves.old_rls[back] <= curves.old_rls[learned]


def test_the_figure_shows_the_curves(tmp_path, saved_figures):
    curves = rls_drift.run(0, leg=20)
    rls_drift.plot(curves, tmp_path / "drift.png")
    assert (tmp_path / "drift.png").is_file()
    (figure,) = saved_figures
    drawn = [line.get_ydata().tolist() for panel in figure.axes for line in panel.lines]
    assert drawn == [list(curve) for curve in (curves.old_window, curves.old_rls, curves.now_window, curves.now_rls)]
