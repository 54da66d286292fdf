"""What the learner inside the wrappers says of its curve, in the units of the rows: standard errors, and the scales of curves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.combine.intervals import Intervals
from onkel.combine.scaled import Scaled
from onkel.combine.wrapper import Wrapper
from onkel.errors import InputError

WITH_BANDS = "onkel.MercerProjection()"


class Unscaled(NamedTuple):
    """A learner without its wrappers, and its units: z = (x − mean)/deviation, y = centre + scale · score."""

    learner: Any
    state: Any
    mean: Vector  # (dim,)
    deviation: Vector  # (dim,); 0 for a constant column, whose z is 0
    centre: Vector  # (outputs,)
    scale: Vector  # (outputs,)


def unscaled(whole: Any, state: Any) -> Unscaled:
    """The learner inside. The scales are those of the rows so far."""
    mean, deviation = np.zeros(state.dim), np.ones(state.dim)
    centre, scale = np.zeros(state.outputs), np.ones(state.outputs)
    while isinstance(whole, Wrapper):
        if isinstance(whole, Scaled):
            if whole.inputs:
                mean, deviation = state.known[0], np.sqrt(state.known[1] / np.maximum(state.known[2], 1.0))
            centre, scale = state.centre, np.where(state.scale == 0.0, 1.0, state.scale)
        elif not isinstance(whole, Intervals):
            raise InputError(
                f"there are no standard errors or curves with {type(whole).__name__}: its curve is not one of the inputs"
            )
        whole, state = whole.learner, state.inner
    return Unscaled(whole, state, mean, deviation, centre, scale)


def standard_error(whole: Any, state: Any, X: Matrix, there: NDArray[np.bool_] | None = None) -> Vector:
    """The standard error of the curve at each row; a missing value counts as the mean of its column."""
    own = unscaled(whole, state)
    if not hasattr(own.learner, "standard_error"):
        raise InputError(f"{own.learner!r:.200} has no standard errors; take {WITH_BANDS}, or predict_interval for new values of y")
    known = own.deviation > 0.0
    Z = np.where(known, (X - own.mean) / np.where(known, own.deviation, 1.0), 0.0)
    errors: Vector = own.learner.standard_error(own.state, Z if there is None else np.where(there, Z, 0.0))
    return errors * (own.scale if errors.ndim > 1 else own.scale[0])
