"""The description of the server in OpenAPI 3.1, with the messages' own schemas and an example for each."""

from __future__ import annotations

from typing import Any

import msgspec

from onkel.serve.bodies import ARROW, JSON, LINES
from onkel.serve.messages import Answer, Label, Labels, Learn, Learnt, Predict, Settings

ROWS = [{"size": 50.0, "town": "Bonn", "price": 210.0}, {"size": 70.0, "town": "Ulm", "price": 350.0}]
INPUTS = [{"size": 60.0, "town": "Bonn"}]
MESSAGES = (Settings, Learn, Predict, Labels, Label, Answer, Learnt)
ERRORS = {
    400: "The body cannot be read.",
    401: "The token is missing or wrong.",
    403: "The page of another site asked.",
    404: "There is no such model.",
    408: "The body has not come in time.",
    409: "The name or the request_id was used for something else, or the model has not learnt a row yet.",
    413: "Too many rows or bytes.",
    415: "A type of body that is not taken.",
    421: "Another host was meant.",
    422: "A row or a setting cannot be used; the sentence says which, and what to do.",
    500: "An error of the server.",
    503: "Not ready, or nothing can be written.",
    507: "The disk is full.",
}


def description() -> dict[str, Any]:
    _, components = msgspec.json.schema_components(MESSAGES, ref_template="#/components/schemas/{name}")
    components["Error"] = {
        "type": "object", "required": ["error"], "properties": {"error": {"type": "string", "description": "One sentence."}},
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "onkel serve",
            "version": "1",
            "description": "Models that learn from a stream, and predict at any time.",
        },
        "paths": _paths(),
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _paths() -> dict[str, Any]:
    name = {
        "name": "name", "in": "path", "required": True, "example": "prices",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"},
    }  # fmt: skip
    key = {
        "name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        "description": "The request_id of a body that is not JSON.",
    }  # fmt: skip
    settings = {"target": "price", "learner": "Auto()"}
    put = _operation("Make a model.", _body("Settings", settings), {201: "It is new.", 200: "It was there with the same settings."})
    learn = _operation(
        "Learn rows; the reply comes when they are on disk, with what was predicted for each before it was learnt.",
        _body("Learn", {"rows": ROWS, "request_id": "day-1"}, several=True), {200: "Learnt."}, "Learnt",
    )  # fmt: skip
    predict = _operation(
        "Predict rows as if each came next.", _body("Predict", {"rows": INPUTS}, several=True), {200: "Predicted."}, "Answer"
    )
    labels = _operation(
        "Learn rows that were predicted under ids, now that their labels are known.",
        _body("Labels", {"labels": [{"id": "a", "label": 260.0}]}), {200: "Learnt."}, "Learnt",
    )  # fmt: skip
    return {
        "/models": {"get": _operation("All models.", None, {200: "The models."})},
        "/models/{name}": {
            "parameters": [name],
            "put": put,
            "get": _operation("One model, with its errors and what was found in the stream.", None, {200: "The model."}),
            "delete": _operation("Delete a model, with all that it has learnt.", None, {204: "It is gone."}),
        },
        "/models/{name}/learn": {"parameters": [name, key], "post": learn},
        "/models/{name}/predict": {"parameters": [name], "post": predict},
        "/models/{name}/labels": {"parameters": [name], "post": labels},
        "/models/{name}/model.onkel": {
            "parameters": [name],
            "get": _operation("The model as a file for onkel.load and onkel predict.", None, {200: "The file."}, binary=True),
        },
        "/models/{name}/report.html": {
            "parameters": [name],
            "get": _operation("What was measured, as the page of onkel report.", None, {200: "The page."}, text=True),
        },
        "/events": {
            "get": _operation("News of all models, as server-sent events, without end.", None, {200: "The events."}, text=True)
        },
        "/metrics": {"get": _operation("Figures for Prometheus.", None, {200: "The figures."}, text=True)},
        "/healthz": {"get": _operation("Whether the server lives.", None, {200: "It does."})},
        "/readyz": {"get": _operation("Whether all models have been recovered.", None, {200: "They have."})},
    }


def _operation(
    said: str,
    body: dict[str, Any] | None,
    good: dict[int, str],
    schema: str | None = None,
    binary: bool = False,
    text: bool = False,
) -> dict[str, Any]:
    kind = "application/octet-stream" if binary else "text/plain" if text else JSON
    shape: dict[str, Any] = {"$ref": f"#/components/schemas/{schema}"} if schema else {} if binary or text else {"type": "object"}
    replies: dict[str, Any] = {
        str(status): {"description": what} | ({} if status == 204 else {"content": {kind: {"schema": shape}}})
        for status, what in good.items()
    }
    error = {"content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}}
    replies |= {str(status): {"description": what, **error} for status, what in ERRORS.items()}
    return {"summary": said, "responses": replies} | ({} if body is None else {"requestBody": body})


def _body(schema: str, example: Any, several: bool = False) -> dict[str, Any]:
    content: dict[str, Any] = {JSON: {"schema": {"$ref": f"#/components/schemas/{schema}"}, "example": example}}
    if several:
        content[LINES] = {
            "schema": {"type": "string"},
            "example": "".join(msgspec.json.encode(row).decode() + "\n" for row in example["rows"]),
        }
        content[ARROW] = {"schema": {"type": "string", "format": "binary"}}
    return {"required": True, "content": content}
