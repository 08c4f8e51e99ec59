"""What the server may do, and how much of it."""
from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from pathlib import Path

VIDEO_SUFFIXES = (".mp4", ".avi", ".mkv", ".mov", ".webm", ".m4v", ".mpg", ".mpeg")


class SettingsError(ValueError):
    """A way of starting the server that is not allowed; the message says what to do instead."""


@dataclass(frozen=True, kw_only=True)
class WebSettings:
    uploads: Path  # for uploaded videos and finished results; emptied when the server ends
    folders: tuple[Path, ...] = ()  # whose videos are offered
    host: str = "127.0.0.1"
    port: int = 8000
    allow_remote: bool = False  # whether a host other than loopback may be used
    token: str | None = None  # asked of every request; required for a remote host
    demo: bool = True  # offer the demo dataset's sequences
    max_upload_bytes: int = 512 * 2**20
    max_uploads: int = 20  # the oldest is removed first
    max_sessions: int = 4  # videos tracked at the same time
    max_results: int = 40  # finished runs kept for download
    idle_seconds: float = 900.0  # a session that nobody steers ends
    frames_in_flight: int = 4  # sent but not yet drawn by the page
    default_tracker: str = "rls_dimp/default"
    trackers: tuple[str, ...] = field(default=())  # tracker/parameter pairs that are offered; none: all that exist

    def __post_init__(self) -> None:
        for folder in self.folders:
            if not Path(folder).is_dir():
                raise SettingsError(f"{folder}: no such folder")
        if not is_loopback(self.host) and not self.allow_remote:
            raise SettingsError(
                f"--host {self.host} lets other machines in; add --allow-remote if that is what you want "
                "(a token is then asked of everybody)"
            )

    def with_token(self) -> WebSettings:
        """The same settings with a random token where one is needed and none was given."""
        if is_loopback(self.host) or self.token:
            return self
        from dataclasses import replace

        return replace(self, token=secrets.token_urlsafe(18))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
