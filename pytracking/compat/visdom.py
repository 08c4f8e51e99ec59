"""A stand-in for pytracking's Visdom, which this project does not use."""
from typing import Any

from ltr.errors import UserError
from pytracking.cli.tracker_options import VISDOM


class Visdom:
    """Raises a UserError that names the alternatives."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise UserError(VISDOM)
