"""A learner's state: dataclasses of arrays and a few numbers, nested where a learner is made of parts."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

FIXED, GROWING, COUNT = "fixed", "growing", "count"
SMALLEST_CAPACITY = 16  # of an array that grows
CACHE_LINE = 64  # bytes

OWNER, TURN = "_owner", "_turn"  # what a state's dictionary holds besides its fields: its learner, and the call of this moment

S = TypeVar("S")
Mark = Mapping[str, Any]  # what `fixed`, `growing` or `counter` said of a field


def owned(learner: Any, state: S) -> S:
    """The state, marked as this learner's."""
    vars(state)[OWNER] = learner
    return state


class Counted:
    """A state whose rows are counted by the compiled code that learns them, so that no interrupt can come between the two."""

    learnt: NDArray[np.int64]  # (1,)

    @property
    def rows(self) -> int:
        """Learnt so far."""
        return int(self.learnt[0])


def counter() -> Any:
    """A field that counts from 0."""
    return dataclasses.field(default_factory=partial(np.zeros, 1, np.int64), metadata={COUNT: True})


def fixed() -> Any:
    """Marks an array that `init` makes from the config and nothing changes afterwards."""
    return dataclasses.field(metadata={FIXED: True})


def growing(*axes: int) -> Any:
    """Marks an array that becomes longer along these axes as the stream goes on; its other axes stay as `init` made them."""
    return dataclasses.field(metadata={GROWING: axes})


def grown(array: NDArray[Any], length: int, axis: int = 0) -> NDArray[Any]:
    """The array itself where it has room for `length` rows (along the axis), else a longer one with zeros after the old ones.

    Lengths are powers of two: a row costs O(1) copies on average, and how the rows were cut into calls leaves no trace.
    """
    if length <= array.shape[axis]:
        return array
    longer: NDArray[Any] = zeros((*array.shape[:axis], capacity(length), *array.shape[axis + 1 :]), array.dtype)
    longer[tuple(map(slice, array.shape))] = array
    return longer


def zeros(shape: tuple[int, ...], kind: Any = float) -> NDArray[Any]:
    """Zeros that begin where a cache line does: vector registers load a whole one, and two where a number lies across."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    room = np.zeros(size + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    aligned: NDArray[Any] = room[start : start + size].view(kind).reshape(shape)
    return aligned


def fitted(array: NDArray[Any], length: int, axis: int = 0) -> NDArray[Any]:
    """The array as long as `grown` makes one for so many rows, where it has more room, or, from a file, less."""
    room = capacity(length)
    if array.shape[axis] < room:
        return grown(array, room, axis)
    return array if array.shape[axis] == room else np.ascontiguousarray(np.take(array, range(room), axis))


def capacity(length: int) -> int:
    """The rows that an array of so many has room for."""
    return max(SMALLEST_CAPACITY, 1 << (length - 1).bit_length()) if length else 0


def leaves(state: Any, name: str = "", mark: Mark = MappingProxyType({})) -> Iterator[tuple[str, Any, Mark]]:
    """Every array and number of a state as (dotted name, value, mark), in a fixed order."""
    if _is_config(state):
        return
    if dataclasses.is_dataclass(state):
        for field in dataclasses.fields(state):
            yield from leaves(getattr(state, field.name), f"{name}.{field.name}" if name else field.name, field.metadata or mark)
    elif isinstance(state, tuple):
        for k, part in enumerate(state):
            yield from leaves(part, f"{name}.{k}", mark)
    elif state is not None:
        yield name, state, mark


def _is_config(part: Any) -> bool:
    """Settings are frozen; what learns is not."""
    return dataclasses.is_dataclass(part) and bool(part.__dataclass_params__.frozen)  # type: ignore[union-attr]


def nbytes(state: Any) -> int:
    """The bytes a state holds: its arrays, and 8 for each number."""
    return sum(_size(value) for _, value, _ in leaves(state))


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | dict):
        return sum(map(_size, value)) + (sum(map(_size, value.values())) if isinstance(value, dict) else 0)
    return 8


def copied(state: Any) -> Any:
    """A state of the same numbers that shares no memory."""
    if isinstance(state, np.ndarray):
        return state.copy()
    if isinstance(state, tuple):
        return tuple(map(copied, state))
    if isinstance(state, list | dict):
        return copy.copy(state)
    if not dataclasses.is_dataclass(state) or _is_config(state):
        return state
    new = shallow(state)
    for name, value in vars(new).items():
        if name != OWNER:
            vars(new)[name] = copied(value)
    return new


def shallow(state: S) -> S:
    """Another state of the same arrays and numbers."""
    new = object.__new__(type(state))
    vars(new).update(vars(state))
    vars(new).pop(TURN, None)
    return new


def filled(state: Any, values: dict[str, Any], name: str = "") -> Any:
    """A state of the same make whose arrays and numbers are those of `values`, by dotted name."""
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        parts = {
            field.name: filled(getattr(state, field.name), values, f"{name}.{field.name}" if name else field.name)
            for field in dataclasses.fields(state)
        }
        made = type(state)(**parts)
        return owned(vars(state)[OWNER], made) if OWNER in vars(state) else made
    if isinstance(state, tuple):
        return tuple(filled(part, values, f"{name}.{k}") for k, part in enumerate(state))
    return None if state is None else values[name]
