"""Parts: the features of a family of experts, in groups. Each expert uses one group more than the expert before it.

Expert k uses the features of parts 0 to k. One matrix then serves all experts of a family, since the leading block of its factor is
the factor of the leading features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onkel._types import Counts, Matrix, Vector
from onkel.combine.auto.views import View
from onkel.features import Features
from onkel.features.compose import copy_columns
from onkel.turns import Steps

INTERCEPT_RIDGE = 1e-4  # the ridge of the first feature, the intercept; small, so that it can follow the mean of the labels


@dataclass(frozen=True)
class Part:
    """Features of one view."""

    view: str  # the name of a view, or of two that are put side by side, joined by +
    features: Features
    width: int  # columns of the view
    name: str  # name of the expert that uses these features and those of all parts before

    @cached_property
    def size(self) -> int:
        return self.features.size(self.width)


def select(view: View, name: str, steps: Steps) -> Matrix:
    """The view of this name. A name joined by + gives several views side by side, written by steps that are added to `steps`."""
    chosen: list[Matrix] = [getattr(view, one) for one in name.split("+")]
    if len(chosen) == 1:
        return chosen[0]
    ends = np.cumsum([part.shape[1] for part in chosen]).tolist()
    wide = np.empty((len(view.X), ends[-1]))
    for part, end in zip(chosen, ends, strict=True):
        steps.add(copy_columns, part, wide, end - part.shape[1])
    return wide


class Parts(tuple[Part, ...]):
    """The parts of a family, in their order. Sizes and places are computed once, because a single row would spend most of its time
    on them."""

    @cached_property
    def ends(self) -> Counts:
        """The number of features of each expert."""
        return np.cumsum([part.size for part in self])

    @cached_property
    def size(self) -> int:
        """The number of features of all parts."""
        return int(self.ends[-1])

    def init_maps(self) -> tuple[Any, ...]:
        return tuple(part.features.init(part.width) for part in self)

    def footprint(self) -> int:
        """The bytes of `init_maps`."""
        return sum(part.features.footprint(part.width) for part in self)

    def transform(self, maps: tuple[Any, ...], view: View, steps: Steps) -> Matrix:
        """The features of all parts, side by side. They are written by steps that are added to `steps`."""
        V = np.empty((len(view.X), self.size))
        for (features, name, start), state in zip(self._places, maps, strict=True):
            steps.steps += features.steps(state, select(view, name, steps), V, start)
        return V

    @cached_property
    def _places(self) -> tuple[tuple[Features, str, int], ...]:
        """The features of each part, the name of its view, and its first column."""
        starts = [0, *self.ends.tolist()]
        return tuple((part.features, part.view, start) for part, start in zip(self, starts[:-1], strict=True))


def ridge_diagonal(r: int, lam: float) -> Vector:
    ridge = np.full(r, lam)
    ridge[0] = INTERCEPT_RIDGE
    return ridge
