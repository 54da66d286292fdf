"""Estimates, from the first rows, how long a learner will take. It is meant for learners whose rows cost more as the stream
grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onkel.combine.assembly import bare
from onkel.errors import InputError
from onkel.measure.engine import Evaluation
from onkel.model import Model, Stream

ROWS_MEASURED = 512
ROWS_IF_UNKNOWN = 10_000  # the number of rows for which the time is estimated if it is not known how many will come
Work = Callable[[int], float]  # a function that returns the work of a number of rows, in any unit


@dataclass(frozen=True)
class Cost:
    """Row t costs `fixed` + `growth` · t² seconds."""

    fixed: float
    growth: float

    def seconds(self, rows: int) -> float:
        """The time of all rows together."""
        return self.fixed * rows + self.growth * rows**3 / 3.0


def is_quadratic(learner: Any) -> bool:
    """Whether row t costs O(t²)."""
    return "t²" in learner.cost


def measured(model: Model, stream: Stream) -> Cost:
    """Measure the cost on the first n rows, with a temporary state. Row t is assumed to take fixed + growth · t² seconds. Then the
    first h = n/2 rows take fixed · h + growth · h³/3 seconds, and all rows fixed · n + growth · n³/3; these two equations give the
    cost."""
    rows = stream.sample[:ROWS_MEASURED]
    run, n = Evaluation.begin(model, stream), len(rows)
    try:
        run.learn(rows[: n // 2])
        half = run.watch.seconds
        run.learn(rows[n // 2 :])
    except InputError:  # such as a missing value: the comparison raises the same error when it comes to that row
        return Cost(0.0, 0.0)
    growth = max(0.0, 4.0 * (run.watch.seconds - 2.0 * half) / n**3) if is_quadratic(bare(run.state.learner)) else 0.0
    return Cost(max(0.0, run.watch.seconds / n - growth * n**2 / 3.0), growth)


def work_of(costs: list[Cost], rows: int | None) -> Work:
    """The time of all learners for so many rows, of a stream that is read again after each `rows` rows."""

    def work(done: int) -> float:
        whole, rest = divmod(done, rows) if rows else (0, done)
        return sum(whole * cost.seconds(rows or 0) + cost.seconds(rest) for cost in costs)

    return work
