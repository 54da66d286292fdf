"""What the page needs: its files, and events that say what the models have learnt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from functools import cache
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from onkel.report.html.page import colours, static
from onkel.report.palette import Dark, Light
from onkel.serve.engine import Engine
from onkel.serve.messages import encode
from onkel.serve.summary import brief
from onkel.serve.telemetry import Telemetry

BETWEEN_EVENTS = 0.5  # seconds
HEARTBEAT = 15.0  # seconds without news, after which an event is sent all the same
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Watch:
    def __init__(self, engine: Engine, telemetry: Telemetry) -> None:
        self.engine, self.telemetry = engine, telemetry

    def routes(self) -> list[Route]:
        return [
            Route("/", self.page),
            Route("/favicon.svg", self.file),
            Route("/page/{name}", self.file),
        ]

    async def page(self, request: Request) -> Response:
        return Response(_content("index.html"), media_type="text/html")

    async def file(self, request: Request) -> Response:
        name = request.path_params.get("name", "favicon.svg")
        if name not in ("page.css", "page.js", "uplot.js", "favicon.svg"):
            return Response(status_code=404)
        return Response(_content(name), media_type=TYPES[name[name.rindex(".") :]])

    async def events(self, request: Request) -> Response:
        """News of all models, for as long as the client listens."""
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(self._events(), media_type="text/event-stream", headers=headers)

    async def _events(self) -> AsyncIterator[bytes]:
        sent, at = b"", 0.0
        while not self.engine.closing:
            news = encode(
                {"models": [brief(served) for served in self.engine.models.values()], "latency": self.telemetry.latency()}
            )
            if news != sent or time.monotonic() - at > HEARTBEAT:
                yield b"data: " + news + b"\n\n"
                sent, at = news, time.monotonic()
            await asyncio.sleep(BETWEEN_EVENTS)


@cache
def _content(name: str) -> str:
    if name == "uplot.js":
        return static(name)
    own = (resources.files("onkel.serve") / "page" / name).read_text(encoding="utf-8")
    if name != "page.css":
        return own
    light, dark = f"--good:{Light.GOOD};--bad:#b84a00", f"--good:{Dark.GOOD};--bad:{Dark.BAD}"
    signs = f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    return static("uplot.css") + colours() + signs + static("report.css") + own
