"""The checks of ``pytracking doctor``, each by a real operation."""
from dataclasses import dataclass


@dataclass
class Finding:
    """What was found, and what to do about it."""

    ok: bool | None  # None: optional and absent
    subject: str
    state: str
    remedy: str = ""

    def __str__(self) -> str:
        mark = {True: "ok  ", False: "FAIL", None: "-   "}[self.ok]
        remedy = f"\n{'':>5}-> {self.remedy}" if self.remedy else ""
        return f"{mark} {self.subject:<22} {self.state}{remedy}"
