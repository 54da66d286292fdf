"""The scoring engine: warm-up, clock, errors and baselines, each in one place.

Stopwatch      the time spent in a learner, without compilation
Evaluation     a `Model` on tables; every row is scored before it is learnt
Result         the outcome, one plain object from which tables, pictures and JSON are made

`prequential` evaluates bare learners on arrays with the same stopwatch.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from onkel._jit import clock, compiler_off
from onkel._types import Vector
from onkel.combine import Auto, Intervals, conformal
from onkel.combine.assembly import bare, called, lags_of
from onkel.data.table import Table
from onkel.measure.advice import advice
from onkel.measure.drift import Change
from onkel.measure.errors import ClassErrors, Errors, HalfWidths, baselines, curve_of, errors_for, headline_of
from onkel.measure.explain import Compared, Explanation, explain
from onkel.measure.metrics import ErrorCurve
from onkel.measure.observed import Observation, Observed
from onkel.measure.reliability import Reliability
from onkel.model import Answers, Model, State, Stream
from onkel.state import copied, nbytes

ROWS_TO_WARM_UP = 64

T = TypeVar("T")


@dataclass
class Stopwatch:
    """Adds up the time of calls, without compilation."""

    seconds: float = 0.0

    def run(self, work: Callable[..., T], *arguments: Any) -> T:
        began = clock()
        try:
            return work(*arguments)
        finally:
            self.seconds += clock() - began


@dataclass(frozen=True, repr=False)
class Result:
    """What was measured on a stream: errors, baselines, intervals, changes, time and memory.

    >>> model = onkel.Model(target="target", learner=onkel.PKAWV())
    >>> stream = model.open("diabetes")
    >>> evaluation = onkel.measure.Evaluation.begin(model, stream)
    >>> for table in stream.tables():
    ...     losses = evaluation.learn(table)
    >>> result = evaluation.result(stream)
    >>> isinstance(result, onkel.measure.Result), result.task, result.rows, round(result.coverage["0.9"], 1)
    (True, 'regression', 442, 0.9)
    """

    source: str  # where the rows came from
    target: str  # the column that was predicted
    task: str  # "regression" or "classification"
    classes: tuple[Any, ...]  # the labels of the classes, in the order of their probabilities; empty for numbers
    learner: str  # the learner as Python code
    name: str  # the learner as Python code, without settings that have their default values
    lags: int  # the number of earlier labels that were inputs
    standardised: dict[str, bool]  # whether the inputs are standardised, and whether the target is
    rows: int  # rows that were scored, then learnt
    earlier_rows: int  # rows of other files, learnt before these
    inputs: int  # columns of the source that are inputs
    columns: int  # columns of X after encoding
    errors: dict[str, float]  # every metric of all rows, NaN where it is not defined; learners are compared by the first
    baselines: dict[str, dict[str, float]]  # metrics of predictions that use only the labels before each row
    curve: ErrorCurve  # the metrics in windows along the stream
    confusion: list[list[int]] | None  # rows by class and predicted class; None for numbers, and for very many classes
    changes: tuple[Change, ...]  # rises of the mean absolute error, or of the share of mistakes
    coverage: dict[str, float]  # the share of labels within their interval, by level
    reliability: Reliability | None  # how reliable the probabilities of classes are
    microseconds_per_row: float | None  # None if no row was learnt, as when a finished run is resumed
    bytes: int  # the size of the learner's state
    findings: tuple[str, ...]  # what `explain` says about Auto, one sentence each
    notes: tuple[str, ...]  # what the user should know, one sentence each
    explanation: Explanation | None = None  # of Auto; None for other learners
    observed: Observation | None = None  # residuals and columns, if the evaluation was to observe them

    def __repr__(self) -> str:
        error = f"{self.measure} {self.errors[self.measure]:.4g}"
        return f"<Result of {self.name} on {self.source}: {self.rows:,} rows, {error}>"

    @property
    def measure(self) -> str:
        """The name of the error by which learners are compared."""
        return next(iter(self.errors))

    def to_json(self) -> dict[str, Any]:
        """The result as plain numbers, strings, lists and dicts; a metric that is not defined is None.

        errors            each metric under its own name: `rmse`, `mae`, `r2`, …, or `mistakes`, `accuracy`, `f1`, `auc`, …
        `window`          the same metrics for the last window, which has `rows` rows; without `auc`, which needs all rows
        `mape_left_out`   the number of rows whose label is 0, which `mape` leaves out
        `curve`           the error that a picture shows, and that of the baselines, for windows that end at `rows`
        `cumulative`      the same error for all rows up to each of these `rows`
        `regret`          of Auto over its last `rows` rows, to the best expert and to the best fixed combination, and their bounds
        `changes`         of the stream: the `row`, and the mean absolute error, or share of mistakes, `before` and `after`
        `running_mean`, `most_frequent_label`, `last_label`    the errors of the baselines
        """
        is_class = self.reliability is not None
        return {
            "file": self.source,
            "target": self.target,
            "task": self.task,
            **({"classes": list(self.classes)} if is_class else {}),
            "learner": self.learner,
            "lags": self.lags,
            "standardised": self.standardised,
            "rows": self.rows,
            "earlier_rows": self.earlier_rows,
            "inputs": self.inputs,
            "columns": self.columns,
            **as_json(self.errors),
            **self._reliability_json(),
            **({} if is_class else {"coverage": self.coverage}),
            **{name.replace(" ", "_"): means for name, means in self.baselines.items()},
            "window": as_json(self.curve.last()),
            "curve": as_json(self.curve.shown()),
            "cumulative": as_json(self.curve.so_far()),
            "changes": [change._asdict() for change in self.changes],
            "microseconds_per_row": self.microseconds_per_row,
            "bytes": self.bytes,
            **({"decided": list(self.findings)} if self.findings else {}),
            **({} if self.explanation is None else _regret_json(self.explanation)),
            "notes": list(self.notes),
        }

    def _reliability_json(self) -> dict[str, Any]:
        """How reliable the probabilities are, and which classes are confused."""
        if self.reliability is None:
            return {}
        return {"calibration_error": self.reliability.calibration_error, "confusion": self.confusion}


def _regret_json(explained: Explanation) -> dict[str, Any]:
    """The regrets of a mixture and their bounds; nothing if they are not known."""
    both = {"expert": explained.to_expert, "combination": explained.to_combination}
    known = {name: {"regret": one.regret, "bound": _finite(one)} for name, one in both.items() if one is not None}
    return {"regret": {"rows": explained.since, **known}} if known else {}


def _finite(one: Compared) -> float | None:
    return one.bound if math.isfinite(one.bound) else None


def as_json(found: Any) -> Any:
    """The same values with None for NaN, which JSON does not have."""
    if isinstance(found, dict):
        return {name: as_json(value) for name, value in found.items()}
    if isinstance(found, list):
        return [as_json(value) for value in found]
    return None if isinstance(found, float) and math.isnan(found) else found


class Answered(NamedTuple):
    """The rows of a table, each before it was learnt."""

    answers: Answers
    losses: Vector  # its square error, or 1 for a mistake
    intervals: HalfWidths | None


@dataclass
class Evaluation:
    """One model on one stream, from the start or from any later row.

    >>> model = onkel.Model(target="target", learner=onkel.PKAWV())
    >>> stream = model.open("diabetes")
    >>> evaluation = Evaluation.begin(model, stream)
    >>> for table in stream.tables():
    ...     losses = evaluation.learn(table)
    >>> result = evaluation.result(stream)
    >>> result.rows, round(result.errors["rmse"]), {name: round(errors["rmse"]) for name, errors in result.baselines.items()}
    (442, 59, {'running mean': 78, 'last label': 107})
    """

    model: Model
    state: State
    errors: Errors
    rows: int = 0  # rows scored by this object; a resumed run scored others earlier
    watch: Stopwatch = field(default_factory=Stopwatch)
    warm: bool = False  # whether the compiled code is loaded
    observed: Observed | None = None  # what a report shows; None: nothing is observed
    recent: Errors | None = None  # the errors of the rows since `mark`; None if it was not called

    @staticmethod
    def begin(model: Model, stream: Stream) -> Evaluation:
        """An evaluation before the first row of a stream that the model has opened."""
        state = model.begin(stream)
        return Evaluation(model, state, errors_for(state.target.task))

    def observe(self) -> None:
        """From now on, observe what a report shows."""
        wrapper = self.state.learner
        self.observed = Observed(wrapper.levels if isinstance(wrapper, Intervals) else (), self.errors.rows == 0)

    def mark(self) -> None:
        """From now on, count the errors of new rows also by themselves."""
        self.recent = errors_for(self.state.target.task)

    def warm_up(self, table: Table) -> None:
        """Load the compiled code, if any, before the clock runs, using a temporary state."""
        if self.warm:
            return
        self.warm = True
        if compiler_off:
            return
        idle = self.model.fresh(self.state)
        self.model.answer(idle, table[:ROWS_TO_WARM_UP])
        self.model.predict(idle, table[:1])

    def learn(self, table: Table) -> Vector:
        """Score the rows, then learn them. Returns the loss of each row that was learnt: its square error, or 1 for a mistake."""
        return self.answer(table).losses if len(table) else np.empty(0)

    def answer(self, table: Table, lagged: ArrayLike | None = None) -> Answered:
        """Score the rows, then learn them.

        `lagged`: for a row whose label comes late, what `Model.remember` returned when it was predicted.
        """
        self.warm_up(table)
        has_intervals = isinstance(self.state.learner, Intervals)
        bands = copied(self.state.inner.bands) if has_intervals else None
        answers = self.watch.run(self.model.answer, self.state, table, lagged)
        intervals = None if bands is None else _intervals(bands, answers)
        losses = _add(self.errors, answers, intervals)
        if self.recent is not None:
            _add(self.recent, answers, intervals)
        self.rows += len(answers.actual)
        if self.observed is not None:
            self.observed.add(table, answers, None if intervals is None else intervals.half)
            if self.observed.hold(table) and self.errors.rows:
                self.observed.error = next(iter(headline_of(self.errors).values()))
        return Answered(answers, losses, intervals)

    def result(self, stream: Stream, earlier_rows: int = 0) -> Result:
        """What was measured so far."""
        model, state, errors = self.model, self.state, self.errors
        notes = (*stream.source.notes(), *stream.remarks, *model.notes(state), *advice(model, state, errors, stream))
        return self.measured(stream.name, len(stream.names), notes, earlier_rows)

    def measured(self, source: str, inputs: int, notes: Sequence[str], earlier_rows: int = 0) -> Result:
        """What was measured so far on rows from this source, which has so many columns that are inputs."""
        model, state, errors = self.model, self.state, self.errors
        own = bare(state.learner)
        explanation = explain(state.learner, state.inner) if isinstance(own, Auto) and errors.rows > 1 else None
        return Result(
            source=source,
            target=state.target.name,
            task=state.target.task,
            classes=tuple(model.classes(state)),
            learner=repr(own),
            name=called(own),
            lags=lags_of(state.learner),
            standardised=model.standardises(state),
            rows=errors.rows,
            earlier_rows=earlier_rows,
            inputs=inputs,
            columns=state.encoder.width,
            errors=errors.means(),
            baselines=baselines(errors),
            curve=curve_of(errors),
            confusion=errors.confusion if isinstance(errors, ClassErrors) else None,
            changes=tuple(errors.drift.changes()),
            coverage=model.coverage(state),
            reliability=errors.reliability() if isinstance(errors, ClassErrors) else None,
            microseconds_per_row=1e6 * self.watch.seconds / self.rows if self.rows else None,
            bytes=nbytes(state),
            findings=() if explanation is None else tuple(explanation.sentences),
            notes=tuple(notes),
            explanation=explanation,
            observed=None if self.observed is None else self.observed.result(),
        )


def of_recent_rows(result: Result, recent: Errors) -> Result:
    """The result with the figures of recent rows alone."""
    return dataclasses.replace(result, rows=recent.rows, errors=recent.means(), baselines=baselines(recent), curve=curve_of(recent))


def _add(errors: Errors, answers: Answers, intervals: HalfWidths | None) -> Vector:
    return errors.add(answers) if isinstance(errors, ClassErrors) else errors.add(answers, intervals)


def _intervals(bands: conformal.Bands, answers: Answers) -> HalfWidths:
    """The intervals of rows before each was learnt, from the bands before the first of them."""
    residuals = (answers.actual - answers.predicted)[:, None]
    return HalfWidths(bands.levels, conformal.learn(bands, residuals, np.ones(len(residuals)))[:, 0])
