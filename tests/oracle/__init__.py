"""Every learner once more, slow and obvious."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Ran = TypeVar("Ran")


def remembered(run: Callable[..., Ran]) -> Callable[..., Ran]:
    """The last run of an oracle is kept: after its scores, somebody asks for the stages that it visited."""
    last: dict[Any, Ran] = {}

    @functools.wraps(run)
    def asked(learner: Any, *stream: Any) -> Ran:
        key = type(learner), learner, *(part if part is None else (part.shape, part.tobytes()) for part in stream)
        if key not in last:
            last.clear()
            last[key] = run(learner, *stream)
        return last[key]

    return asked
