"""What the server answers, and what it refuses."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import onkel
from onkel.serve import openapi
from onkel.serve.app import Routes
from onkel.serve.bodies import ARROW, LINES, MOST_ROWS
from onkel.serve.engine import Engine
from onkel.serve.store import Store
from tests.serve.running import Running

pytestmark = pytest.mark.once

X, Y = onkel.data.friedman(120, dim=5, seed=0)
ROWS: list[Any] = [{**{f"x{k}": v for k, v in enumerate(x)}, "y": y} for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
SETTINGS = {"target": "y", "learner": "PKAWV(features=Fourier(count=5))"}
TOKEN = "a-token-of-twenty-eight-bytes"


def made(server: Running, name: str, rows: int = 0) -> str:
    """The path of a new model that has learnt the first rows."""
    path = f"/models/{name}"
    server.ask("DELETE", path)
    assert server.ask("PUT", path, SETTINGS)[0] == 201
    if rows:
        assert server.ask("POST", f"{path}/learn", {"rows": ROWS[:rows]})[0] == 200
    return path


def test_a_model_from_its_first_row_to_its_file(server: Running) -> None:
    path = made(server, "whole")
    assert server.ask("PUT", path, SETTINGS)[0] == 200
    assert server.ask("PUT", path, {"target": "z"})[0] == 409
    status, reply = server.ask("POST", f"{path}/predict", {"rows": ROWS[:1]})
    assert (status, "has not learnt a row yet" in reply["error"]) == (409, True)
    status, reply = server.ask("POST", f"{path}/learn", {"rows": ROWS[:100], "request_id": "r"})
    assert (status, reply["sequence"], len(reply["predictions"])) == (200, 100, 100)
    assert server.ask("POST", f"{path}/learn", {"rows": ROWS[:100], "request_id": "r"}) == (200, reply)
    shown = server.ask("GET", path)[1]
    assert shown["rows"] == 100
    errors = np.array(reply["predictions"]) - Y[:100]
    assert shown["errors"]["mae"] == pytest.approx(np.mean(np.abs(errors)))
    assert set(shown["baselines"]) == {"running mean", "last label"}
    model, state = onkel.unpack(server.ask("GET", f"{path}/model.onkel")[1])
    inputs = [{name: value for name, value in row.items() if name != "y"} for row in ROWS[100:]]
    answer = server.ask("POST", f"{path}/predict", {"rows": inputs, "interval": 0.9})[1]
    np.testing.assert_array_equal(answer["predictions"], model.predict(state, inputs))
    np.testing.assert_array_equal(answer["intervals"], model.predict_interval(state, inputs))
    assert [one["name"] for one in server.ask("GET", "/models")[1]["models"] if one["rows"] == 100] == ["whole"]
    assert server.ask("DELETE", path)[0] == 204
    assert server.ask("GET", path)[0] == 404


def test_rows_come_as_json_lines_or_as_an_arrow_stream(server: Running) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    predictions = []
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    file = io.BytesIO()
    table = pyarrow.Table.from_pylist(ROWS)
    with pyarrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    for kind, body in (("application/json", json.dumps({"rows": ROWS})), (LINES, lines), (ARROW, file.getvalue())):
        path = made(server, "formats")
        status, reply = server.ask("POST", f"{path}/learn", body, {"content-type": kind})
        assert status == 200, reply
        predictions.append(reply["predictions"])
    assert predictions[0] == predictions[1] == predictions[2]
    ids = {"content-type": LINES, "Idempotency-Key": "lines"}
    first = server.ask("POST", f"{path}/learn", lines, ids)
    assert server.ask("POST", f"{path}/learn", lines, ids) == first


BAD = [
    (b"", 400, "cannot be read"), (b"{", 400, "cannot be read"), (b'{"rows": 3}', 400, "Expected `array`"),
    (b'{"rows": [{"x0": NaN, "y": 1}]}', 400, "cannot be read"), (b'{"rows": [{"x0": 1e999, "y": 1}]}', 400, "out of range"),
    (b'{"rows": [], "more": 1}', 400, "unknown field"), (b'{"rows": []}', 422, "send at least one"),
    (b'{"rows": [{"x0": {}, "y": 1}]}', 400, "Expected"), (b'{"rows": [{"x0": "\xff", "y": 1}]}', 400, "cannot be read"),
    (b'{"rows": [{"x0": "wide", "y": 1}]}', 422, "'wide' is not a number"),
    (b'{"rows": [{"x0": 1}]}', 422, "has no 'y', the label"),
    (b'{"rows": [{"x0": 1, "y": "three"}]}', 422, "'three' is not a number"),
    (b'{"rows": [{"x0": 1, "y": 1e300}]}', 422, "y"),
    (b'{"rows": [' + b'{"y": 1},' * MOST_ROWS + b'{"y": 1}]}', 413, "at most 10,000"),
    (b"[" * 100_000, 400, "cannot be read"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status", "said"), BAD)
def test_a_malformed_request_is_refused_with_a_sentence_and_the_model_is_as_before(
    server: Running, body: bytes, status: int, said: str
) -> None:
    path = f"/models/{'bad'}"
    if server.ask("GET", path)[0] == 404:
        made(server, "bad", 50)
    before = server.ask("GET", f"{path}/model.onkel")[1]
    found, reply = server.ask("POST", f"{path}/learn", body)
    assert (found, said in reply["error"]) == (status, True), reply
    assert server.ask("GET", f"{path}/model.onkel")[1] == before


odd_values = some.one_of(
    some.none(), some.booleans(), some.integers(), some.floats(allow_nan=True), some.text(max_size=5), some.just([]), some.just({})
)
odd_rows = some.lists(some.dictionaries(some.sampled_from(["x0", "x1", "y", "", "é"]), odd_values, max_size=5), max_size=4)
odd_bodies = some.one_of(
    some.binary(max_size=60),
    some.builds(json.dumps, some.recursive(odd_values, lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner))),
    some.builds(lambda rows, id: json.dumps({"rows": rows, "request_id": id}), odd_rows, odd_values),
    some.builds(
        lambda rows, ids, level: json.dumps({"rows": rows, "ids": ids, "interval": level}), odd_rows, odd_values, odd_values
    ),
    some.builds(lambda ids: json.dumps({"labels": [{"id": id, "label": id} for id in ids]}), some.lists(odd_values, max_size=3)),
)


def refused_or_learnt(server: Running, body: Any, route: str, kind: str) -> None:
    if server.ask("GET", "/models/odd")[0] == 404:
        made(server, "odd", 50)
    before, rows = server.ask("GET", "/models/odd/model.onkel")[1], server.ask("GET", "/models/odd")[1]["rows"]
    status, reply = server.ask("POST", f"/models/odd/{route}", body, {"content-type": kind})
    assert status == 200 or (400 <= status < 500 and reply["error"]), (status, reply)
    if status != 200 or route == "predict":
        assert server.ask("GET", "/models/odd/model.onkel")[1] == before
    elif route == "learn":
        assert server.ask("GET", "/models/odd")[1]["rows"] == rows + len(reply["predictions"]) or "request_id" in str(body)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    odd_bodies,
    some.sampled_from(["learn", "predict", "labels"]),
    some.sampled_from(["application/json", LINES, ARROW, "text/html"]),
)
def test_odd_bodies_are_refused_or_learnt_whole(server: Running, body: Any, route: str, kind: str) -> None:
    refused_or_learnt(server, body, route, kind)


@pytest.mark.long
@settings(max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    odd_bodies,
    some.sampled_from(["learn", "predict", "labels"]),
    some.sampled_from(["application/json", LINES, ARROW, "text/html"]),
)
def test_twenty_thousand_odd_bodies(server: Running, body: Any, route: str, kind: str) -> None:
    refused_or_learnt(server, body, route, kind)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "missing required field `target`"), ({"target": "y", "lerner": "Auto()"}, "unknown field `lerner`"),
        ({"target": "y", "learner": "Auto("}, "Auto("), ({"target": "y", "learner": "__import__('os')"}, "__import__"),
        ({"target": "y", "learner": "PKAWV(lam=-1)"}, "lam must be"), ({"target": "y", "learner": "Gaussian()"}, "not a learner"),
        ({"target": "y", "task": "guess"}, "task must be"), ({"target": "y", "spare": 10**9}, "spare"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_refused(server: Running, settings: dict[str, Any], said: str) -> None:
    status, reply = server.ask("PUT", "/models/wrong", settings)
    assert 400 <= status < 500
    assert said in reply["error"]
    assert server.ask("GET", "/models/wrong")[0] == 404


@pytest.mark.parametrize("name", ["", ".", "a b", "x" * 65, "../up", "%2e%2e"])
def test_odd_names_are_refused(server: Running, name: str) -> None:
    assert server.ask("PUT", f"/models/{name.replace(' ', '%20')}", SETTINGS)[0] in (404, 405, 422)


def test_every_route_is_described_and_every_description_is_a_route(tmp_path: Path) -> None:
    engine = Engine(Store(tmp_path))
    routes = {(route.path, method) for route in Routes(engine).routes() for method in (route.methods or set()) - {"HEAD"}}
    paths = openapi.description()["paths"]
    described = {(path, method.upper()) for path, one in paths.items() for method in one if method != "parameters"}
    assert described == routes - {("/openapi.json", "GET")}
    engine.store.close()


# --- who may ask


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("guarded"), token=TOKEN)
    yield running
    running.stop()


def test_without_the_token_every_route_but_the_open_ones_is_refused(guarded: Running) -> None:
    right = {"Authorization": f"Bearer {TOKEN}"}
    for path, operations in openapi.description()["paths"].items():
        place = path.replace("{name}", "a")
        for method in {operation.upper() for operation in operations} - {"PARAMETERS"}:
            is_open = path in ("/healthz", "/readyz")
            for wrong in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": f"Bearer {TOKEN}x"}):
                assert (guarded.ask(method, place, None, wrong)[0] == 401) is not is_open, (method, path)
                assert guarded.ask(method, f"{place}?token={TOKEN}", None, wrong)[0] == (200 if is_open else 401)
            if path != "/events":  # which has no end
                assert guarded.ask(method, place, None, right)[0] != 401
            assert guarded.ask(method, place, None, {**right, "Host": "evil.example"})[0] == 421
            assert guarded.ask(method, place, None, {**right, "Origin": "http://evil.example"})[0] == 403


def test_an_address_for_others_needs_a_token() -> None:
    from onkel.serve.server import Place

    with pytest.raises(onkel.InputError, match="so a token is needed"):
        Place("0.0.0.0")
    with pytest.raises(onkel.InputError, match="at least 16"):
        Place("0.0.0.0", token="short")


def test_large_and_slow_bodies_are_refused_and_others_are_served_meanwhile(server: Running) -> None:
    path = made(server, "large", 20)
    with (
        socket.create_connection(("127.0.0.1", server.place.port)) as slow,
        socket.create_connection(("127.0.0.1", server.place.port)) as large,
    ):
        slow.sendall(b"POST /models/large/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        large.sendall(b"POST /models/large/learn HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            for _ in range(1000):
                large.sendall(piece)
        except OSError:
            pass  # it has closed the connection
        assert b" 413 " in large.recv(1 << 16)[:20]
        assert server.ask("POST", f"{path}/predict", {"rows": ROWS[:1]})[0] == 200
    with socket.create_connection(("127.0.0.1", server.place.port)) as client:
        client.sendall(b"POST /models/large/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
        assert b" 413 " in client.recv(1 << 16)[:20]
