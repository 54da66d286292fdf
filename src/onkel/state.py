"""A learner's state: dataclasses of arrays and a few numbers, nested where a learner is made of parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

FIXED = "fixed"


def fixed() -> Any:
    """Marks an array that `init` makes from the config and nothing changes afterwards."""
    return dataclasses.field(metadata={FIXED: True})


def leaves(state: Any, name: str = "") -> Iterator[tuple[str, Any, bool]]:
    """Every array and number of a state as (dotted name, value, fixed), in a fixed order."""
    if dataclasses.is_dataclass(state):
        for field in dataclasses.fields(state):
            is_fixed = bool(field.metadata.get(FIXED))
            for path, value, inner in leaves(getattr(state, field.name), f"{name}.{field.name}" if name else field.name):
                yield path, value, inner or is_fixed
    elif isinstance(state, tuple):
        for k, part in enumerate(state):
            yield from leaves(part, f"{name}.{k}")
    elif state is not None:
        yield name, state, False


def nbytes(state: Any) -> int:
    """The bytes a state holds: its arrays, and 8 for each number."""
    return sum(value.nbytes if isinstance(value, np.ndarray) else 8 for _, value, _ in leaves(state))


def filled(state: Any, values: dict[str, Any], name: str = "") -> Any:
    """A state of the same make whose arrays and numbers are those of `values`, by dotted name."""
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        parts = {
            field.name: filled(getattr(state, field.name), values, f"{name}.{field.name}" if name else field.name)
            for field in dataclasses.fields(state)
        }
        return type(state)(**parts)
    if isinstance(state, tuple):
        return tuple(filled(part, values, f"{name}.{k}") for k, part in enumerate(state))
    return None if state is None else values[name]
