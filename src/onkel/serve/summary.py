"""What is shown of a model: its settings, errors beside the baselines, changes of the stream, and what a person should know."""

from __future__ import annotations

from typing import Any

import msgspec

from onkel.combine import Auto
from onkel.combine.assembly import bare, called
from onkel.measure import Evaluation, explain
from onkel.measure.engine import as_json
from onkel.measure.errors import baselines, curve_of, headline_of
from onkel.serve.served import Served
from onkel.state import nbytes


def brief(served: Served) -> dict[str, Any]:
    """One model in a list of all."""
    version = served.version
    return {
        "name": served.name,
        "settings": msgspec.to_builtins(served.settings),
        "rows": version.rows,
        "error": as_json(headline_of(version.evaluation.errors)) if version.evaluation is not None and version.rows else None,
    }


def summary(served: Served) -> dict[str, Any]:
    """One model with all that is known of it. Metrics that are not defined are null."""
    evaluation = served.version.evaluation
    return {**brief(served), **({} if evaluation is None else _measured(evaluation))}


def _measured(evaluation: Evaluation) -> dict[str, Any]:
    model, state, errors = evaluation.model, evaluation.state, evaluation.errors
    own = bare(state.learner)
    explanation = explain(state.learner, state.inner) if isinstance(own, Auto) and errors.rows > 1 else None
    counted = {} if not errors.rows else {
        "errors": as_json(errors.means()),
        "baselines": as_json(baselines(errors)),
        "window": as_json(curve_of(errors).last()),
        "curve": as_json(curve_of(errors).shown()),
        "cumulative": as_json(curve_of(errors).so_far()),
        "changes": [change._asdict() for change in errors.drift.changes()],
    }  # fmt: skip
    return {
        "task": state.target.task,
        "classes": model.classes(state) or None,
        "learner": called(own),
        "inputs": [column.name for column in state.encoder.columns],
        **counted,
        "coverage": model.coverage(state),
        "microseconds_per_row": 1e6 * evaluation.watch.seconds / evaluation.rows if evaluation.rows else None,
        "bytes": nbytes(state),
        "decided": [] if explanation is None else list(explanation.sentences),
        "notes": model.notes(state),
    }
