"""A learner around another one: what it says of itself is what the one inside says, where nothing else is said."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from onkel._inputs import is_sparse
from onkel._types import Matrix, Vector
from onkel.protocol import Learner
from onkel.turns import turn


def same(name: str) -> Any:
    """A property that is the inner learner's own: `bounded = same("bounded")`."""
    return property(lambda outer: getattr(outer.learner, name))


class Around(Learner[Any]):
    """Its state holds that of the inner learner as `inner`.

    The inner one learns rows first. Then what is around it is brought up to the same rows (`_follow`): which those are, its count
    says, whatever came in between.
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
        """The label of a class that a row is not of."""
        return float(getattr(self.learner, "absent", 0.0))

    @property
    def takes_sparse(self) -> bool:
        return takes_sparse(self.learner)

    @cached_property
    def _inside(self) -> Any:
        """The hooks of the learner inside."""
        return self.learner._hooks

    def predict_any(self, state: Any, X: Any, **more: Any) -> Vector:
        """The score of rows that may come at any time, as the learner's own `predict_any` has it."""
        return self._predicted(self._score_any, state, X, **more)

    def keeps_rows(self, state: Any) -> bool:
        """Whether every row so far is kept, so that columns may still be added: where a learner in it says so."""
        return False

    def remember(self, state: Any) -> Vector:
        """The earlier labels that a row would get now, where the learner looks at them."""
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
    """Whether X may be one of scipy.sparse's matrices."""
    return bool(getattr(learner, "takes_sparse", False))


def predict_any(learner: Any, state: Any, X: Any) -> Vector:
    """Its answer for rows that need not come next."""
    scores: Vector = getattr(learner, "predict_any", learner.predict)(state, X)
    return scores
