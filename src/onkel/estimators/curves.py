"""The curves of a fitted estimator, one for each column of its inputs, in the units of the rows."""

from __future__ import annotations

import numpy as np

from onkel._types import Vector
from onkel.combine.unscaled import unscaled
from onkel.errors import InputError
from onkel.measure import Components, Curve, components
from onkel.model import State


def curves(state: State, points: int, confidence: float) -> Components:
    own = unscaled(state.learner, state.inner)
    names = state.encoder.names(state.encoded)
    found = components(own.learner, own.state, names, points, confidence)
    if len(found.curves) > len(names):
        raise InputError("curves of products of columns have no units of their own; use standardize=False and onkel.components")
    scale = float(own.scale[0])

    def in_units(curve: Curve, c: int) -> Curve:
        low, high, lowest, highest = (_times(scale, end) for end in (curve.low, curve.high, curve.lowest, curve.highest))
        return Curve(curve.name, own.mean[c] + own.deviation[c] * curve.x, scale * curve.y, low, high, lowest, highest)

    made = tuple(in_units(curve, c) for c, curve in enumerate(found.curves))
    return Components(float(own.centre[0]) + scale * found.intercept, made)


def _times(scale: float, end: Vector | None) -> Vector | None:
    return None if end is None else np.asarray(scale * end)
