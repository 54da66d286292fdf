"""The routes of `onkel serve`. Each reads a body, hands work to the engine, and writes the reply."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from onkel.errors import FileError, InputError
from onkel.serve.bodies import JSON, TooMany, Unreadable, WrongType, check_rows, read, read_rows, type_of
from onkel.serve.engine import Engine, Unavailable
from onkel.serve.guard import Guard, Rules, TooLarge, TooSlow
from onkel.serve.messages import Answer, Id, Labels, Learn, Predict, Settings, encode
from onkel.serve.openapi import description
from onkel.serve.served import Conflict, Unknown
from onkel.serve.store import Full
from onkel.serve.summary import brief, report, summary
from onkel.serve.telemetry import Telemetry
from onkel.serve.version import NothingLearnt
from onkel.serve.watch import Watch
from onkel.serve.work import Create, KeepRows, LearnLabels, LearnRows, Remove, Work

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
ROWS_AT_ONCE = 200  # a prediction of more rows runs beside the event loop

# the first that fits
STATUS: list[tuple[type[Exception], int]] = [
    (Unknown, 404), (Conflict, 409), (NothingLearnt, 409),
    (TooMany, 413), (TooLarge, 413), (TooSlow, 408), (WrongType, 415), (Unreadable, 400), (Full, 507),
    (Unavailable, 503), (FileError, 503), (InputError, 422),
]  # fmt: skip

Handler = Callable[[Request], Awaitable[Response]]


class Routes:
    def __init__(self, engine: Engine) -> None:
        self.engine, self.telemetry = engine, Telemetry(engine)
        self.watch = Watch(engine, self.telemetry)

    def routes(self) -> list[Route]:
        model = "/models/{name}"
        return [
            Route("/models", self._handled(self.list_models), methods=["GET"]),
            Route(model, self._handled(self.create), methods=["PUT"]),
            Route(model, self._handled(self.show), methods=["GET"]),
            Route(model, self._handled(self.delete), methods=["DELETE"]),
            Route(f"{model}/learn", self._handled(self.learn), methods=["POST"]),
            Route(f"{model}/predict", self._handled(self.predict), methods=["POST"]),
            Route(f"{model}/labels", self._handled(self.labels), methods=["POST"]),
            Route(f"{model}/model.onkel", self._handled(self.download), methods=["GET"]),
            Route(f"{model}/report.html", self._handled(self.report), methods=["GET"]),
            Route("/events", self._handled(self.watch.events), methods=["GET"]),
            Route("/metrics", self._handled(self.metrics), methods=["GET"]),
            Route("/healthz", self.healthy, methods=["GET"]),
            Route("/readyz", self.is_ready, methods=["GET"]),
            Route("/openapi.json", self.openapi, methods=["GET"]),
        ]

    def _handled(self, handler: Handler) -> Handler:
        """The route, with errors as replies, and measured."""

        async def handled(request: Request) -> Response:
            began = time.perf_counter()
            try:
                self._check_ready()
                response = await handler(request)
            except (InputError, FileError) as error:
                response = refusal(error)
            except ClientDisconnect:
                response = Response(status_code=400)  # nobody reads it
            self.telemetry.request(handler.__name__, response.status_code, time.perf_counter() - began)
            return response

        return handled

    def _check_ready(self) -> None:
        if not self.engine.ready.is_set():
            raise Unavailable("the models are being recovered; try again in a moment")

    # --- models

    async def list_models(self, request: Request) -> Response:
        return reply({"models": [brief(served) for served in self.engine.models.values()]})

    async def create(self, request: Request) -> Response:
        if not NAME.match(name := request.path_params["name"]):
            raise InputError(
                "a name has 1 to 64 letters, digits, dots, hyphens or underscores, and begins with a letter or a digit"
            )
        settings = read(await request.body(), Settings)
        model = await run_in_threadpool(settings.model)
        is_new = await self._done(Create(name, settings, model))
        return reply(brief(self.engine.served(name)), 201 if is_new else 200)

    async def show(self, request: Request) -> Response:
        return reply(await run_in_threadpool(summary, self.engine.served(request.path_params["name"])))

    async def delete(self, request: Request) -> Response:
        await self._done(Remove(request.path_params["name"]))
        return Response(status_code=204)

    async def download(self, request: Request) -> Response:
        served = self.engine.served(request.path_params["name"])
        data = await run_in_threadpool(served.version.pack)
        name = {"content-disposition": f'attachment; filename="{served.name}.onkel"'}
        return Response(data, media_type="application/octet-stream", headers=name)

    async def report(self, request: Request) -> Response:
        made = await run_in_threadpool(report, self.engine.served(request.path_params["name"]))
        name = {"content-disposition": f'attachment; filename="{request.path_params["name"]}.html"'}
        return Response(made, media_type="text/html", headers=name)

    # --- rows

    async def learn(self, request: Request) -> Response:
        name, body, kind = await self._body(request)
        if kind == JSON:
            given = read(body, Learn)
            rows, id = given.rows, given.request_id
        else:
            rows, id = await run_in_threadpool(read_rows, body, kind), _request_id(request)
        return raw(await self._done(LearnRows(name, check_rows(rows), id)))

    async def predict(self, request: Request) -> Response:
        name, body, kind = await self._body(request)
        asked = read(body, Predict) if kind == JSON else Predict(await run_in_threadpool(read_rows, body, kind))
        check_rows(asked.rows)
        if asked.ids is not None:
            answer: Answer = await self._done(KeepRows(name, asked.rows, asked.ids))
        else:
            version = self.engine.served(name).version
            answer = await run_in_threadpool(version.predict, asked.rows)
        if asked.interval is not None:
            version = self.engine.served(name).version
            answer.intervals = await run_in_threadpool(version.intervals, asked.rows, asked.interval)
        self.telemetry.predicted(len(asked.rows))
        return raw(encode(answer))

    async def labels(self, request: Request) -> Response:
        given = read(await request.body(), Labels)
        return raw(await self._done(LearnLabels(request.path_params["name"], given.labels, given.request_id)))

    async def _body(self, request: Request) -> tuple[str, bytes, str]:
        """The name of the model, the body, and its type."""
        name = request.path_params["name"]
        self.engine.served(name)
        return name, await request.body(), type_of(request.headers.get("content-type"))

    async def _done(self, work: Work) -> Any:
        """The reply to the work, when it is on disk. It is done even if the client goes away."""
        return await asyncio.shield(asyncio.wrap_future(self.engine.submit(work)))

    # --- the server

    async def metrics(self, request: Request) -> Response:
        return Response(generate_latest(self.telemetry.registry), media_type=CONTENT_TYPE_LATEST)

    async def healthy(self, request: Request) -> Response:
        if self.engine.failure is not None:
            return reply({"error": str(self.engine.failure)}, 503)
        return reply({"status": "ok"})

    async def is_ready(self, request: Request) -> Response:
        if self.engine.failure is not None or not self.engine.ready.is_set():
            why = self.engine.failure or "the models are being recovered"
            return reply({"error": str(why)}, 503)
        return reply({"status": "ready"})

    async def openapi(self, request: Request) -> Response:
        return reply(description())


def application(engine: Engine, rules: Rules) -> Guard:
    """The whole application."""
    routes = Routes(engine)
    everything = [*routes.routes(), *routes.watch.routes()]
    starlette = Starlette(routes=everything, exception_handlers={404: _no_route, 405: _no_route, 500: _broken})
    starlette.router.redirect_slashes = False
    return Guard(starlette, rules)


def reply(content: Any, status: int = 200) -> Response:
    return raw(encode(content), status)


def raw(content: bytes, status: int = 200) -> Response:
    return Response(content, status_code=status, media_type=JSON)


def refusal(error: Exception) -> Response:
    status = next(status for kind, status in STATUS if isinstance(error, kind))
    found = reply({"error": str(error)}, status)
    if isinstance(error, TooLarge | TooSlow):
        found.headers["connection"] = "close"  # the rest of the body is not read
    return found


def _request_id(request: Request) -> str | None:
    """The id of a request whose body has no room for one."""
    given = request.headers.get("idempotency-key")
    try:
        return None if given is None else msgspec.convert(given, Id)
    except msgspec.ValidationError:
        raise Unreadable("the header Idempotency-Key must have 1 to 200 characters") from None


async def _no_route(request: Request, error: Any) -> Response:
    known = "see /openapi.json for what this server answers"
    return reply({"error": f"{request.method} {request.url.path[:200]} is not served; {known}"}, error.status_code)


async def _broken(request: Request, error: Exception) -> Response:
    return reply({"error": "an error of the server; it was logged, and nothing of this request was learnt"}, 500)
