"""Tests that repeat themselves: some of the repetitions run in `make test`, the others in `make test-full`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def others_are_long(values: Iterable[Any], some: Iterable[Any]) -> list[Any]:
    """The values of a parametrised test, those that are not among `some` marked as long."""
    now = list(some)
    return [value if value in now else _long(value) for value in values]


def _long(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.long)
