"""A stand-in for pytracking's Visdom, which this project does not use."""
from typing import Any

from ltr.errors import UserError

MESSAGE = (
    "Visdom is not used here. --debug writes a tracker's views to files, and `pytracking serve` shows boxes, score "
    "maps and the learner's numbers in the browser while a video is tracked"
)


class Visdom:
    """Raises a UserError that names the alternatives."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise UserError(MESSAGE)
