"""What a learner made of a learner says of itself: the same as the one inside."""

from __future__ import annotations

from typing import Any


def same(name: str) -> Any:
    """A property that is the inner learner's own: `bounded = same("bounded")`."""
    return property(lambda outer: getattr(outer.learner, name))
