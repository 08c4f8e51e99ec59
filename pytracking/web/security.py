"""Access control: checks host, origin and token of every request, and sets the security headers of every answer."""
import hmac
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pytracking.web.settings import is_loopback

TOKEN_COOKIE = "pytracking_token"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(self), microphone=(), geolocation=()",
}


class Gate:
    """Admits requests for its own host names, from its own pages and, if a token is set, with that token.

    The token is given as ``?token=`` first and as a cookie afterwards.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], token: str | None) -> None:
        self._app, self._hosts, self._token = app, frozenset(hosts), token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers()]
            await send(message)

        connection = HTTPConnection(scope)
        refusal = self._refusal(connection)
        if refusal is not None and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4403})
        elif refusal is not None:
            await PlainTextResponse(refusal[1] + "\n", refusal[0], HEADERS)(scope, receive, send)
        elif self._token is not None and scope.get("method") == "GET" and "token" in connection.query_params:
            # the cookie replaces the token in the address, where others might see it
            await RedirectResponse(scope["path"], 303)(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)

    def _refusal(self, connection: HTTPConnection) -> tuple[int, str] | None:
        host = connection.headers.get("host", "").lower()
        # against DNS rebinding: another site's page must not reach this server by a name of its own
        if re.sub(r":\d+$", "", host) not in self._hosts:
            return 400, "this server was not started for this host name"
        if self._token is None and not is_loopback(client_of(connection)):
            # other machines always need a token, however the server was started
            return 403, "this server is for its own machine only"
        scope = connection.scope
        reads = scope["type"] == "http" and scope["method"] in SAFE_METHODS
        is_page = reads and not scope["path"].startswith("/api/")  # links on other sites may open it
        if not is_page and not _from_own_page(connection, host):
            return 403, "this request comes from a page of another site"
        if self._token is not None:
            given = connection.query_params.get("token") or connection.cookies.get(TOKEN_COOKIE, "")
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                return 403, "this server requires the token that it printed at the start"
        return None

    def _headers(self) -> list[tuple[bytes, bytes]]:
        headers = dict(HEADERS)
        if self._token is not None:
            headers["set-cookie"] = f"{TOKEN_COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
        return [(name.encode(), value.encode()) for name, value in headers.items()]


def client_of(connection: HTTPConnection) -> str:
    """Returns the client's address, by which quotas are counted."""
    return connection.client.host if connection.client else ""


def _from_own_page(connection: HTTPConnection, host: str) -> bool:
    """Whether a request comes from our own page; browsers name the origin, and programs that name none are no page."""
    origin = connection.headers.get("origin")
    if origin is not None:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host
    return connection.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def without_paths(text: str, known: dict[Path, str] | None = None) -> str:
    """Prepares a message for the page: replaces ``known`` paths by their names and cuts out all other folders."""
    for path, name in (known or {}).items():
        text = text.replace(str(path), name)
    return re.sub(r"(?:\b[A-Za-z]:)?(?<![\w.])[/\\](?:[^\s'\"`:;,()/\\]+[/\\])*(?=[^\s/\\])", "", text)
