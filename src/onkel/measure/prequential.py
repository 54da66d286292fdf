"""Prequential evaluation: every row is scored before it is learnt, and every score counts, including the first.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> trace = onkel.prequential(onkel.PKAWV(), X, y)
>>> round(trace.mean("mistakes"), 3)
0.003
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel._types import Vector
from onkel.errors import InputError
from onkel.measure.engine import ROWS_TO_WARM_UP, Stopwatch
from onkel.measure.errors import curve_of
from onkel.measure.metrics import ErrorCurve, Metric
from onkel.measure.row_losses import Loss, default_metrics, windowed
from onkel.measure.score_errors import errors_of
from onkel.protocol import is_learner
from onkel.state import nbytes

ROWS_AT_ONCE = 1024

Block = tuple[Any, ...]  # (X, y) or (X, y, weight)
Progress = Callable[[int, "Trace"], None]


@dataclass(repr=False)
class Trace:
    """The outcome of `prequential`: the score and the losses of each row, and time and memory at the end of each block.

    learner     The learner that was evaluated.
    state       Its state after the last row.
    scores      The score of each row before it was learnt.
    y           The label of each row.
    losses      For each metric its value for each row.
    rows_at     The number of rows learnt at the end of each block.
    seconds_at  The time spent in the learner until then, without compilation.
    bytes_at    The size of the state then.
    values      The value of each metric such as F1() for all rows.
    curve       The same metrics in windows along the stream.

    >>> X, y = onkel.data.abrupt(4000, changes=1, seed=0)
    >>> trace = onkel.prequential(onkel.PKAWV(), X, y)
    >>> trace.windowed("square", window=500)[[1999, 2499, 3999]].round(1)  # before the change, after it, at the end
    array([0.1, 1.6, 0.7])
    """

    learner: Any
    state: Any = None
    scores: Vector = field(default_factory=lambda: np.empty(0))
    y: Vector = field(default_factory=lambda: np.empty(0))
    losses: dict[str, Vector] = field(default_factory=dict)
    rows_at: list[int] = field(default_factory=list)
    seconds_at: list[float] = field(default_factory=list)
    bytes_at: list[int] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)
    curve: ErrorCurve | None = None

    def __repr__(self) -> str:
        means = "".join(f", {metric} {value:.4g}" for metric, value in self.means().items())
        return f"<Trace of {self.learner!r}: {self.rows:,} rows{means}, {self.seconds:.3g} s, {self.nbytes:,} bytes>"

    @property
    def rows(self) -> int:
        return len(self.scores)

    @property
    def seconds(self) -> float:
        return self.seconds_at[-1] if self.seconds_at else 0.0

    @property
    def nbytes(self) -> int:
        return self.bytes_at[-1] if self.bytes_at else 0

    def mean(self, metric: str) -> float:
        """The average over all rows, including the first."""
        return float(np.mean(self._of(metric)))

    def means(self) -> dict[str, float]:
        """All metrics over all rows; empty before the first row."""
        return {metric: self.mean(metric) for metric in self.losses if self.rows} | self.values

    def cumulative(self, metric: str) -> Vector:
        """The average over rows 1 … t, for every t."""
        losses = self._of(metric)
        return np.asarray(np.cumsum(losses) / np.arange(1, len(losses) + 1))

    def windowed(self, metric: str, window: int = 1000) -> Vector:
        """The average over the last `window` rows (over all rows so far if there are fewer), for every t."""
        return windowed(self._of(metric), window)

    def summary(self) -> dict[str, Any]:
        """The means, time and memory as plain numbers, for JSON."""
        each = 1e6 * self.seconds / self.rows if self.rows else 0.0
        return {
            "learner": repr(self.learner),
            "rows": self.rows,
            **self.means(),
            "microseconds_per_row": each,
            "bytes": self.nbytes,
        }

    def _of(self, metric: str) -> Vector:
        if metric not in self.losses:
            raise InputError(f"the trace has no metric {metric!r}; it has {', '.join(self.losses) or 'none'}")
        return self.losses[metric]


def prequential(
    learner: Any,
    stream: Block | Iterable[Block] | ArrayLike,
    y: ArrayLike | None = None,
    *,
    state: Any = None,
    delay: int = 0,
    metrics: Mapping[str, Loss] | Sequence[Metric] | Metric | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Evaluate a learner on a stream; or on arrays X and y, given as two arguments.

    learner    the learner; all that it learns is in `trace.state`
    stream     blocks (X, y) or (X, y, weight), or one such tuple; or X alone, followed by y
    y          the labels of X; None: they are in the stream
    state      a state to continue from, such as `trace.state` of an earlier run; None: begin a new one
    delay      how many rows later a label arrives: with delay k, that of row t arrives after the score of row t + k. Default: 0.
    metrics    a metric such as R2(), or several, such as (RMSE(), R2()), whose values and curves the trace then has; or functions
               of (scores, y) by name, each of which gives every row a loss; None: mistakes and square loss for labels ±1, else
               square and absolute loss
    progress   called with (rows learnt, trace so far) after each block; None: nothing is called
    """
    if isinstance(stream, str):
        raise InputError(
            f"a stream is made of blocks of arrays; open {stream!r} first: prequential(learner, onkel.read({stream!r}))"
        )
    if not is_learner(learner):
        raise InputError(f"prequential takes a learner, such as onkel.PKAWV(), got {learner!r:.100}; see: onkel learners")
    if isinstance(y, str):
        raise InputError(f"y is a name, not labels; a table and its target are a stream: onkel.read(table, {y!r})")
    if delay < 0:
        raise InputError(f"delay must be at least 0, got {delay}")
    trace = Trace(learner, state)
    scores: list[NDArray[Any]] = []
    labels: list[NDArray[Any]] = []
    waiting: deque[Block] = deque()
    rows, watch = 0, Stopwatch()
    for block in _blocks(stream if y is None else (stream, y)):
        if not scores:
            _warm_up(learner, block)
        if trace.state is None:
            trace.state = _init(learner, block)
        if delay:
            scores.append(watch.run(_late, learner, trace.state, block, waiting, delay))
        else:
            scores.append(watch.run(learner.learn, trace.state, *block))
        labels.append(np.array(block[1], dtype=float))  # a copy: a view may keep a whole table, and the stream may reuse its array
        rows += len(labels[-1])
        trace.rows_at.append(rows)
        trace.seconds_at.append(watch.seconds)
        trace.bytes_at.append(nbytes(trace.state))
        if progress is not None:
            progress(rows, trace)
    for row in waiting:
        watch.run(learner.learn, trace.state, *row)
    if scores:
        trace.seconds_at[-1] = watch.seconds
        trace.scores, trace.y = np.concatenate(scores), np.concatenate(labels)
        _measure(trace, default_metrics(trace.y) if metrics is None else metrics)
    return trace


def _measure(trace: Trace, metrics: Mapping[str, Loss] | Sequence[Metric] | Metric) -> None:
    if isinstance(metrics, Mapping):
        trace.losses = {name: np.asarray(metric(trace.scores, trace.y), dtype=float) for name, metric in metrics.items()}
        return
    metrics = metrics if isinstance(metrics, Sequence) else (metrics,)
    errors = errors_of(trace.learner, metrics, trace.scores, trace.y)
    means = errors.means()
    trace.values, trace.curve = {metric.name: means[metric.name] for metric in metrics}, curve_of(errors)


def _late(learner: Any, state: Any, block: Block, waiting: deque[Block], delay: int) -> Vector:
    """Score each row; after each score, learn the earlier row whose label has now arrived."""
    scores = []
    for t in range(len(block[0])):
        row = tuple(np.array(part[t : t + 1]) for part in block)  # a copy, since it is learnt later
        scores.append(learner.predict(state, row[0]).reshape(row[1].shape))
        waiting.append(row)
        if len(waiting) > delay:
            learner.learn(state, *waiting.popleft())
    return np.concatenate(scores)


def _warm_up(learner: Any, block: Block) -> None:
    """Load the compiled code before the clock runs, using a temporary state."""
    state = _init(learner, block)
    learner.learn(state, *(part[:ROWS_TO_WARM_UP] for part in block))
    learner.predict(state, block[0][:1])


def _init(learner: Any, block: Block) -> Any:
    X, y = np.asarray(block[0]), np.asarray(block[1])
    if X.ndim != 2:
        raise InputError(f"a block's X must have two dimensions (rows, columns), got shape {X.shape}")
    return learner.init(X.shape[1], y.shape[1] if y.ndim == 2 else 1)


def _blocks(stream: Any) -> Iterator[Block]:
    """The blocks of the stream, each cut into blocks of ROWS_AT_ONCE rows (the last may have fewer), so that progress is reported.
    A rerun has the same blocks."""
    for block in [stream] if isinstance(stream, tuple) else stream:
        if not isinstance(block, tuple) or len(block) not in (2, 3):
            raise InputError(
                f"a stream must consist of tuples (X, y) or (X, y, weight), got {block!r:.60}; write prequential(learner, X, y)"
            )
        parts = [_array(part) for part in (block[:2] if block[-1] is None else block)]
        lengths = {part.shape[:1] for part in parts}
        if len(lengths) > 1 or () in lengths:
            shapes = " and ".join(str(part.shape) for part in parts)
            raise InputError(f"a block must have as many labels and weights as rows, got shapes {shapes}")
        for start in range(0, len(parts[0]), ROWS_AT_ONCE):
            yield tuple(part[start : start + ROWS_AT_ONCE] for part in parts)


def _array(part: Any) -> NDArray[Any]:
    try:
        return np.asarray(part)
    except ValueError as error:
        raise InputError(f"a block's X, y and weight must be arrays ({error}); give several blocks as a list") from None
