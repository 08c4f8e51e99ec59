"""Downloads a file over HTTP: resumable, verified, and complete whenever it exists under its final name."""
import http.client
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ltr import files
from ltr.errors import UserError

BLOCK = 1 << 16


class DownloadError(UserError, OSError):
    """A download failed; the message says why."""


def download(
    url: str, target: Path, *, sha256: str | None = None, size: int | None = None, timeout: float = 30
) -> None:
    """Downloads ``url`` to ``target``; the next call continues an interrupted download from ``<target>.part``.

    Args:
        sha256: expected digest or its first digits.
        size: expected number of bytes.
        timeout: seconds without data after which to give up.

    Raises:
        DownloadError: no connection, a web page instead of a file, an interrupted transfer, or a different file.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        _transfer(url, part, timeout)
    except urllib.error.HTTPError as error:
        raise DownloadError(f"{url} answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise DownloadError(f"no connection to {url} ({error.reason})") from error
    except (TimeoutError, ConnectionError) as error:
        raise DownloadError(f"the connection to {url} broke ({error}); call again to continue") from error
    _verify(url, part, sha256, size)
    os.replace(part, target)


def _transfer(url: str, part: Path, timeout: float) -> None:
    present = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "python"})
    if present:
        request.add_header("Range", f"bytes={present}-")
    try:
        answer = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == 416 and present:  # the part is already complete
            return
        raise
    with answer:
        if "text/html" in answer.headers.get("Content-Type", ""):
            raise DownloadError(f"{url} answered with a web page instead of the file")
        resumed = answer.status == 206
        announced = answer.headers.get("Content-Length")
        total = int(announced) + (present if resumed else 0) if announced else None
        with (
            files.naming(part),
            open(part, "ab" if resumed else "wb") as file,
            tqdm(total=total, initial=present if resumed else 0, unit="B", unit_scale=True, desc=part.stem) as bar,
        ):
            while block := _read(answer):
                file.write(block)
                bar.update(len(block))
        if total is not None and part.stat().st_size < total:
            raise ConnectionError(f"{part.stat().st_size} of {total} bytes arrived")


def _read(answer: Any) -> bytes:
    try:
        return answer.read(BLOCK)
    except (OSError, http.client.HTTPException) as error:  # keep network errors apart from disk errors
        raise ConnectionError(error) from error


def _verify(url: str, part: Path, sha256: str | None, size: int | None) -> None:
    digest = files.sha256(part)
    with open(part, "rb") as file:
        start = file.read(512)
    if files.is_web_page(start):
        problem = "answered with a web page instead of the file"
    elif size is not None and part.stat().st_size != size:
        problem = f"gave {part.stat().st_size} bytes instead of {size}"
    elif sha256 is not None and not digest.startswith(sha256):
        problem = f"gave a file with sha256 {digest} instead of {sha256}"
    else:
        return
    part.unlink()  # the next call must not continue from a wrong file
    raise DownloadError(f"{url} {problem}; nothing was kept")
