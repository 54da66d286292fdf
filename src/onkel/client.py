"""Client: a model that `onkel serve` keeps, from Python. It needs no package but onkel."""

from __future__ import annotations

import http.client
import json
import math
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from urllib.parse import quote, urlsplit

from onkel.errors import FileError, InputError

Row = Mapping[str, Any]

TRY_AGAIN = (429, 502, 503, 504)  # replies after which the same request may succeed
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds between two tries


class Unreachable(FileError):
    """The server could not be reached, or was not ready, for as long as the client was patient."""


class Client:
    """A connection to `onkel serve`. A request that fails on the way is sent again; nothing is learnt twice, since it has an id.

    url       The address of the server, such as "http://127.0.0.1:8000".
    token     Its token; None: it asks for none. Default: None.
    patience  For how many seconds a request is sent again if the server cannot be reached. Default: 30.0.

    >>> client = onkel.Client("http://127.0.0.1:8000")
    >>> client
    Client('http://127.0.0.1:8000')
    """

    def __init__(self, url: str, token: str | None = None, patience: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"the address of a server is such as http://127.0.0.1:8000, got {url!r:.100}")
        self.url, self.patience = url, patience
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def create(self, model: str, target: str, learner: Any = None, **settings: Any) -> dict[str, Any]:
        """Make a model, unless it is there with the same settings. `settings` are those of `onkel.Model`; a learner may be given
        as an object or as Python code."""
        given = {
            "target": target,
            **settings,
            **({} if learner is None else {"learner": learner if isinstance(learner, str) else repr(learner)}),
        }
        return self._json("PUT", _path(model), given)

    def models(self) -> list[dict[str, Any]]:
        """All models of the server."""
        found: list[dict[str, Any]] = self._json("GET", "/models")["models"]
        return found

    def show(self, model: str) -> dict[str, Any]:
        """What is known of a model: its rows, its errors beside the baselines, its notes."""
        return self._json("GET", _path(model))

    def delete(self, model: str) -> None:
        """Delete a model, with all that it has learnt."""
        self._send("DELETE", _path(model), None)

    def learn(self, model: str, rows: Sequence[Row] | Row) -> list[Any]:
        """Learn rows with their labels. Returns what was predicted for each before it was learnt; the rows are on disk then."""
        found: list[Any] = self._json("POST", _path(model, "learn"), {"rows": _rows(rows), "request_id": uuid.uuid4().hex})[
            "predictions"
        ]
        return found

    def predict(self, model: str, rows: Sequence[Row] | Row, ids: Sequence[str] | None = None) -> list[Any]:
        """A number or a label for each row. With an id for each, the server keeps them until their `labels` come."""
        found: list[Any] = self._json(
            "POST", _path(model, "predict"), {"rows": _rows(rows), "ids": None if ids is None else list(ids)}
        )["predictions"]
        return found

    def predict_proba(self, model: str, rows: Sequence[Row] | Row) -> list[dict[Any, float]]:
        """The probability of each class, for each row."""
        found = self._json("POST", _path(model, "predict"), {"rows": _rows(rows)})
        if "probabilities" not in found:
            raise InputError(f"{model!r} predicts numbers, which have no probabilities; see predict_interval")
        return [dict(zip(found["classes"], row, strict=True)) for row in found["probabilities"]]

    def predict_interval(self, model: str, rows: Sequence[Row] | Row, level: float = 0.9) -> list[tuple[float, float]]:
        """The lower and the upper end of an interval for each row."""
        found = self._json("POST", _path(model, "predict"), {"rows": _rows(rows), "interval": level})
        return [(-math.inf if low is None else low, math.inf if high is None else high) for low, high in found["intervals"]]

    def labels(self, model: str, labels: Mapping[str, Any]) -> list[str]:
        """Learn rows that were predicted under these ids. Returns the ids for which no row waits, or waits any longer."""
        given = [{"id": id, "label": _plain(label)} for id, label in labels.items()]
        found: list[str] = self._json("POST", _path(model, "labels"), {"labels": given, "request_id": uuid.uuid4().hex}).get(
            "unknown", []
        )
        return found

    def download(self, model: str) -> bytes:
        """The model as the bytes of an .onkel file, for `onkel.unpack`."""
        return self._send("GET", _path(model, "model.onkel"), None)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _json(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._send(method, path, body))
        return found

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> bytes:
        """The body of the reply. Every request may be sent twice without harm: those that learn have an id."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        until, pause, why = time.monotonic() + self.patience, FIRST_PAUSE, ""
        while True:
            try:
                status, reply = self._once(method, path, data)
                if status < 400:
                    return reply
                why = _sentence(reply)
                if status not in TRY_AGAIN:
                    raise InputError(f"{self.url}: {why}")
            except (OSError, http.client.HTTPException) as error:
                self.close()
                why = str(error) or type(error).__name__
            if time.monotonic() + pause > until:
                raise Unreachable(
                    f"{self.url} did not answer within {self.patience:g} seconds: {why}; is onkel serve running there?"
                )
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, 2.0 * pause)

    def _once(self, method: str, path: str, data: bytes | None) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = self._kind(self._host, self._port, timeout=max(1.0, self.patience))
        self._connection.request(method, self._path + path, data, self._headers)
        response = self._connection.getresponse()
        return response.status, response.read()


def _path(model: str, more: str = "") -> str:
    return f"/models/{quote(model, safe='')}" + (f"/{more}" if more else "")


def _rows(rows: Sequence[Row] | Row) -> list[dict[str, Any]]:
    return [{name: _plain(value) for name, value in row.items()} for row in ([rows] if isinstance(rows, Mapping) else rows)]


def _plain(value: Any) -> Any:
    """The value as JSON has it; NaN is a missing value."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and math.isnan(value):
        return None
    return value.isoformat() if isinstance(value, date) else value


def _sentence(reply: bytes) -> str:
    """The sentence of a refusal."""
    try:
        return str(json.loads(reply)["error"])
    except (ValueError, KeyError, TypeError):
        return reply[:200].decode(errors="replace")
