"""A learner's state: a dataclass of arrays and a few numbers, and of other such dataclasses if the learner is made of parts."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

FIXED, GROWING, COUNT = "fixed", "growing", "count"
SMALLEST_CAPACITY = 16  # rows that a growing array has room for, once it has any
CACHE_LINE = 64  # bytes

# keys of a state's __dict__ that are not fields: its learner, the current call, and what is prepared for single rows (`one_row`)
OWNER, TURN, ROW = "_owner", "_turn", "_row"

S = TypeVar("S")
Mark = Mapping[str, Any]  # the metadata of a field, from `fixed`, `growing` or `counter`


def owned(learner: Any, state: S) -> S:
    """The state, marked as owned by this learner."""
    vars(state)[OWNER] = learner
    return state


class Counted:
    """A state whose rows are counted by the compiled code that learns them, so that no interrupt can come between learning and
    counting."""

    learnt: NDArray[np.int64]  # (1,)

    @property
    def rows(self) -> int:
        """The rows learnt so far."""
        return int(self.learnt[0])


def counter() -> Any:
    """Declares an array of one integer that starts at 0 and counts."""
    return dataclasses.field(default_factory=partial(np.zeros, 1, np.int64), metadata={COUNT: True})


def fixed() -> Any:
    """Declares an array that `init` computes from the config and that never changes afterwards."""
    return dataclasses.field(metadata={FIXED: True})


def growing(*axes: int) -> Any:
    """Declares an array that may grow along these axes; its other axes keep the length that `init` gave them."""
    return dataclasses.field(metadata={GROWING: axes})


@dataclass_transform(field_specifiers=(dataclasses.field,))
def memory(kind: type[S]) -> type[S]:
    """Make the class a dataclass of states, or of parts of states. A state prints in one line, without the arrays, and equals
    another one if all arrays and numbers are equal."""
    made: Any = dataclasses.dataclass(repr=False, eq=False)(kind)
    made.__repr__, made.__eq__, made.__hash__ = _in_one_line, _equal, None
    return kind


def _equal(state: Any, other: Any) -> Any:
    """Equality as for every dataclass, except that arrays are equal if all of their elements are equal."""
    if type(state) is not type(other):
        return NotImplemented
    pairs = ((getattr(state, field.name), getattr(other, field.name)) for field in dataclasses.fields(state))
    return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)


def _in_one_line(state: Any) -> str:
    """One line with the state's learner, the number of rows learnt, of inputs and of outputs, and the size in bytes."""
    owner = vars(state).get(OWNER)
    name = type(state).__module__.removeprefix("onkel.") if owner is None else type(owner).__name__
    dim, outputs = (_own_or_inner(state, fact) for fact in ("dim", "outputs"))
    rows = getattr(state, "rows", None) if owner is None or hasattr(state, "rows") else owner._hooks._learnt(state)
    facts = [(rows, "row"), (dim, "input"), (outputs, "output"), (nbytes(state), "byte")]
    shown = [f"{number:,} {what}{'s' * (number != 1)}" for number, what in facts if isinstance(number, int)]
    return f"<{type(state).__name__} of {name}: {', '.join(shown)}>"


def _own_or_inner(state: Any, fact: str) -> int | None:
    """A number of a state, or of the state that it wraps."""
    while not hasattr(state, fact) and hasattr(state, "inner"):
        state = state.inner
    return getattr(state, fact, None)


def grown(array: NDArray[Any], length: int, axis: int = 0) -> NDArray[Any]:
    """The array itself if it has room for `length` rows (along the axis), else a longer one with zeros after the old rows.

    The new length is a power of two, so adding a row costs O(1) on average, and the length does not depend on how the rows were
    cut into calls.
    """
    if length <= array.shape[axis]:
        return array
    longer: NDArray[Any] = zeros((*array.shape[:axis], capacity(length), *array.shape[axis + 1 :]), array.dtype)
    longer[tuple(map(slice, array.shape))] = array
    return longer


def zeros(shape: tuple[int, ...], kind: Any = float) -> NDArray[Any]:
    """Zeros aligned to a cache line, so that a vector load never needs two of them."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    room = np.zeros(size + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    aligned: NDArray[Any] = room[start : start + size].view(kind).reshape(shape)
    return aligned


def fitted(array: NDArray[Any], length: int, axis: int = 0) -> NDArray[Any]:
    """The array with exactly the length that `grown` would give it for `length` rows. The given array may be longer, or, after
    loading from a file, shorter."""
    room = capacity(length)
    if array.shape[axis] < room:
        return grown(array, room, axis)
    return array if array.shape[axis] == room else np.ascontiguousarray(np.take(array, range(room), axis))


def capacity(length: int) -> int:
    """The capacity of a growing array with `length` rows."""
    return max(SMALLEST_CAPACITY, 1 << (length - 1).bit_length()) if length else 0


def leaves(state: Any, name: str = "", mark: Mark = MappingProxyType({})) -> Iterator[tuple[str, Any, Mark]]:
    """All arrays and numbers of a state as (dotted name, value, metadata of the field), in a fixed order."""
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
    """Whether `part` is a config: configs are frozen dataclasses, states are not."""
    return dataclasses.is_dataclass(part) and bool(part.__dataclass_params__.frozen)  # type: ignore[union-attr]


def nbytes(state: Any) -> int:
    """The bytes a state holds: its arrays, and 8 for each number.

    state   The state of a learner or of a model.

    >>> learner = onkel.FOGD(loss=onkel.Square())
    >>> state = learner.init(dim=5)
    >>> onkel.nbytes(state) == learner.footprint(dim=5, outputs=1)
    True
    """
    return sum(_size(value) for _, value, _ in leaves(state))


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | dict):
        return sum(map(_size, value)) + (sum(map(_size, value.values())) if isinstance(value, dict) else 0)
    return nbytes(value) if dataclasses.is_dataclass(value) else 8


def copied(state: Any) -> Any:
    """A deep copy of a state."""
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
    """A copy of a state that shares its arrays."""
    new = object.__new__(type(state))
    vars(new).update(vars(state))
    vars(new).pop(TURN, None)
    vars(new).pop(ROW, None)
    return new


def with_copies(state: S, *names: str) -> S:
    """A copy of a state that shares its arrays, except for those named here, which are copied: a learner may write to them."""
    return dataclasses.replace(state, **{name: getattr(state, name).copy() for name in names})  # type: ignore[type-var]


def filled(state: Any, values: dict[str, Any], name: str = "") -> Any:
    """A state of the same structure as `state`, with its arrays and numbers taken from `values`, by dotted name."""
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
