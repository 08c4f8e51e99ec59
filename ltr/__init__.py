"""Networks, checkpoints, training and inference engines."""
from typing import Any


class MultiGPU:
    """pytracking's multi-GPU wrapper, not supported here: raises a UserError that names the replacement."""

    def __init__(self, *args: Any, **options: Any) -> None:
        from ltr.errors import UserError

        raise UserError("MultiGPU: start the training with torchrun instead, one process per GPU (docs/training.md)")
