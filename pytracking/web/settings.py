"""Settings and limits of the server."""
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
    """Settings that are not allowed; the message says what to do instead."""


@dataclass(frozen=True, kw_only=True)
class WebSettings:
    """Settings of the server. A host that other machines can reach always gets a token."""

    uploads: Path  # folder for uploaded videos, frames and downloads; emptied when the server ends
    folders: tuple[Path, ...] = ()  # folders whose videos are offered
    host: str = "127.0.0.1"
    port: int = 8000
    allow_remote: bool = False  # whether a host other than loopback may be used
    names: tuple[str, ...] = ()  # additional names under which a remote server is reached
    token: str | None = None  # required in every request; if None, a remote host gets a random one
    demo: bool = True  # offer the demo dataset's sequences
    max_upload_bytes: int = 512 * 2**20  # all uploads together may have four times this
    max_uploads: int = 20  # beyond this the client's own oldest upload that is not being tracked is removed
    min_free_bytes: int = 2**28  # disk space that uploads leave free
    upload_keep_seconds: float = 3600.0  # uploads unused for this long may be removed for another client's
    upload_stall_seconds: float = 60.0  # uploads that receive nothing for this long are aborted
    decoder: DecoderLimits = DecoderLimits()  # limits for decoding one video
    max_sessions: int = 8  # videos tracked at the same time
    max_pages: int = 64  # open connections
    max_results: int = 40  # finished runs kept for download
    frame_bytes: int = 4 * 2**30  # disk space for the frames of all runs
    max_frames: int = 1_000_000  # per run; only a camera reaches this
    idle_seconds: float = 900.0  # sessions without a message from the page end after this
    frames_in_flight: int = 4  # frames sent but not yet drawn by the page
    default_tracker: str = "rls_dimp/default"
    trackers: tuple[str, ...] = ()  # tracker/parameter pairs on offer; empty means all

    def __post_init__(self) -> None:
        for folder in self.folders:
            if not Path(folder).is_dir():
                raise SettingsError(f"{folder}: no such folder")
        if is_loopback(self.host):
            return
        if not self.allow_remote:
            raise SettingsError(
                f"--host {self.host} opens the server to other machines; add --allow-remote if you want this "
                "(everyone then needs a token)"
            )
        if self.token and len(self.token) < SHORTEST_TOKEN:
            raise SettingsError(f"--token: {len(self.token)} characters can be guessed; use {SHORTEST_TOKEN} or more")
        if not self.token:
            object.__setattr__(self, "token", secrets.token_urlsafe(18))

    def run_bytes(self, reserved: Sequence[int]) -> int:
        """Returns the quota in bytes for the frames of a new run, next to those ``reserved`` by running ones.

        It is a quarter of the total, or less if not enough would be left for further sessions.
        """
        further = self.max_sessions - len(reserved) - 1
        available = self.frame_bytes - sum(reserved) - further * self.frame_bytes // (2 * self.max_sessions)
        return max(2**20, min(self.frame_bytes // 4, available))

    def per_client(self, limit: int) -> int:
        """Returns the share of a limit for one client: all of it on a loopback host, otherwise half."""
        return limit if is_loopback(self.host) else max(1, limit // 2)

    def allowed_hosts(self) -> frozenset[str]:
        """Returns the names accepted in requests' Host header, without the port."""
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
    except OSError:  # the name does not resolve
        addresses = set()
    brackets = {f"[{address}]" if ":" in address else address for address in addresses}
    return {name, socket.getfqdn().lower(), *brackets}
