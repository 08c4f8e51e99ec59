"""The first frame's training samples: augmentations of one patch."""
from dataclasses import dataclass

import numpy as np
import torch

from pytracking.features import augmentation as aug
from pytracking.features.crop import sample_patch
from pytracking.tracker.dimp.geometry import PatchFrame, TargetState
from pytracking.tracker.dimp.params import AugmentationParams, DimpParams


@dataclass(frozen=True, slots=True)
class FirstFrameSamples:
    """Patches of the first frame and the target's boxes in them; the first patch is not augmented."""

    patches: torch.Tensor  # (n, 3, h, w) 0..255
    boxes: torch.Tensor  # (n, 4) x y w h in patch pixels


def plan_augmentations(
    params: AugmentationParams, patch_size: np.ndarray, random_shift_factor: float, generator: torch.Generator
) -> list[aug.Augmentation]:
    """Lists the augmentations of the image (not dropout, which acts on features) in the order of the samples."""

    def random_shift() -> tuple[int, int]:
        shift = (torch.rand(2, generator=generator).numpy() - 0.5) * patch_size * random_shift_factor
        return int(shift[0]), int(shift[1])

    plan = [aug.Augmentation(aug.identity)]
    for shift in params.relative_shifts:
        y, x = (int(part * side / 2) for part, side in zip(shift, patch_size, strict=True))
        plan.append(aug.Augmentation(aug.identity, (y, x)))
    if params.flip_horizontal:
        plan.append(aug.Augmentation(aug.flip_horizontal, random_shift()))
    plan += [aug.Augmentation(aug.blur(sigma), random_shift()) for sigma in params.blurs]
    plan += [aug.Augmentation(aug.rotate(degrees), random_shift()) for degrees in params.rotations]
    return plan


def sample_first_frame(
    image: np.ndarray,
    state: TargetState,
    params: DimpParams,
    generator: torch.Generator,
    device: torch.device,
    patch_size: np.ndarray | None = None,
    cut_at: np.ndarray | None = None,
) -> FirstFrameSamples:
    """Cuts a wide patch around the target and makes all samples from it.

    Args:
        patch_size: (h, w) of the samples; None: the parameters' image_sample_size.
        cut_at: centre of the wide patch in the frame; None: the pixel nearest to the target's position. The boxes
            refer to that pixel in either case.
    """
    if patch_size is None:
        patch_size = np.full(2, params.image_sample_size)
    plan = plan_augmentations(params.augmentation, patch_size, params.random_shift_factor, generator)
    center = np.round(state.pos)
    scale, inside_shift = _stay_inside(state, patch_size, params)
    wide_size = np.trunc(patch_size * params.augmentation_expansion_factor).astype(int)
    wide_size += (wide_size - patch_size) % 2  # the patch must sit in the middle of the wide one
    where = center if cut_at is None else cut_at
    wide, crop = sample_patch(image, where, scale, wide_size, convention=params.crop_convention, device=device)
    if params.crop_convention == "exact":
        center, scale = crop.center, crop.scale(wide_size)
    box = PatchFrame(center, scale, patch_size).box_in_patch(state.pos, state.size)
    patches, boxes = [], []
    for augmentation in plan:
        shift = tuple(a + b for a, b in zip(augmentation.shift, inside_shift, strict=True))
        patches.append(aug.Augmentation(augmentation.warp, shift)(wide, tuple(patch_size.tolist())))
        boxes.append(box + np.array([shift[1], shift[0], 0, 0]))
    return FirstFrameSamples(torch.cat(patches), torch.tensor(np.array(boxes), dtype=torch.float32, device=device))


def _stay_inside(state: TargetState, patch_size: np.ndarray, params: DimpParams) -> tuple[float, tuple[int, int]]:
    """Scale and shift (y, x) in patch pixels that keep the first patch inside the frame, for the mode ``inside``.

    As published, ``inside_major`` only affects later patches.
    """
    if params.border_mode != "inside":
        return state.scale, (0, 0)
    shrink = (state.scale * patch_size / state.image_size).max()
    scale = state.scale / float(np.clip(shrink, 1, params.patch_max_scale_change or np.inf))
    size = scale * patch_size
    missing_before = np.maximum((size - 1) / 2 - state.pos, 0)
    missing_after = np.maximum(state.pos + size / 2 + 1 - state.image_size, 0)
    return scale, tuple(int(n) for n in (missing_after - missing_before) / scale)


def with_dropout(
    features: torch.Tensor, boxes: torch.Tensor, augmentation: AugmentationParams, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Appends copies of the first sample with dropped channels to the samples, and their boxes to the boxes."""
    count = augmentation.dropout_copies
    if not count:
        return features, boxes
    copies = aug.dropout_copies(features[:1], count, augmentation.dropout_probability, generator)
    return torch.cat([features, copies]), torch.cat([boxes, boxes[:1].expand(count, 4)])
