"""What is shown of a model: its settings, errors beside the baselines, changes of the stream, and what a person should know."""

from __future__ import annotations

from typing import Any

import msgspec

from onkel.measure import Evaluation, Result
from onkel.measure.engine import as_json
from onkel.measure.errors import headline_of
from onkel.report.html import Contents
from onkel.report.html.page import page
from onkel.serve.served import Served
from onkel.serve.version import NothingLearnt, Version


def brief(served: Served) -> dict[str, Any]:
    """One model in a list of all."""
    version = served.version
    return {
        "name": served.name,
        "settings": msgspec.to_builtins(served.settings),
        "rows": version.rows,
        "error": None if version.evaluation is None else as_json(headline_of(version.evaluation.errors)),
    }


def summary(served: Served) -> dict[str, Any]:
    """One model with all that is known of it. Metrics that are not defined are null."""
    version = served.version
    if version.evaluation is None:
        return brief(served)
    result, state = _result(served.name, version.evaluation), version.evaluation.state
    return {
        **brief(served),
        "task": result.task,
        "classes": list(result.classes) or None,
        "learner": result.name,
        "inputs": [column.name for column in state.encoder.columns],
        "errors": as_json(result.errors),
        "baselines": as_json(result.baselines),
        "window": as_json(result.curve.last()),
        "curve": as_json(result.curve.shown()),
        "cumulative": as_json(result.curve.so_far()),
        "changes": [change._asdict() for change in result.changes],
        "coverage": result.coverage,
        "microseconds_per_row": result.microseconds_per_row,
        "bytes": result.bytes,
        "decided": list(result.findings),
        "notes": list(result.notes),
        "recent": [one._asdict() for one in version.recent],
    }


def report(served: Served) -> str:
    """The model's result as the page of `onkel report`."""
    version: Version = served.version
    if version.evaluation is None:
        raise NothingLearnt("the model has not learnt a row yet, so there is nothing to report")
    result = _result(served.name, version.evaluation)
    return page(Contents({result.name: [result]}))


def _result(name: str, evaluation: Evaluation) -> Result:
    model, state = evaluation.model, evaluation.state
    return evaluation.measured(name, len(state.encoder.columns), model.notes(state))
