"""The bodies of requests: rows as JSON, as one JSON object a line, or as an Arrow stream."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, TypeVar

import msgspec

from onkel._extras import extra
from onkel.errors import InputError
from onkel.serve.messages import Row

JSON, LINES, ARROW = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"
CURLS = "application/x-www-form-urlencoded"  # what `curl -d` says of every body
MOST_ROWS = 10_000  # of a request

T = TypeVar("T")

_ROW = msgspec.json.Decoder(Row)


class Unreadable(InputError):
    """A body that is not what its type says."""


class WrongType(InputError):
    """A body of a type that is not taken."""


class TooMany(InputError):
    """A request of too many rows."""


def read(body: bytes, kind: type[T]) -> T:
    """A JSON body of this kind."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"the body cannot be read: {error}; see /openapi.json for what it must hold") from None


def type_of(header: str | None) -> str:
    """The type of a body; JSON if none is said, or only what curl says by itself."""
    said = (header or JSON).partition(";")[0].strip().lower()
    return JSON if said == CURLS else said


def read_rows(body: bytes, kind: str) -> list[Row]:
    """The rows of a body that is no JSON object."""
    if kind == LINES:
        return _lines(body)
    if kind == ARROW:
        return _arrow(body)
    raise WrongType(f"a body of the type {kind[:100]!r} is not taken; send {JSON}, {LINES} or {ARROW}")


def check_rows(rows: list[Row]) -> list[Row]:
    if len(rows) > MOST_ROWS:
        raise TooMany(f"these are {len(rows):,} rows; send at most {MOST_ROWS:,} in a request")
    return rows


def _lines(body: bytes) -> list[Row]:
    rows = []
    for number, line in enumerate(body.split(b"\n"), 1):
        if line.strip():
            try:
                rows.append(_ROW.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise Unreadable(f"line {number} cannot be read: {error}") from None
    return rows


def _arrow(body: bytes) -> list[Row]:
    with extra("arrow", "an Arrow stream"):
        import pyarrow
        from pyarrow import ipc
    try:
        with ipc.open_stream(body) as reader:
            table = reader.read_all()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"the body is not an Arrow stream: {error}") from None
    if len(table) > MOST_ROWS:
        return check_rows([{}] * len(table))
    return [{name: _plain(name, value) for name, value in row.items()} for row in table.to_pylist()]


def _plain(name: str, value: Any) -> Any:
    """The value as JSON would have it."""
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, float) and value != value:
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise Unreadable(f"column {name!r} holds {type(value).__name__}; send numbers, strings, booleans or dates")
