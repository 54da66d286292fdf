"""What a page is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from onkel._types import Vector
from onkel.measure import Result
from onkel.measure.effects import Effect
from onkel.measure.importance import Importance, NotMeasured
from onkel.measure.metrics import RMSE, Later, Metric
from onkel.report.html.colours import role
from onkel.report.html.markup import Html


@dataclass(frozen=True)
class Peer:
    """A learner of another library on the same rows.

    losses                Of each row, in its order: 1 for a mistake and 0 for none, or the square error.
    microseconds_per_row  Its time; None if it is not known.
    bytes                 The size of its state; None if it is not known.
    """

    losses: Vector
    microseconds_per_row: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Contents:
    """All that a page shows.

    runs        The results of each learner by its name, one for each seed. They are of the same stream.
    peers       Learners of other libraries, by their names.
    importance  Of the columns, or why it was not measured; None: the page does not speak of it. Default: None.
    effects     The curves of columns. Default: ().
    command     The command that makes the page again. Default: ''.
    checksum    Of the rows. Default: ''.
    """

    runs: Mapping[str, Sequence[Result]]
    peers: Mapping[str, Peer] = field(default_factory=dict)
    importance: Importance | NotMeasured | None = None
    effects: tuple[Effect, ...] = ()
    command: str = ""
    checksum: str = ""

    @property
    def results(self) -> dict[str, Result]:
        """Of each learner the first result."""
        return {name: those[0] for name, those in self.runs.items()}

    def mean(self, name: str, metric: str) -> float:
        """A metric of one of our learners, the mean over its runs."""
        return float(np.mean([one.errors.get(metric, math.nan) for one in self.runs[name]]))

    def error_of(self, name: str) -> float:
        """The error of any learner in the metric by which they are compared."""
        if name in self.runs:
            return self.mean(name, self.metric.name)
        mean = float(np.mean(self.peers[name].losses))
        return math.sqrt(mean) if isinstance(self.metric, RMSE) else mean

    def later_error(self, name: str) -> Later | None:
        """The error of one of our learners over the last rows, the mean over its runs; None if the stream is too short."""
        found = [later for one in self.runs[name] if (later := one.curve.later()) is not None]
        return found[0]._replace(error=float(np.mean([one.error for one in found]))) if found else None

    @property
    def best(self) -> str:
        """The name of our learner with the least error, the mean over its runs."""
        return min(self.runs, key=self.error_of)

    @property
    def main(self) -> Result:
        """The result that the page is about."""
        return self.results[self.best]

    @property
    def metric(self) -> Metric:
        """The metric by which learners are compared."""
        return next(iter(self.runs.values()))[0].curve.metric

    @property
    def roles(self) -> dict[str, str]:
        """The role of each learner in the palette."""
        return {name: role(k) for k, name in enumerate([*self.runs, *self.peers])}


class Section(NamedTuple):
    ident: str
    title: str
    body: Html
