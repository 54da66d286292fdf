"""The base of wrappers, which are learners around another learner. A hook that a wrapper does not define is that of the inner
learner."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from onkel._inputs import check_weight, is_sparse
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.protocol import Learner, check_columns
from onkel.state import copied, owned
from onkel.turns import turn


def same(name: str) -> Any:
    """A property forwarded to the inner learner: `bounded = same("bounded")`."""
    return property(lambda outer: getattr(outer.learner, name))


class Wrapper(Learner[Any]):
    """A learner around another one. Its state contains the state of the inner learner as `inner`.

    The inner learner learns the rows first. Then `_follow` updates the wrapper's own part by the same rows. After an interrupt or
    an error, `_follow` uses only the rows that the inner learner has learnt, as its count of rows says.
    """

    learner: Any

    tasks = same("tasks")
    multi_output = same("multi_output")
    bounded = same("bounded")
    cut_tolerance = same("cut_tolerance")

    @property
    def loss(self) -> Any:
        return getattr(self.learner, "loss", self.learner)

    @property
    def absent(self) -> float:
        """The label in the columns of the classes to which a row does not belong."""
        return float(getattr(self.learner, "absent", 0.0))

    @property
    def takes_sparse(self) -> bool:
        return takes_sparse(self.learner)

    @cached_property
    def _inside(self) -> Any:
        """The hooks of the learner inside."""
        return self.learner._hooks

    def _begun(self, dim: int, outputs: int) -> Any:
        """A state of the learner inside before its first row. Memory is not checked here: it was checked for the whole."""
        check_columns(self.learner, dim)
        return owned(self.learner, self._inside._init(dim, outputs))

    def predict_any(self, state: Any, X: Any, **more: Any) -> Vector:
        """The score of rows that may come at any time, by the inner learner's `predict_any`."""
        return self._predicted(self._score_any, state, X, **more)

    def survey(self, state: Any, X: Any, y: ArrayLike, **more: Any) -> None:
        """Compute the scales of inputs and labels from rows that will be learnt next. No row may have been learnt yet.

        Call it for all of these rows, in parts of any size. While they are learnt the scales do not change.
        """
        with turn(self, state, True):
            if self._learnt(state):
                raise InputError("rows can be surveyed only before the first one is learnt")
            work = copied(state)
            rows, labels, _ = self._labelled(work, X, y)
            self._survey(work, rows, labels, **more)
            vars(state).update(vars(work))  # as one step

    def learn_again(self, state: Any, X: Any, y: ArrayLike, weight: ArrayLike | None = None, **more: Any) -> None:
        """Learn rows that were learnt before. What is estimated from errors (the width of intervals, the calibration of
        probabilities) does not change, since errors on rows that were learnt before say little about errors on new rows."""
        with turn(self, state, True):
            if not self._learnt(state):
                raise InputError("no row was learnt before; learn the rows first")
            work = copied(state)
            rows, labels, _ = self._labelled(work, X, y)
            weights = check_weight(weight, len(labels))
            self._admit(work, labels, weights)
            self._take_again(work, rows, labels, weights, **more)
            vars(state).update(vars(work))  # as one step

    def keeps_rows(self, state: Any) -> bool:
        """Whether every row so far is stored, so that columns may still be added."""
        return False

    def remember(self, state: Any) -> Vector:
        """The earlier labels that a row predicted now uses, if the learner uses any."""
        with turn(self, state):
            return self._remember(state)

    def _labelled(self, state: Any, X: Any, y: ArrayLike) -> tuple[Any, Matrix, tuple[int, ...]]:
        if is_sparse(X) and self.takes_sparse:
            labelled: tuple[Any, Matrix, tuple[int, ...]] = self._inside._labelled(state.inner, X, y)
            return labelled
        return super()._labelled(state, X, y)

    def _rows(self, state: Any, X: Any) -> Any:
        return self._inside._rows(state.inner, X) if is_sparse(X) and self.takes_sparse else super()._rows(state, X)

    def _admit(self, state: Any, Y: Matrix, weight: Vector) -> None:
        self._inside._admit(state.inner, Y, weight)

    def _remember(self, state: Any) -> Vector:
        known: Vector = self._inside._remember(state.inner)
        return known

    def _survey(self, state: Any, X: Any, Y: Matrix, there: Any = None) -> None:
        self._inside._survey(state.inner, X, Y, there)

    def _take_again(self, state: Any, X: Any, Y: Matrix, weight: Vector, **more: Any) -> None:
        self._inside._take_again(state.inner, X, Y, weight, **more)

    def _rows_to_repeat(self, state: Any) -> int:
        return int(self._inside._rows_to_repeat(state.inner))

    def _settle(self, state: Any) -> None:
        self._inside._settle(state.inner)

    def _learnt(self, state: Any) -> int:
        return int(self._inside._learnt(state.inner))

    def _check(self, state: Any) -> None:
        self._inside._check(state.inner)

    def _notes(self, state: Any) -> list[str]:
        notes: list[str] = self._inside._notes(state.inner)
        return notes


def takes_sparse(learner: Any) -> bool:
    """Whether X may be a scipy.sparse matrix."""
    return bool(getattr(learner, "takes_sparse", False))


def predict_any(learner: Any, state: Any, X: Any) -> Vector:
    """The scores of rows that need not come next."""
    scores: Vector = getattr(learner, "predict_any", learner.predict)(state, X)
    return scores
