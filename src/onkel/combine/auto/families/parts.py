"""Parts: the features of a family, in the order in which its experts use them.

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


def select(view: View, name: str) -> Matrix:
    """The view of this name. A name joined by + gives several views side by side."""
    parts = [getattr(view, one) for one in name.split("+")]
    return parts[0] if len(parts) == 1 else np.hstack(parts)


def ends(parts: tuple[Part, ...]) -> Counts:
    """The number of features of each expert."""
    return np.cumsum([part.size for part in parts])


def init_maps(parts: tuple[Part, ...]) -> tuple[Any, ...]:
    return tuple(part.features.init(part.width) for part in parts)


def footprint(parts: tuple[Part, ...]) -> int:
    """The bytes of `init_maps`."""
    return sum(part.features.footprint(part.width) for part in parts)


def transform(parts: tuple[Part, ...], maps: tuple[Any, ...], view: View) -> Matrix:
    """The features of all parts, side by side."""
    V = np.empty((len(view.X), sum(part.size for part in parts)))
    nothing, at = np.zeros(len(V)), 0
    for part, state in zip(parts, maps, strict=True):
        part.features.write(state, select(view, part.view), nothing, V, at)
        at += part.size
    return V


def ridge_diagonal(r: int, lam: float) -> Vector:
    ridge = np.full(r, lam)
    ridge[0] = INTERCEPT_RIDGE
    return ridge
