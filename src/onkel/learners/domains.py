"""Kernels and eigen-systems whose inputs have domains, for any learner that has one.

A domain may be left open. Then the first rows are kept and score 0; once there are FIRST_ROWS of them, each input's domain is its
range among them, and they are learnt in order. What lies outside a domain later is taken as lying on its edge, and counted.

`on_domains` gives a learner's class these hooks. With such a kernel its state is the state below, around the one that it would
have had with the domains written into its kernel; with any other kernel nothing changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache, partial, wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np

from onkel._inputs import check_labelled
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.kernels.additive import LARGEST_INPUT
from onkel.learners.protocol import check_sizes
from onkel.state import copied, leaves
from onkel.turns import Call

FIRST_ROWS = 100

HOOKS = "_init", "_admit", "_take", "_score", "_settle", "_learnt", "_check", "_notes", "_widen", "footprint"

K = TypeVar("K", bound=type)


@dataclass
class Waiting:
    X: Matrix  # (FIRST_ROWS, dim)
    y: Matrix  # (FIRST_ROWS, outputs)
    weight: Vector  # (FIRST_ROWS,)


@dataclass
class State:
    inner: Any  # of the learner on these domains
    domains: Matrix  # (inputs, 2)  where they were open
    waiting: Waiting | None  # rows, as long as a domain is open
    outside: int = 0  # values learnt that lay outside their domain
    rows: int = 0  # learnt so far, those that wait among them
    dim: int = 1
    outputs: int = 1


class Verbs(NamedTuple):
    """A learner's own hooks (`onkel.learners.protocol`), for a kernel without domains."""

    init: Any
    admit: Any
    take: Any
    score: Any
    settle: Any
    learnt: Any
    check: Any
    notes: Any
    widen: Any
    footprint: Any


def on_domains(kind: K) -> K:
    """A learner's class, able to use kernels with domains."""
    plain = Verbs(*(getattr(kind, hook) for hook in HOOKS))
    ours = Verbs(_init, _admit, _take, _score, _settle, _learnt, _check, _notes, _widen, _footprint)
    for hook, own, other in zip(HOOKS, plain, ours, strict=True):
        setattr(kind, hook, _chosen(own, partial(other, plain)))
    return kind


def _field(learner: Any) -> str:
    return "kernel" if hasattr(learner, "kernel") else "system"


def _space(learner: Any) -> Any:
    """What knows of domains: its kernel, or the eigen-system of one."""
    return getattr(learner, _field(learner))


def _chosen(plain: Any, ours: Any) -> Any:
    @wraps(plain)
    def verb(self: Any, *arguments: Any, **named: Any) -> Any:
        return (ours if _space(self).has_domains else plain)(self, *arguments, **named)

    return verb


@lru_cache(maxsize=256)
def _closed(learner: Any, dim: int, domains: bytes) -> Any:
    space, _ = _space(learner).on(dim, np.frombuffer(domains).reshape(-1, 2))
    return replace(learner, **{_field(learner): space})


def _on(learner: Any, dim: int, domains: Matrix) -> Any:
    """The learner with these domains where its kernel's are open."""
    return _closed(learner, dim, domains.tobytes())


def closed(learner: Any, state: State) -> Any:
    """The learner whose state is `state.inner`."""
    return _on(learner, state.dim, state.domains)


def unwrapped(learner: Any, state: Any) -> tuple[Any, Any]:
    """The learner and the state without domains around them, for words besides those of the protocol."""
    return (closed(learner, state), state.inner) if isinstance(state, State) else (learner, state)


def _init(plain: Verbs, self: Any, dim: int, outputs: int) -> State:
    dim, outputs = check_sizes(self, dim, outputs)
    unknown = _unknown(self, dim)
    inner = plain.init(_on(self, dim, unknown), dim, outputs)
    waiting = None
    if _space(self).is_open:
        waiting = Waiting(np.zeros((FIRST_ROWS, inner.dim)), np.zeros((FIRST_ROWS, inner.outputs)), np.zeros(FIRST_ROWS))
    return State(inner, unknown, waiting, dim=inner.dim, outputs=inner.outputs)


def _unknown(learner: Any, dim: int) -> Matrix:
    """Domains before they are known."""
    return np.tile((0.0, 1.0), (_space(learner).domain_count(dim), 1))


def is_waiting(state: State) -> bool:
    return state.waiting is not None and state.rows < FIRST_ROWS


def _admit(plain: Verbs, self: Any, state: State, Y: Matrix, weight: Vector) -> None:
    plain.admit(_on(self, state.dim, state.domains), state.inner, Y, weight)


def _take(
    plain: Verbs, self: Any, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix
) -> None:  # fmt: skip
    if is_waiting(state):
        work = copied(state)
        _take_first(plain, self, Call(), work, X, Y, weight, scores)
        vars(state).update(vars(work))
        return
    learner = _on(self, state.dim, state.domains)
    call.owe(partial(_count, plain, learner, state, X, weight, state.rows))
    plain.take(learner, call, state.inner, X, Y, weight, scores)
    call.pay()


def _take_first(
    plain: Verbs, self: Any, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix
) -> None:  # fmt: skip
    """Rows that are kept, and those after them."""
    now = 1 + int(np.searchsorted(state.rows + np.cumsum(weight > 0.0), FIRST_ROWS))  # rows up to the one that is waited for
    learner, trial = _on(self, state.dim, state.domains), copied(state.inner)
    plain.take(learner, call, trial, X[:now], Y[:now], weight[:now], scores[:now])  # it may refuse
    taken = np.flatnonzero(weight[:now] > 0.0)
    there, waiting = slice(state.rows, state.rows + len(taken)), state.waiting
    assert waiting is not None
    waiting.X[there], waiting.y[there], waiting.weight[there] = X[taken], Y[taken], weight[taken]
    state.rows += len(taken)
    if not is_waiting(state):
        learner, later = _open(plain, self, call, state), np.where(np.arange(len(X)) < now, 0.0, weight)
        before = state.rows
        plain.take(learner, call, state.inner, X, Y, later, scores)
        _count(plain, learner, state, X, later, before)
        scores[:now] = 0.0
    else:
        scores[:] = 0.0


def _open(plain: Verbs, self: Any, call: Call, state: State) -> Any:
    """The first rows have come: they say where the domains are, and are learnt. Returns the learner on these domains."""
    waiting = state.waiting
    assert waiting is not None
    state.domains = _space(self).domains(waiting.X)
    learner = _on(self, state.dim, state.domains)
    state.inner, state.rows = plain.init(learner, state.dim, state.outputs), 0
    try:
        plain.admit(learner, state.inner, waiting.y, waiting.weight)
        plain.take(learner, call, state.inner, waiting.X, waiting.y, waiting.weight, np.empty(waiting.y.shape))
    except InputError as error:
        kept = re.sub(r"row (\d+)", r"number \1 of the first rows, kept until now,", str(error))
        raise InputError(f"{kept}; begin again with other settings") from None
    _count(plain, learner, state, waiting.X, waiting.weight, 0)
    for array in (waiting.X, waiting.y, waiting.weight):
        array[:] = 0.0
    return learner


def _count(plain: Verbs, learner: Any, state: State, X: Matrix, weight: Vector, before: int) -> None:
    """Bring the counts up to the rows that have been learnt: the first of these, that came after so many."""
    rows = plain.learnt(learner, state.inner)
    there = np.flatnonzero(weight)[state.rows - before : rows - before]
    vars(state).update(outside=state.outside + int(np.sum(_space(learner).outside(X[there]))), rows=rows)  # as one step


def _score(plain: Verbs, self: Any, state: State, X: Matrix, scores: Matrix) -> None:
    plain.score(_on(self, state.dim, state.domains), state.inner, X, scores)
    if is_waiting(state):
        scores[:] = 0.0


def _settle(plain: Verbs, self: Any, state: State) -> None:
    plain.settle(_on(self, state.dim, state.domains), state.inner)


def _learnt(plain: Verbs, self: Any, state: State) -> int:
    return state.rows


def _footprint(plain: Verbs, self: Any, dim: int, outputs: int = 1) -> int:
    waiting = FIRST_ROWS * (dim + outputs + 1) if _space(self).is_open else 0
    return int(plain.footprint(self, dim, outputs) + 8 * (2 * _space(self).domain_count(dim) + waiting + 4))


def _check(plain: Verbs, self: Any, state: State) -> None:
    learner, waiting = _on(self, state.dim, state.domains), state.waiting
    low, high = state.domains.T
    if not ((low < high).all() and np.abs(state.domains).max() <= LARGEST_INPUT):
        raise InputError("its domains are no intervals")
    if (is_waiting(state) or not _space(self).is_open) and not np.array_equal(state.domains, _unknown(self, state.dim)):
        raise InputError("it has domains that it cannot know")
    if waiting is not None:
        kept = state.rows if is_waiting(state) else 0
        if any(np.any(array[kept:]) for array in (waiting.X, waiting.y, waiting.weight)) or np.any(waiting.weight[:kept] <= 0.0):
            raise InputError("other rows wait than it has seen")
        fresh = plain.init(learner, state.dim, state.outputs)
        if is_waiting(state) and not all(
            np.array_equal(a, b) for (_, a, _), (_, b, _) in zip(leaves(fresh), leaves(state.inner), strict=True)
        ):
            raise InputError("it has learnt before its domains were known")
        check_labelled(waiting.X[:kept], waiting.y[:kept], state.dim, state.outputs)
        first = waiting.X[:kept], waiting.y[:kept], waiting.weight[:kept]
        plain.admit(learner, fresh, *first[1:])  # as when they came: it may refuse
        plain.take(learner, Call(), fresh, *first, np.empty(first[1].shape))
    inner, rows = state.inner, 0 if is_waiting(state) else state.rows
    if (inner.dim, inner.outputs, plain.learnt(learner, inner)) != (state.dim, state.outputs, rows):
        raise InputError("its sizes do not agree")
    plain.check(learner, state.inner)


def _notes(plain: Verbs, self: Any, state: State) -> list[str]:
    notes: list[str] = plain.notes(_on(self, state.dim, state.domains), state.inner)
    if is_waiting(state):
        notes.append(
            f"{state.rows} of {FIRST_ROWS} rows have come that tell the domains; until then all scores are 0 (or give domain=…)"
        )
    if state.outside:
        notes.append(
            f"{state.outside} values lay outside their domain and were taken as its edge (give a wider domain=(low, high))"
        )
    return notes


def _widen(plain: Verbs, self: Any, state: State, outputs: int) -> None:
    work = copied(state)
    plain.widen(_on(self, state.dim, state.domains), work.inner, outputs)
    if work.waiting is not None:
        work.waiting.y = np.pad(work.waiting.y, ((0, 0), (0, outputs - state.outputs)))
    work.outputs = outputs
    vars(state).update(vars(work))
