"""Shared results: if several learners need the same result from the same rows and points, it is computed once.

A learner whose results may be shared (`Learner.takes_common`) computes them by

    result = common(key, function, *arguments)

where `key` names the result within a call. Learners of the same rows, such as those of the classes in `onkel.combine.OneVsRest`,
get one `Common` as their argument `common`, and each result is computed by the first of them that needs it. A learner by itself
gets None instead; then it calls the function itself, or takes `alone`, which has the same arguments as a `Common`. So the learners
stay independent, and their scores are the same to the last bit as if each learnt alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from onkel.state import leaves


def alone(key: Hashable, function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of the function, which is shared with no other learner."""
    return function(*arguments)


class Common:
    """The results of one block of rows. No learner may change a result, except for caches that are verified whenever they are
    read."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[tuple[Any, ...], Any]] = {}

    def __call__(self, key: Hashable, function: Callable[..., Any], *arguments: Any) -> Any:
        """The stored result for this key, if it was computed from equal arguments; otherwise the result of the function, which is
        then stored.

        The arguments are arrays and parts of states. The functions are not compared: learners that share a `Common` must have the
        same settings, so that a key always stands for the same function.
        """
        known = self._known.get(key)
        if known is None or not all(map(_equal, known[0], arguments)):
            known = self._known[key] = arguments, function(*arguments)
        return known[1]


def _equal(a: Any, b: Any) -> bool:
    """Whether two arrays, or parts of states, are equal."""
    if isinstance(a, np.ndarray):
        return a.__array_interface__ == b.__array_interface__ or np.array_equal(a, b)
    ours, theirs = list(leaves(a)), list(leaves(b))
    return a is b or (
        len(ours) == len(theirs) and all(np.array_equal(x, y) for (_, x, _), (_, y, _) in zip(ours, theirs, strict=True))
    )
