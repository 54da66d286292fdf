"""What a learner made of a learner says of itself: the same as the one inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onkel._types import Vector


def same(name: str) -> Any:
    """A property that is the inner learner's own: `bounded = same("bounded")`."""
    return property(lambda outer: getattr(outer.learner, name))


def at_any_time(learner: Any) -> Callable[..., Vector]:
    """Its answer for rows that need not come next: `predict_any` where it has one, else `predict`."""
    verb: Callable[..., Vector] = getattr(learner, "predict_any", learner.predict)
    return verb


def remembered(learner: Any, state: Any) -> Vector:
    """The earlier labels that a row would get now; none where the learner knows nothing of them."""
    return np.asarray(learner.remember(state)) if hasattr(learner, "remember") else np.empty(0)
