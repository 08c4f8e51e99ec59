"""What the server may do, and how much of it."""
from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

VIDEO_SUFFIXES = (".mp4", ".avi", ".mkv", ".mov", ".webm", ".m4v", ".mpg", ".mpeg")
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class SettingsError(ValueError):
    """A way of starting the server that is not allowed; the message says what to do instead."""


@dataclass(frozen=True, kw_only=True)
class WebSettings:
    """A host that other machines can reach always has a token: there is no way to leave it open."""

    uploads: Path  # for uploaded videos, frames and downloads; emptied when the server ends
    folders: tuple[Path, ...] = ()  # whose videos are offered
    host: str = "127.0.0.1"
    port: int = 8000
    allow_remote: bool = False  # whether a host other than loopback may be used
    names: tuple[str, ...] = ()  # further names under which a remote server is reached
    token: str | None = None  # asked of every request; a random one for a remote host that was given none
    demo: bool = True  # offer the demo dataset's sequences
    max_upload_bytes: int = 512 * 2**20
    max_uploads: int = 20  # the oldest that is not being tracked is removed first
    max_sessions: int = 4  # videos tracked at the same time
    max_results: int = 40  # finished runs kept for download
    frame_bytes: int = 4 * 2**30  # of frames of all runs, on disk; each running session gets an equal part
    max_frames: int = 1_000_000  # of a run; only a camera comes this far
    idle_seconds: float = 900.0  # a session that nobody steers ends
    frames_in_flight: int = 4  # sent but not yet drawn by the page
    default_tracker: str = "rls_dimp/default"
    trackers: tuple[str, ...] = ()  # tracker/parameter pairs that are offered; none: all that exist

    def __post_init__(self) -> None:
        for folder in self.folders:
            if not Path(folder).is_dir():
                raise SettingsError(f"{folder}: no such folder")
        if is_loopback(self.host):
            return
        if not self.allow_remote:
            raise SettingsError(
                f"--host {self.host} lets other machines in; add --allow-remote if that is what you want "
                "(a token is then asked of everybody)"
            )
        if not self.token:
            object.__setattr__(self, "token", secrets.token_urlsafe(18))

    @property
    def max_upload_total(self) -> int:
        """Bytes of all uploads together."""
        return 4 * self.max_upload_bytes

    @property
    def run_bytes(self) -> int:
        """Bytes of frames that one run may keep."""
        return max(2**20, self.frame_bytes // self.max_sessions)

    def allowed_hosts(self) -> frozenset[str]:
        """Names in requests' Host header that this server answers to, without the port."""
        names = set(LOOPBACK_NAMES) | {name.lower() for name in self.names}
        if not is_loopback(self.host):
            names |= _own_names() | {self.host.lower()}
        return frozenset(names)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _own_names() -> set[str]:
    name = socket.gethostname().lower()
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
    except OSError:  # a name that nobody resolves
        addresses = set()
    brackets = {f"[{address}]" if ":" in address else address for address in addresses}
    return {name, socket.getfqdn().lower(), *brackets}
