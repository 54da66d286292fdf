"""A hash table with a number for each row seen.

Rows are identified by a hash of 128 bits (Philox, as in `onkel.random`): the probability that any two different rows of a stream of
10⁹ collide is 10⁻²¹. The table has open addressing with linear probing: a row is stored in the slot that its hash selects, or in
the first free slot after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Counts, Vector
from onkel.errors import InputError
from onkel.random import words
from onkel.state import SMALLEST_CAPACITY, growing, memory

_32 = np.uint64(32)
LONGEST_PROBE = 1000  # slots searched from the hashed one on; a half-full table never needs so many, unless its hashes are forged


class RowSlots(NamedTuple):
    """The arrays of a `RowTable`, for compiled code."""

    keys: Counts
    values: Vector
    places: Counts
    size: Counts


@memory
class RowTable:
    size: Counts  # (1,)  rows in it
    keys: Counts = growing(0)  # (room, 2)  the hash; 0 0 in a free slot
    values: Vector = growing(0)  # (room,)  the number that is stored for the row
    places: Counts = growing(0)  # (room,)  an index that is stored for the row

    @property
    def table(self) -> RowSlots:
        return RowSlots(self.keys, self.values, self.places, self.size)

    def make_room(self, more: int = 1) -> None:
        """Double the slots if `more` additional rows would fill more than half of them."""
        if not has_room(self.table, more):
            old = self.table
            room = 2 * len(self.values)
            new = RowTable(self.size, np.zeros((room, 2), np.int64), np.zeros(room), np.zeros(room, np.int64))
            _rehash(old, new.table)
            vars(self).update(vars(new))  # one step, which no interrupt can split

    def check(self, rows: int) -> None:
        """Refuse a table that `rows` rounds cannot lead to."""
        room, size = len(self.values), int(self.size[0])
        if room & (room - 1) or {len(self.keys), len(self.places)} != {room} or not 0 <= 2 * size <= room or size > rows:
            raise InputError("the length of its table of rows does not fit its size")
        free = ~np.any(self.keys, axis=1)
        if (
            np.count_nonzero(~free) != size
            or np.any(self.values[free])
            or np.any(self.places[free])
            or not _is_in_place(self.table)
        ):
            raise InputError("its table of rows has entries in wrong slots, or numbers in free ones")


def empty() -> RowTable:
    room = SMALLEST_CAPACITY
    return RowTable(np.zeros(1, np.int64), np.zeros((room, 2), np.int64), np.zeros(room), np.zeros(room, np.int64))


def footprint() -> int:
    """The bytes of an empty table."""
    return 8 * (1 + 4 * SMALLEST_CAPACITY)


@hot_inline
def has_room(table: RowSlots, more: int = 1) -> bool:
    return bool(2 * (table.size[0] + more) <= table.values.size)


@hot
def slot(table: RowSlots, x: Vector, label: float) -> int:
    """The slot of this row with this label, or the free slot where it would be."""
    first, second = _hash(x, label)
    return _find(table, first, second)


@hot
def enter(table: RowSlots, at: int, x: Vector, label: float, place: int) -> None:
    """If the slot `at` is free, assign it to this row. The table must have room."""
    if table.keys[at, 0] == 0 and table.keys[at, 1] == 0:
        table.keys[at, 0], table.keys[at, 1] = _hash(x, label)
        table.places[at] = place
        table.size[0] += 1


@hot
def _hash(x: Vector, label: float) -> tuple[Any, Any]:
    """A 128-bit hash of a row and its label: the bits of each number go through Philox, keyed by the hash so far. The hash is never
    (0, 0), which marks free slots."""
    first, second = _bits(float(x.size)), _bits(label)
    for j in range(x.size):
        a, b, c, d = words(first, _bits(x[j]), second)
        first, second = np.int64((a << _32) | b), np.int64((c << _32) | d)
    return (first, second) if first != 0 or second != 0 else (np.int64(1), np.int64(0))


@hot
def _bits(number: float) -> Any:
    """The bits of a number; −0 has those of 0."""
    return np.float64(number + 0.0).view(np.int64)


@hot
def _find(table: RowSlots, first: int, second: int) -> int:
    room = table.values.size
    at = first & (room - 1)
    while (table.keys[at, 0] != first or table.keys[at, 1] != second) and (table.keys[at, 0] != 0 or table.keys[at, 1] != 0):
        at = (at + 1) & (room - 1)
    return at


@hot
def _rehash(old: RowSlots, new: RowSlots) -> None:
    for i in range(old.values.size):
        if old.keys[i, 0] != 0 or old.keys[i, 1] != 0:
            at = _find(new, old.keys[i, 0], old.keys[i, 1])
            new.keys[at, 0], new.keys[at, 1] = old.keys[i, 0], old.keys[i, 1]
            new.values[at], new.places[at] = old.values[i], old.places[i]


@hot
def _is_in_place(table: RowSlots) -> bool:
    """Whether a search for every row finds it in its slot."""
    for i in range(table.values.size):
        taken = table.keys[i, 0] != 0 or table.keys[i, 1] != 0
        away = (i - table.keys[i, 0]) & (table.values.size - 1)
        if taken and (away > LONGEST_PROBE or _find(table, table.keys[i, 0], table.keys[i, 1]) != i):
            return False
    return True
