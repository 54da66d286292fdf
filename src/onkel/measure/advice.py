"""What the figures of a result suggest to try: about the order of the rows, the inputs, the target, the error."""

from __future__ import annotations

import numpy as np

from onkel.measure.scores import Errors
from onkel.model import Model, State, Stream
from onkel.model.plan import MOST_VALUES
from onkel.model.target import Value, cell, numbered

ENOUGH_ROWS = 100  # for a word on who does better
LIKE_CLASSES = 10  # different whole numbers: the target may be one of classes
IDENTIFIES = 0.95  # of the rows have a value of their own: names, numbers of tickets


def advice(model: Model, state: State, errors: Errors, stream: Stream) -> list[str]:
    """One sentence each, with the option that follows from it."""
    lags = model.lags_of(state)
    on_rows = on_order(state, errors, lags) or _on_error(state, errors, lags)
    return [*on_inputs(stream), *on_target(model, state, stream), *on_rows]


def on_order(state: State, errors: Errors, lags: int) -> list[str]:
    """Where labels are sorted, the last one gives the next away."""
    if not lags or errors.rows < ENOUGH_ROWS or not errors.is_sorted:
        return []
    remedy = "--shuffle 0 if the order of the rows has no meaning, else --lags 0"
    return [f"the rows come sorted by {state.target.name}: with earlier labels as inputs the error means nothing; say {remedy}"]


def on_inputs(stream: Stream) -> list[str]:
    """Strings that tell rows apart and nothing else."""
    found = []
    for name in stream.names:
        codes = stream.sample.strings[name].codes if name in stream.sample.strings else np.empty(0)
        there = codes[codes >= 0]
        if len(there) > MOST_VALUES and len(np.unique(there)) >= IDENTIFIES * len(there):
            found.append(name)
    names = ",".join(found)
    return [f"{names}: nearly every row has another value, from which little can be learnt: --without {names}"] if found else []


def on_target(model: Model, state: State, stream: Stream) -> list[str]:
    """Numbers that may be names of classes."""
    name = state.target.name
    if model.task is not None or not isinstance(state.target, Value) or not (few := numbered(stream.sample, name, LIKE_CLASSES)):
        return []
    values = f"the value{'s' * (len(few) > 1)} {', '.join(str(cell(value)) for value in few)}"
    return [f"{name} has {values}, which were taken as numbers; if they name classes: --task classification"]


def _on_error(state: State, errors: Errors, lags: int) -> list[str]:
    """Where a baseline does better, and not by chance."""
    if errors.rows < ENOUGH_ROWS:
        return []
    measure, error = next(iter(errors.means().items()))
    better = [name for name, means in errors.baselines().items() if means[measure] < error]
    if not better:
        return []
    if better == ["last label"]:
        follow = "the learner adds nothing to it so far" if lags else "try it as an input: --lags 3"
        return [f"the last label alone does better: {follow}; if the order of the rows has no meaning: --shuffle 0"]
    both = f"the {' and the '.join(better)} {'does' if len(better) == 1 else 'do'} better than the learner"
    said = f"the inputs may say little of {state.target.name}; a stiffer learner may lose less: PKAWV(lam=100)"
    return [f"{both}: {said}"]
