"""Suggestions that follow from a result: about the order of the rows, the inputs, the target and the error."""

from __future__ import annotations

import math

from onkel.combine.assembly import lags_of
from onkel.measure.errors import Errors, baselines
from onkel.measure.sums import NumberSums
from onkel.model import Model, State, Stream
from onkel.model.target import Value, cell, numbered

ENOUGH_ROWS = 100  # rows needed to compare the learner with the baselines
LIKE_CLASSES = 10  # with at most this many different integers, the target may consist of classes


def advice(model: Model, state: State, errors: Errors, stream: Stream) -> list[str]:
    """One sentence per suggestion, with the option to use."""
    lags = lags_of(state.learner)
    on_rows = on_order(state, errors, lags) or _on_error(state, errors, lags)
    return [*on_target(model, state, stream), *on_rows, *on_first_row(errors)]


def on_no_rows(state: State, stream: Stream) -> str:
    """What to do if no row could be learnt."""
    if state.encoded.unlabelled:
        return f"{stream.name}: no row has a label in {state.target.name!r}; choose another column to predict (--target)"
    return f"{stream.name}: no row was left to learn from; see --missing"


def on_order(state: State, errors: Errors, lags: int) -> list[str]:
    """Advice if the labels are sorted, so that the last label reveals the next one."""
    if not lags or errors.rows < ENOUGH_ROWS or not errors.is_sorted:
        return []
    remedy = "--shuffle 0 if the order of the rows has no meaning, else --lags 0"
    return [f"the rows are sorted by {state.target.name}: with earlier labels as inputs the error means nothing; use {remedy}"]


def on_first_row(errors: Errors) -> list[str]:
    """A remark if most of the square error is that of the first row, as for numbers that lie far from 0 and close together."""
    whole = errors.whole()
    if not isinstance(whole, NumberSums) or errors.rows == 1 or whole.first_square <= whole.later_square:
        return []
    squares = {"": whole.later_square, "the running mean: ": whole.mean_square, "the last label: ": whole.last_square}
    own, *others = (f"{who}{math.sqrt(square / (errors.rows - 1)):.4g}" for who, square in squares.items())
    share = float(whole.first_square / (whole.first_square + whole.later_square))
    return [f"{share:.1%} of the square error is from the first row; without it the rms error is {own} ({', '.join(others)})"]


def on_target(model: Model, state: State, stream: Stream) -> list[str]:
    """Advice on a target of numbers that may stand for classes."""
    name = state.target.name
    if model.task is not None or not isinstance(state.target, Value) or not (few := numbered(stream.sample, name, LIKE_CLASSES)):
        return []
    values = f"the value{'s' * (len(few) > 1)} {', '.join(str(cell(value)) for value in few)}"
    return [f"{name} has {values}, which were taken as numbers; if they are classes: --task classification"]


def _on_error(state: State, errors: Errors, lags: int) -> list[str]:
    """Advice if a baseline does better than the learner."""
    if errors.rows == 1:
        return ["the only row was predicted before anything was known; an error needs more rows"]
    if errors.rows < ENOUGH_ROWS:
        return []
    measure, error = next(iter(errors.means().items()))
    better = [name for name, means in baselines(errors).items() if means[measure] < error]
    if not better:
        return []
    if better == ["last label"]:
        follow = "the learner adds nothing to it so far" if lags else "try it as an input: --lags 3"
        return [f"the last label alone does better: {follow}; if the order of the rows has no meaning: --shuffle 0"]
    both = f"the {' and the '.join(better)} {'does' if len(better) == 1 else 'do'} better than the learner"
    if "last label" in better and not lags:
        return [f"{both}: try earlier labels as inputs: --lags 3; if the order of the rows has no meaning: --shuffle 0"]
    return [f"{both}: the inputs may say little about {state.target.name}"]
