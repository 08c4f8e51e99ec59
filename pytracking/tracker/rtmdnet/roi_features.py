"""Features of many boxes of one frame: the convolutions run once per scene, then all its boxes are sampled together."""
import numpy as np
import torch
from torch import Tensor

from ltr.models.tracking.mdnet import MDNet
from pytracking.tracker.rtmdnet.scene import SceneGeometry, Scenes, crop_scenes, regions_in_scenes

# Of 7 x 7 cells before pooling: 50 MiB with 512 channels, and as much again for each step of sampling.
REGIONS_AT_ONCE = 512


class RoIFeatures:
    """Turns boxes into feature rows for the classifier and the box regressor.

    Args:
        network: provides convolutions and RoI sampling; its last layers are not used.
        geometry: converts boxes to regions of a scene.
        scenes_per_batch: number of replica-sized scenes per pass through the convolutions; fewer if they are larger.
    """

    def __init__(self, network: MDNet, geometry: SceneGeometry, scenes_per_batch: int) -> None:
        self.network = network
        self.geometry = geometry
        self.scenes_per_batch = scenes_per_batch
        self.device = next(network.parameters()).device

    def image(self, frame: np.ndarray) -> Tensor:
        """A frame (h, w, 3), RGB uint8, as a float tensor (3, h, w) on the network's device."""
        return torch.from_numpy(np.ascontiguousarray(frame)).to(self.device).permute(2, 0, 1).float()

    @torch.no_grad()
    def extract(
        self, image: Tensor, scenes: Scenes, samples: np.ndarray, owner: np.ndarray, out: Tensor | None = None
    ) -> Tensor:
        """Features (n, d) of samples (n, 4), written to ``out`` if given; ``owner`` (n,) holds scene numbers."""
        regions = regions_in_scenes(samples, owner, scenes, self.geometry)
        features = self.rows(len(samples)) if out is None else out
        for part in self._batches(scenes):
            wanted = np.flatnonzero(np.isin(owner, part))
            if not wanted.size:
                continue
            crop_size = int(scenes.crop_sizes[part[0], 0]), int(scenes.crop_sizes[part[0], 1])
            crops = crop_scenes(image, scenes.boxes[part], crop_size)
            maps = self.network.feature_map(self.network.normalise(crops))
            local = regions[wanted]
            local[:, 0] = np.searchsorted(part, owner[wanted])
            rois = torch.from_numpy(local).to(device=self.device, dtype=torch.float32)
            places = torch.from_numpy(wanted).to(self.device)
            for place, roi in zip(places.split(REGIONS_AT_ONCE), rois.split(REGIONS_AT_ONCE), strict=True):
                features[place] = self.network.roi_features(maps, roi)
        return features

    def rows(self, count: int) -> Tensor:
        """Uninitialised feature rows (count, d)."""
        return torch.empty((count, self.network.feature_size), device=self.device)

    def _batches(self, scenes: Scenes) -> list[np.ndarray]:
        batches = []
        for group in scenes.same_size_groups():
            area = int(scenes.crop_sizes[group[0]].prod())
            size = max(self.scenes_per_batch * self.geometry.replica_side**2 // area, 1)
            batches += [group[start : start + size] for start in range(0, len(group), size)]
        return batches
