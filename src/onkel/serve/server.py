"""`onkel serve` as a process: one, since two would have two different models of the same name."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from onkel._extras import extra
from onkel.errors import InputError

with extra("serve", "onkel serve"):
    import msgspec  # noqa: F401
    import prometheus_client  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn

from onkel.serve.app import application
from onkel.serve.engine import Engine
from onkel.serve.guard import LOOPBACK, Rules
from onkel.serve.store import Store

TOKEN = "ONKEL_TOKEN"  # the environment variable
LEAST_TOKEN = 16  # characters
# With Python's 5 ms a thread that learns would hold up the event loop for that long, several times for one request
SECONDS_BETWEEN_THREADS = 0.0005
MOST_AT_ONCE = 1000  # connections


@dataclass(frozen=True)
class Place:
    """Where the server is reached, and by whom."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    hosts: tuple[str, ...] = ()  # further names under which it is reached

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise InputError(f"--port must be a number from 0 (any free one) to 65535, got {self.port}")
        if self.token is not None and len(self.token) < LEAST_TOKEN:
            raise InputError(f"the token has {len(self.token)} characters; take at least {LEAST_TOKEN}: openssl rand -hex 16")
        if self.host not in LOOPBACK and self.token is None:
            raise InputError(
                f"--host {self.host} lets other machines in, so a token is needed: set {TOKEN}, or name its file with --token-file"
            )


def token_from(file: Path | None) -> str | None:
    """The token from a file, else from the environment."""
    if file is None:
        return os.environ.get(TOKEN) or None
    try:
        return file.read_text().strip()
    except OSError as error:
        raise InputError(f"cannot read the token from {file}: {error.strerror}") from None


def serve(folder: Path, place: Place, say: Callable[[str], None]) -> None:
    """Serve the models of a folder until SIGTERM or Ctrl-C. `say` is told the address."""
    listener = _bound(place)
    engine = Engine(Store(folder))
    sys.setswitchinterval(SECONDS_BETWEEN_THREADS)
    engine.start()
    try:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        say(f"onkel serves {folder} at http://{shown}:{port}")
        rules = Rules(place.token, frozenset({*LOOPBACK, place.host, *place.hosts}))
        config = uvicorn.Config(
            application(engine, rules), log_level="warning", access_log=False, server_header=False, lifespan="off",
            limit_concurrency=MOST_AT_ONCE, timeout_keep_alive=30, timeout_graceful_shutdown=5,
        )  # fmt: skip
        _Server(config, engine).run(sockets=[listener])
    finally:
        engine.stop()
        listener.close()


class _Server(uvicorn.Server):
    """uvicorn, which ends the events before it waits for its clients."""

    def __init__(self, config: uvicorn.Config, engine: Engine) -> None:
        super().__init__(config)
        self.engine = engine

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.engine.closing = True
        super().handle_exit(sig, frame)


def _bound(place: Place) -> socket.socket:
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((place.host, place.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise InputError(
            f"cannot listen at {place.host}:{place.port}: {error.strerror}; choose another --port, or 0 for any"
        ) from None
    return listener
