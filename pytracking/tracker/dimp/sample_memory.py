"""The fixed-size set of training samples for the online learner."""
import torch

from ltr.errors import UserError


class SampleMemory:
    """Features (n, C, H, W), boxes (n, 4) and weights of the first frame's samples and the heaviest later ones.

    A new sample is ``1 / (1 - learning_rate)`` times as heavy as the previous one, and weights are normalised to sum 1
    (but see `_weigh`), so old samples fade. A full memory replaces its lightest sample, but none of the first frame's
    if these have a minimum weight.

    Args:
        learning_rate: weight of a new sample, unless passed to `add`.
        init_samples_minimum_weight: minimum total weight of the first frame's samples; 0 for no minimum.
    """

    def __init__(
        self,
        features: torch.Tensor,
        boxes: torch.Tensor,
        *,
        size: int,
        learning_rate: float,
        init_samples_minimum_weight: float = 0.0,
    ) -> None:
        self.size = size
        self.num_init = min(len(features), size)
        self.num_stored = self.num_init
        self.learning_rate = learning_rate
        self.init_minimum = init_samples_minimum_weight
        self._last_index: int | None = None
        # Channels last: learning from all samples is then one matrix product.
        self._features = features.new_zeros(size, *features.shape[1:]).contiguous(memory_format=torch.channels_last)
        self._features[: self.num_init] = features[: self.num_init]
        self._boxes = boxes.new_zeros(size, 4)
        self._boxes[: self.num_init] = boxes[: self.num_init]
        self._weights = torch.zeros(size)  # on the CPU: few numbers, accessed one by one
        self._weights[: self.num_init] = 1 / self.num_init

    @property
    def features(self) -> torch.Tensor:
        """(num_stored, C, H, W)."""
        return self._features[: self.num_stored]

    @property
    def boxes(self) -> torch.Tensor:
        """(num_stored, 4)."""
        return self._boxes[: self.num_stored]

    @property
    def weights(self) -> torch.Tensor:
        """(num_stored,), sum 1."""
        return self._weights[: self.num_stored].to(self._features)

    def add(self, feature: torch.Tensor, box: torch.Tensor, learning_rate: float | None = None) -> int:
        """Stores one sample (1, C, H, W) with its box (4,) and returns its index."""
        index = self._place()
        self._weigh(index, self.learning_rate if learning_rate is None else learning_rate)
        self._features[index : index + 1] = feature
        self._boxes[index] = box
        self.num_stored = max(self.num_stored, index + 1)
        self._last_index = index
        return index

    def _place(self) -> int:
        if self.num_stored < self.size:
            return self.num_stored
        first = self.num_init if self.init_minimum > 0 else 0
        if first == self.size:
            raise UserError(f"the first frame's samples fill the sample memory of {first}: make it larger")
        return first + int(self._weights[first:].argmin())

    def _weigh(self, index: int, learning_rate: float) -> None:
        weights = self._weights
        if self._last_index is None:
            weights /= 1 - learning_rate
            weights[index] = learning_rate
        else:
            weights[index] = weights[self._last_index] / (1 - learning_rate)
        weights /= weights.sum()
        # As published: raising the first samples to their minimum leaves the sum slightly above 1 until the next call.
        if self.init_minimum > 0 and weights[: self.num_init].sum() < self.init_minimum:
            weights /= self.init_minimum + weights[self.num_init :].sum()
            weights[: self.num_init] = self.init_minimum / self.num_init
