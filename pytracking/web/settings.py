"""What the server may do, and how much of it."""
from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ltr.errors import UserError
from pytracking.video.limited_source import DecoderLimits

VIDEO_SUFFIXES = (".mp4", ".avi", ".mkv", ".mov", ".webm", ".m4v", ".mpg", ".mpeg")
SHORTEST_TOKEN = 16  # characters
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class SettingsError(UserError):
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
    token: str | None = None  # that every request must carry; a random one for a remote host that was given none
    demo: bool = True  # offer the demo dataset's sequences
    max_upload_bytes: int = 512 * 2**20
    max_uploads: int = 20  # the client's own oldest that is not being tracked is removed first
    min_free_bytes: int = 2**28  # of the disk, left alone by uploads
    upload_keep_seconds: float = 3600.0  # one that nobody looked at for this long may make room for somebody else's
    upload_stall_seconds: float = 60.0  # one that brings nothing for this long is given up
    decoder: DecoderLimits = DecoderLimits()  # what decoding one video may take
    max_sessions: int = 8  # videos tracked at the same time
    max_pages: int = 64  # open connections of pages
    max_results: int = 40  # finished runs kept for download
    frame_bytes: int = 4 * 2**30  # of frames of all runs, on disk
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
                "(everybody then needs a token)"
            )
        if self.token and len(self.token) < SHORTEST_TOKEN:
            raise SettingsError(f"--token: {len(self.token)} characters can be guessed; give {SHORTEST_TOKEN} or more")
        if not self.token:
            object.__setattr__(self, "token", secrets.token_urlsafe(18))

    @property
    def max_upload_total(self) -> int:
        """Bytes of all uploads together."""
        return 4 * self.max_upload_bytes

    def run_bytes(self, taken: Sequence[int]) -> int:
        """Bytes of frames for one more run besides those ``taken``: a quarter of all, if enough is left for others."""
        others = self.max_sessions - len(taken) - 1
        left = self.frame_bytes - sum(taken) - others * self.frame_bytes // (2 * self.max_sessions)
        return max(2**20, min(self.frame_bytes // 4, left))

    def per_client(self, limit: int) -> int:
        """The part of a limit that one client may take: all of it on this machine, half of it elsewhere."""
        return limit if is_loopback(self.host) else max(1, limit // 2)

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
