"""How long a learner will take whose row costs more the more rows it has learnt, from its first rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onkel.errors import InputError
from onkel.measure.engine import Evaluation
from onkel.model import Model, Stream

ROWS_MEASURED = 512
ROWS_IF_UNKNOWN = 10_000  # for which the time is said if nobody knows how many rows will come
Work = Callable[[int], float]  # the work of so many rows, in any unit


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
    """The cost by the first rows, learnt by a temporary state: their first half h takes f h + g h³/3, all of them f n + g n³/3."""
    rows = stream.sample[:ROWS_MEASURED]
    run, n = Evaluation.begin(model, stream), len(rows)
    try:
        run.learn(rows[: n // 2])
        half = run.watch.seconds
        run.learn(rows[n // 2 :])
    except InputError:  # such as a missing value: the comparison itself will say so, at the row's turn
        return Cost(0.0, 0.0)
    growth = max(0.0, 4.0 * (run.watch.seconds - 2.0 * half) / n**3) if is_quadratic(model.unwrapped(run.state.learner)) else 0.0
    return Cost(max(0.0, run.watch.seconds / n - growth * n**2 / 3.0), growth)


def work_of(costs: list[Cost], rows: int | None) -> Work:
    """The time of all learners for so many rows, of a stream that is read again after each `rows` rows."""

    def work(done: int) -> float:
        whole, rest = divmod(done, rows) if rows else (0, done)
        return sum(whole * cost.seconds(rows or 0) + cost.seconds(rest) for cost in costs)

    return work
