"""The guard: what every request must fulfil before a route sees it. Pure ASGI, so that streams and disconnects pass unchanged.

Host      one of the names under which the server is reached: a page of another site whose name leads to this machine is refused
Origin    if a browser names one: the same names; so no other site can make a visitor's browser send rows
token     compared in constant time; not asked on a loopback address without a token
body      at most so many bytes, uncompressed, within so many seconds
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from typing import Any

import msgspec

from onkel.errors import InputError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
OPEN = ("/healthz", "/readyz", "/", "/favicon.svg")  # without a token: nothing of a model is in them
OPEN_FOLDER = "/page/"  # the files of the page
PROTECTIVE = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
    ),
]


class TooLarge(InputError):
    """The body has too many bytes. Raised where a route reads it."""


class TooSlow(InputError):
    """The body has not come in time. Raised where a route reads it."""


@dataclass(frozen=True)
class Rules:
    token: str | None = None
    hosts: Collection[str] = LOOPBACK
    most_bytes: int = 1 << 24
    seconds: float = 30.0  # for a body to arrive


class Guard:
    def __init__(self, app: App, rules: Rules) -> None:
        self.app, self.rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if (refusal := self._refusal(scope["path"], headers)) is not None:
            await _refuse(send, *refusal)
            return

        async def protected(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *PROTECTIVE]
            await send(message)

        await self.app(scope, _Body(receive, self.rules), protected)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = _name(headers.get(b"host", b"").decode("latin-1"))
        if host not in self.rules.hosts:
            return (
                421,
                f"this server does not answer to the host {host[:100]!r}; start it with --allow-host {host[:100]} if that is right",
            )
        if (origin := headers.get(b"origin")) is not None and _name(
            origin.decode("latin-1").partition("://")[2]
        ) not in self.rules.hosts:
            return 403, "requests from the pages of other sites are not taken"
        needs_token = self.rules.token is not None and path not in OPEN and not path.startswith(OPEN_FOLDER)
        if needs_token and not self._has_token(headers.get(b"authorization", b"")):
            return 401, "the token is missing or wrong; send the header Authorization: Bearer TOKEN"
        if headers.get(b"content-encoding", b"identity") != b"identity":
            return 415, "a compressed body is not taken; send it as it is"
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.rules.most_bytes:
            return 413, _too_large(self.rules)
        return None

    def _has_token(self, given: bytes) -> bool:
        assert self.rules.token is not None
        return hmac.compare_digest(given, b"Bearer " + self.rules.token.encode())


class _Body:
    """Receives a body, and counts its bytes and seconds."""

    def __init__(self, receive: Receive, rules: Rules) -> None:
        self.receive, self.rules = receive, rules
        self.bytes, self.whole = 0, False
        self.until = asyncio.get_running_loop().time() + rules.seconds

    async def __call__(self) -> MutableMapping[str, Any]:
        if self.whole:
            return await self.receive()
        try:
            async with asyncio.timeout_at(self.until):
                message = await self.receive()
        except TimeoutError:
            raise TooSlow(f"the body has not come within {self.rules.seconds:g} seconds; send it in smaller pieces") from None
        self.bytes += len(message.get("body", b""))
        if self.bytes > self.rules.most_bytes:
            raise TooLarge(_too_large(self.rules))
        self.whole = not message.get("more_body", False)
        return message


def _too_large(rules: Rules) -> str:
    return f"the body has more than {rules.most_bytes:,} bytes; send the rows in several requests"


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


async def _refuse(send: Send, status: int, why: str) -> None:
    body = msgspec.json.encode({"error": why})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *PROTECTIVE]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 413:
        headers.append((b"connection", b"close"))  # the body is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
