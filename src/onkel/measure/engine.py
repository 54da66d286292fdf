"""The one engine that plays rows through what learns them: warm-up, clock, errors and baselines, each in one place.

Stopwatch      the time in what learns, without what is compiled meanwhile
Evaluation     a `Model` on tables, every row scored before it is learnt; its `Result`

`prequential` plays bare learners on arrays with the same stopwatch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from onkel._jit import compiler_off, seconds_compiling
from onkel._types import Vector
from onkel.combine import Auto
from onkel.data.table import Table
from onkel.measure.advice import advice
from onkel.measure.explain import explain
from onkel.measure.result import Result
from onkel.measure.scores import ClassErrors, Errors, errors_for
from onkel.model import Model, State, Stream
from onkel.model.model import called
from onkel.state import nbytes

ROWS_TO_WARM_UP = 64

T = TypeVar("T")


@dataclass
class Stopwatch:
    """The time that work takes, without what is compiled meanwhile."""

    seconds: float = 0.0

    def run(self, work: Callable[..., T], *arguments: Any) -> T:
        began = self._now()
        try:
            return work(*arguments)
        finally:
            self.seconds += self._now() - began

    @staticmethod
    def _now() -> float:
        return time.perf_counter() - seconds_compiling()


@dataclass
class Evaluation:
    """One model on one stream, from any of its rows on."""

    model: Model
    state: State
    errors: Errors
    losses: list[Vector] | None = None  # of the first measure, row by row, where they are wanted
    rows: int = 0  # scored by this object, others before it
    watch: Stopwatch = field(default_factory=Stopwatch)
    warm: bool = False  # the compiled code is loaded

    @staticmethod
    def begin(model: Model, stream: Stream, keep_losses: bool = False) -> Evaluation:
        state = model.begin(stream)
        return Evaluation(model, state, errors_for(state.target.task), [] if keep_losses else None)

    def warm_up(self, table: Table) -> None:
        """Load the compiled code, if there is any, before the clock runs, on a state that is thrown away."""
        if self.warm:
            return
        self.warm = True
        if compiler_off:
            return
        idle = self.model.again(self.state)
        self.model.answer(idle, table[:ROWS_TO_WARM_UP])
        self.model.predict(idle, table[:1])

    def learn(self, table: Table) -> None:
        """Score the rows, then learn them."""
        if not len(table):
            return
        self.warm_up(table)
        losses = self.errors.add(self.watch.run(self.model.answer, self.state, table))
        self.rows += len(losses)
        if self.losses is not None:
            self.losses.append(losses)

    def result(self, stream: Stream, earlier_rows: int = 0) -> Result:
        model, state, errors = self.model, self.state, self.errors
        told = explain(state.learner, state.inner).sentences if isinstance(model.own(state.learner), Auto) else []
        return Result(
            source=stream.name,
            target=state.target.name,
            task=state.target.task,
            classes=tuple(model.classes(state)),
            learner=repr(model.own(state.learner)),
            name=called(model.own(state.learner)),
            lags=model.lags_of(state),
            standardised=model.standardises(state),
            rows=errors.rows,
            earlier_rows=earlier_rows,
            inputs=len(stream.names),
            columns=state.encoder.width,
            errors=errors.means(),
            baselines=errors.baselines(),
            coverage=model.coverage(state),
            reliability=errors.reliability() if isinstance(errors, ClassErrors) else None,
            microseconds_per_row=1e6 * self.watch.seconds / max(1, self.rows),
            bytes=nbytes(state.inner),
            decided=tuple(told),
            notes=(*stream.source.notes(), *stream.remarks, *model.notes(state), *advice(model, state, errors, stream)),
            losses=None if self.losses is None else np.concatenate([np.empty(0), *self.losses]),
        )
