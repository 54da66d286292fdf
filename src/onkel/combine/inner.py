"""What a learner made of a learner says of itself: the same as the one inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block, check_labelled, check_labels
from onkel._sparse import is_sparse, refuse_other_than_matrix
from onkel._types import Matrix, Vector


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


def takes_sparse(learner: Any) -> bool:
    """Whether X may be one of scipy.sparse's matrices."""
    return bool(getattr(learner, "takes_sparse", False))


def check_labelled_for(learner: Any, X: Any, y: ArrayLike, dim: int, outputs: int) -> tuple[Any, Matrix, tuple[int, ...]]:
    """X, y as a block of `outputs` columns, and the shape y came in. Sparse rows that the learner takes it will check itself."""
    if not (is_sparse(X) and takes_sparse(learner)):
        return check_labelled(X, y, dim, outputs)
    refuse_other_than_matrix(X)
    labels, shape = check_labels(y, X.shape[0], outputs)
    return X, check_block("y", labels), shape
