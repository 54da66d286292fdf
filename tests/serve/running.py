"""A server in a process of its own, which can be killed and started again on the same folder and port.

A process that has imported everything is forked for each start, so that a start takes a moment.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

from onkel.client import Client
from onkel.serve.server import Place, serve

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["onkel.serve.server", "onkel.measure", "tests.serve.running"])
SECONDS = 60.0  # at most, for a start


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _quiet(said: str) -> None:
    return None


class Running:
    def __init__(self, folder: Path, **place: Any) -> None:
        self.folder, self.place = folder, Place(**{"port": free_port(), **place})
        self.url = f"http://127.0.0.1:{self.place.port}"
        self.start()

    def start(self) -> None:
        self.process = CONTEXT.Process(target=serve, args=(self.folder, self.place, _quiet), daemon=True)
        self.process.start()
        until = time.monotonic() + SECONDS
        while True:
            try:
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            assert self.process.is_alive(), "the server ended at its start"
            assert time.monotonic() < until, "the server is not ready"
            time.sleep(0.01)

    def kill(self) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()

    def stop(self) -> None:
        self.process.terminate()
        self.process.join(SECONDS)
        assert not self.process.is_alive()

    def client(self, **more: Any) -> Client:
        return Client(self.url, **{"patience": SECONDS, **more})

    def ask(
        self, method: str, path: str, body: bytes | str | dict[str, Any] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:  # fmt: skip
        """Status and content of a reply; JSON is decoded."""
        data = json.dumps(body) if isinstance(body, dict) else body
        connection = http.client.HTTPConnection("127.0.0.1", self.place.port, timeout=SECONDS)
        try:
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        is_json = (response.getheader("content-type") or "").startswith("application/json")
        return response.status, json.loads(content) if is_json else content
