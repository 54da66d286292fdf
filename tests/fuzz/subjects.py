"""Every learner and wrapper, as the laws know them, and blocks of rows for them."""

from __future__ import annotations

import functools
import random
import sys
from typing import Any, NamedTuple

import numpy as np

from tests import test_calibrated, test_combine, test_intervals, test_lagged
from tests.laws.cases import CASES, Array, Case, bits, fresh

WRAPPED = (test_calibrated, test_combine, test_intervals, test_lagged)
SUBJECTS = CASES + [
    Case(f"{learner!r:.80}", learner, sys.modules[module.__name__], small=True) for module in WRAPPED for learner in module.LEARNERS
]


class Block(NamedTuple):
    X: Array
    y: Array
    weight: Array

    def part(self, start: int, stop: int) -> Block:
        return Block(self.X[start:stop], self.y[start:stop], self.weight[start:stop])


def subject(rng: random.Random) -> Case:
    """One that is compiled: what a child compiles, its parent would have to compile again."""
    case = rng.choice(SUBJECTS)
    warm(case)
    return case


@functools.cache
def warm(case: Case) -> None:
    state, block = fresh_state(case), _rows(case, np.arange(5))
    case.learner.learn(state, *block)
    case.learner.predict(state, block.X)


@functools.cache
def _stream(case: Case) -> Block:
    return Block(*case.stream())


def fresh_state(case: Case) -> Any:
    return fresh(case.learner, *_stream(case)[:2])


def block(case: Case, rng: random.Random, most: int, least: int = 0) -> Block:
    """Some rows of the learner's own stream, in any order, with repetitions; about one in ten has weight 0."""
    return _rows(case, np.array([rng.randrange(len(_stream(case).X)) for _ in range(rng.randint(least, most))], int))


def _rows(case: Case, chosen: Any) -> Block:
    return Block(*(array[chosen] for array in _stream(case)))


def warmed_up(case: Case, rng: random.Random, most: int = 300) -> Any:
    """A state at some stage of its learner's life."""
    state = fresh_state(case)
    case.learner.learn(state, *block(case, rng, most))
    return state


def same(case: Case, state: Any, other: Any, probe: Array) -> bool:
    """Whether two states that learnt the same rows, cut in other places, are as equal as their learner promises."""
    if case.learner.cut_tolerance == 0.0:
        return bits(state) == bits(other)
    return near(case, case.learner.predict(state, probe), case.learner.predict(other, probe))


def near(case: Case, scores: Array, others: Array) -> bool:
    largest = float(np.max(np.abs(others), initial=1.0))
    return scores.shape == others.shape and bool(
        np.max(np.abs(scores - others), initial=0.0) <= case.learner.cut_tolerance * largest
    )
