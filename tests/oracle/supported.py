"""What the oracles of learners with f = Σ a_i k(x_i, ·) share: an explicit list of terms, and the whole Gram matrix.

Each row is scored by the terms so far; unless its weight is 0, the learner's rule then gives the next list of terms, and says in
one word what it did. A row of weight 0 leaves no trace. Rounds t = 0, 1, … count the rows learnt.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.kernels.kernel import Kernel
from onkel.losses import KINK, Loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    row: int  # of the stream
    a: float
    born: int  # the round that stored it


@dataclass(frozen=True)
class Round:
    """All that a rule may look at."""

    K: Array  # of all rows of the stream
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


def run(kernel: Kernel, rule: Rule, X: Array, y: Array, weight: Array | None = None) -> Run:
    w = np.ones(len(X)) if weight is None else weight
    K, terms, out, did = kernel(X, X), list[Term](), np.zeros(len(X)), list[str]()
    for i in range(len(X)):
        now = Round(K, terms, i, len(did), float(y[i]))
        out[i] = now.f
        if w[i] != 0:
            terms, word = rule(now)
            did.append(word)
    return Run(out, terms, did)


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


def visited(state: Any, ran: Run, stages: set[str]) -> bool:
    """Whether these and no other words were said, and the state has counted the rounds and stored the points that it should."""
    size = int(state.support.size[0])
    points = sorted(state.support.born[:size]) == sorted(term.born for term in ran.terms)
    return bool(set(ran.did) == stages and state.rows == len(ran.did) and points)
