"""The metrics in windows along a stream, from the sums of its pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Counts, Vector
from onkel.measure import metrics
from onkel.measure.errors import Errors
from onkel.measure.pieces import WINDOW


@dataclass(frozen=True, repr=False)
class ErrorCurve:
    """The metrics of a run in overlapping windows along the stream. All windows have equally many rows, but the last ends with the
    stream."""

    ends: Counts  # the last row of each window, counted from 1
    rows: Vector  # of each window
    values: dict[str, Vector]  # the value of each metric in each window, NaN where it is not defined
    metric: metrics.Metric  # the one that pictures show
    baselines: dict[str, Vector]  # the same metric of each baseline
    cumulative: dict[str, Vector]  # it again, of the learner and of each baseline, for all rows up to the end of each window

    def __repr__(self) -> str:
        last = "".join(f", the last {values[-1]:.4g}" for values in (self.values[self.metric.name],) if len(values))
        return f"<ErrorCurve: {self.metric.name} in {len(self.ends):,} windows{last}>"

    def last(self) -> dict[str, Any]:
        """The last window: the number of its rows, and its metrics."""
        return {"rows": int(self.rows[-1]), **{name: float(values[-1]) for name, values in self.values.items()}}

    def shown(self) -> dict[str, Any]:
        """The curves that pictures show, in windows that do not overlap."""
        return self._apart({self.metric.name: self.values[self.metric.name], **self.baselines})

    def so_far(self) -> dict[str, Any]:
        """The cumulative curves at the ends of the same windows."""
        return self._apart(self.cumulative)

    def _apart(self, lines: dict[str, Vector]) -> dict[str, Any]:
        apart = slice((len(self.ends) - 1) % WINDOW, None, WINDOW)
        return {"rows": self.ends[apart].tolist(), **{name.replace(" ", "_"): line[apart].tolist() for name, line in lines.items()}}


def curve_of_losses(losses: Vector, like: ErrorCurve) -> tuple[Vector, Vector]:
    """The metric of another curve from the losses of each row of the same stream, mistakes or square errors: in the same windows,
    and for all rows up to their ends."""
    sums = np.cumsum(np.append(0.0, losses))
    windows, so_far = (sums[like.ends] - sums[like.ends - like.rows.astype(np.int64)]) / like.rows, sums[like.ends] / like.ends
    return (np.sqrt(windows), np.sqrt(so_far)) if isinstance(like.metric, metrics.RMSE) else (windows, so_far)


def curve_of(errors: Errors) -> ErrorCurve:
    """The error curve of a stream, which must have at least one row."""
    sums = errors.windows()
    shown = metrics.headline(metrics.task_of(sums))
    baselines = {name: metrics.values([shown], guesses)[shown.name] for name, guesses in sums.baselines().items()}
    known = {name: values for name, values in metrics.every(sums).items() if name != metrics.AUC.name}
    return ErrorCurve(errors.pieces.ends(), sums.rows, known, shown, baselines, _cumulative(errors, shown))


def _cumulative(errors: Errors, shown: metrics.Metric) -> dict[str, Vector]:
    sums = errors.so_far()
    lines = {shown.name: sums, **sums.baselines()}
    first = min(WINDOW, errors.pieces.used) - 1  # the piece at whose end the first window ends
    return {name: metrics.values([shown], found)[shown.name][first:] for name, found in lines.items()}
