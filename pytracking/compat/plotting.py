"""Shows tensors in Matplotlib figures."""
from typing import Any

import numpy as np
from torch import Tensor


def draw_figure(fig: Any) -> None:
    """Redraws a figure's window, if it has one."""
    fig.canvas.draw_idle()
    fig.canvas.flush_events()


def show_tensor(
    a: Tensor,
    fig_num: int | None = None,
    title: str | None = None,
    range: tuple[float | None, float | None] = (None, None),
    ax: Any = None,
) -> None:
    """Shows a map as an image."""
    import matplotlib.pyplot as plt  # only debugging needs it

    values = np.asarray(a.detach().squeeze().cpu())
    axes = ax or plt.figure(fig_num, clear=True).gca()
    axes.imshow(values if values.ndim == 2 else values.transpose(1, 2, 0), vmin=range[0], vmax=range[1])
    axes.set_axis_off()
    if title is not None:
        axes.set_title(title)
    draw_figure(axes.figure)


def plot_graph(
    a: Tensor,
    fig_num: int | None = None,
    title: str | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    x_data: Any = None,
) -> None:
    """Plots numbers as a curve."""
    import matplotlib.pyplot as plt

    values = np.asarray(a.detach().squeeze().cpu())
    axes = plt.figure(fig_num, clear=True).gca()
    axes.plot(np.arange(values.size) if x_data is None else x_data, values)
    axes.set(title=title or "", xlabel=xlabel or "", ylabel=ylabel or "")
    draw_figure(axes.figure)


def overlay_mask(im: np.ndarray, ann: np.ndarray, alpha: float = 0.5) -> np.ndarray:
    """Returns a copy of the image, tinted where the mask is not 0."""
    tinted = im.astype(np.float64)
    tinted[np.asarray(ann) != 0] *= 1 - alpha
    tinted[np.asarray(ann) != 0] += alpha * np.array([255.0, 138.0, 61.0])
    return tinted.round().astype(im.dtype)
