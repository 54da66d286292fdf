"""Sequences of compiled calls: all kinds of arguments arrive as they are in ordinary calls, and a failure stops a sequence."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from onkel._jit import compiler_off, hot, hot_lean
from onkel._native import in_sequence, run_all
from onkel._types import Matrix, Vector

pytestmark = pytest.mark.skipif(compiler_off, reason="with the compiler off, calls run one by one")


class Pair(NamedTuple):
    matrix: Matrix
    numbers: tuple[Vector, float]


@hot
def fill(pair: Pair, flag: bool, small: Any, strided: Matrix, count: int, out: Vector) -> None:
    copy = pair.matrix.copy()  # created by the function, which must free it
    out[0] = copy.sum() + pair.numbers[0][1] * pair.numbers[1]
    out[1] = (10.0 if flag else 20.0) + count
    out[2] = small[1, 0] + strided[1, 1] + strided.shape[0]


@hot_lean
def add_one(out: Vector) -> None:
    out[0] += 1.0


@hot
def fail_once(failures: Vector) -> None:
    if failures[0] > 0.0:
        failures[0] -= 1.0
        raise ValueError


@hot
def returned(x: Vector) -> float:
    return float(x[0])


def test_arguments_arrive_as_in_an_ordinary_call() -> None:
    rng = np.random.default_rng(0)
    matrix, line = rng.normal(size=(3, 4)), rng.normal(size=2)
    small, wide = np.arange(4, dtype=np.int32).reshape(2, 2), rng.normal(size=(5, 6))
    for flag, empty in (True, matrix), (False, np.empty((0, 4))):
        arguments = Pair(empty, (line, -2.5)), flag, small, wide[::2, 1::2], -7
        expected, found = np.zeros(3), np.zeros(3)
        fill(*arguments, expected)
        run_all(in_sequence([partial(fill, *arguments, found)]))
        assert found.tolist() == expected.tolist()


def test_a_sequence_keeps_its_arrays() -> None:
    out = np.zeros(3)
    run = in_sequence([partial(fill, Pair(np.ones((300, 300)), (np.ones(2), 1.0)), True, np.eye(2), np.eye(2), 1, out)])
    others = [np.full((300, 300), 7.0) for _ in range(20)]
    run_all(run)
    assert out[0] == 90001.0
    assert others[0][0, 0] == 7.0


def test_after_a_failure_it_goes_on_with_the_call_that_failed() -> None:
    out, failures = np.zeros(1), np.array([2.0])
    run = in_sequence([partial(add_one, out), partial(fail_once, failures), partial(add_one, out)])
    for _ in range(2):
        with pytest.raises(MemoryError):
            run_all(run)
        assert out[0] == 1.0
    run_all(run)
    assert out[0] == 2.0
    run_all(run)
    assert out[0] == 4.0


def test_a_function_that_returns_something_is_refused() -> None:
    with pytest.raises(TypeError, match="must return nothing"):
        in_sequence([partial(returned, np.ones(1))])
