"""Rows that a family has scored. If one of them is learnt next, what was computed for its score need not be computed again."""

from __future__ import annotations

from typing import Any, NamedTuple

from onkel._types import Cube


class Scored(NamedTuple):
    scores: Cube  # (n, outputs, experts)
    features: Any  # the rows
    more: tuple[Any, ...] = ()  # what else the family needs to learn them
