"""What the oracles of learners with f = Σ a_i k(x_i, ·) share: an explicit list of terms, and the whole Gram matrix.

Each row is scored by the terms so far; unless its weight is 0, the learner's rule then gives the next list of terms, and says in
one word what it did. A row of weight 0 leaves no trace. Rounds t = 0, 1, … count the rows learnt.

A kernel with an open domain takes it from the first hundred rows learnt. Until they are there every score is 0; then they are
learnt in order: as if the domain had been known, but for the scores.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.kernels.kernel import Kernel
from onkel.losses import KINK, Loss
from onkel.protocol import tasks_of
from tests.oracle.additive import gram, is_open, resolved

Array = NDArray[np.float64]

OPENING = 100  # rows


@dataclass(frozen=True)
class Term:
    row: int  # of the stream, which the points of a start come before
    a: float
    born: int  # the round that stored it; −1: a start


@dataclass(frozen=True)
class Round:
    """All that a rule may look at."""

    K: Array  # of all rows
    terms: list[Term]  # in the order of their slots
    row: int
    t: int
    y: float

    @property
    def a(self) -> Array:
        return np.array([term.a for term in self.terms])

    @property
    def k(self) -> Array:
        """k(x_i, x) of every term."""
        return self.between(self.row)

    @property
    def own(self) -> float:
        """k(x, x)."""
        return float(self.K[self.row, self.row])

    @property
    def gram(self) -> Array:
        """k(x_i, x_j) of every two terms."""
        return np.array([self.between(term.row) for term in self.terms]).reshape(len(self.terms), len(self.terms))

    @property
    def f(self) -> float:
        """The score."""
        return float(self.a @ self.k)

    @property
    def mistaken(self) -> bool:
        """y ≠ sign f, where sign 0 = 1."""
        return self.y != (1.0 if self.f >= 0 else -1.0)

    def between(self, row: int) -> Array:
        return np.array([self.K[term.row, row] for term in self.terms])

    def term(self, a: float) -> Term:
        """a k(x, ·)"""
        return Term(self.row, a, self.t)


Rule = Callable[[Round], tuple[list[Term], str]]


@dataclass(frozen=True)
class Run:
    scores: Array  # of each row before it is learnt
    terms: list[Term]  # in the end
    did: list[str]  # in each round
    norm2: float  # ‖f‖² in the end


def run(kernel: Kernel, rule: Rule, X: Array, y: Array, weight: Array | None = None, start: Any = None) -> Run:
    w, silent = np.ones(len(X)) if weight is None else weight, 0
    if is_open(kernel):
        first = np.flatnonzero(w)[:OPENING]
        if len(first) < OPENING:
            return Run(np.zeros(len(X)), [], ["kept"] * len(first), 0.0)
        kernel, silent = resolved(kernel, X[first]), first[-1] + 1
    points, coef = (X[:0], []) if start is None else (np.array(start.points), start.coef)
    rows, terms = np.vstack([points, X]), [Term(j, float(a), -1) for j, a in enumerate(coef)]
    K, out, did = gram(kernel, rows, rows), np.zeros(len(X)), list[str]()
    for i in range(len(X)):
        now = Round(K, terms, len(points) + i, len(did), float(y[i]))
        out[i] = now.f if i >= silent else 0.0
        if w[i] != 0:
            terms, word = rule(now)
            did.append(word)
    return Run(out, terms, did, norm2(K, terms))


def norm2(K: Array, terms: list[Term]) -> float:
    """‖f‖² = Σ_ij a_i a_j k(x_i, x_j)"""
    a, rows = np.array([term.a for term in terms]), [term.row for term in terms]
    return float(a @ K[np.ix_(rows, rows)] @ a)


def moved(terms: list[Term], a: Array) -> list[Term]:
    """The same points with other coefficients."""
    return [replace(term, a=float(value)) for term, value in zip(terms, a, strict=True)]


def exchanged(terms: list[Term], slot: int, new: Term) -> list[Term]:
    """The new term in the place of an old one."""
    return [*terms[:slot], new, *terms[slot + 1 :]]


def slope(loss: Loss, f: float, y: float) -> float:
    """g = dℓ/df."""
    far = abs(f - y) - loss.parameter
    match loss:
        case onkel.Square():
            return 2 * (f - y)
        case onkel.Hinge():
            return -y if y * f < 1 - KINK else 0.0
        case onkel.SquaredHinge():
            return -2 * y * max(1 - y * f, 0.0)
        case onkel.Logistic():
            return -y / (1 + exp(y * f))
        case onkel.EpsilonInsensitive():
            return float(np.sign(f - y)) if far > KINK else 0.0
        case onkel.SquaredEpsilonInsensitive():
            return 2 * float(np.sign(f - y)) * max(far, 0.0)
    raise TypeError(f"the oracle has no definition of {loss!r}")


def counted(state: Any, ran: Run, stages: set[str]) -> bool:
    """Whether these and no other words were said, and the state has counted the rounds."""
    return set(ran.did) == stages and bool(state.rows == len(ran.did))


def measured(state: Any, ran: Run) -> bool:
    """Whether the state has kept track of ‖f‖²."""
    return isclose(inner(state).norm2[0], ran.norm2, rel_tol=1e-9)


def inner(state: Any) -> Any:
    """The learner's own state, also where its kernel has domains."""
    return getattr(state, "inner", state)


def visited(state: Any, ran: Run, stages: set[str]) -> bool:
    """The same, and whether it has stored the points that it should."""
    size = int(state.support.size[0])
    points = sorted(state.support.born[:size]) == sorted(term.born for term in ran.terms)
    return counted(state, ran, stages) and points


def learnable(learner: Any, rows: int = 1000) -> tuple[Array, Array]:
    """Rows, and as their labels a function of the kernel's own space, or on which side of its mean it is: without noise, as the
    theorems ask for."""
    rng = np.random.default_rng(7)
    X, points = rng.normal(size=(rows, 3)), rng.normal(size=(5, 3))
    kernel = resolved(learner.kernel, X[:OPENING])
    y = gram(kernel, X, points) @ np.array([2.0, -2.0, 1.0, -1.5, 1.0])
    return X, y / np.sqrt(np.mean(y**2)) if "regression" in tasks_of(learner) else np.where(y >= y.mean(), 1.0, -1.0)
