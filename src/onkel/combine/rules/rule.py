"""What a mixing rule is: the scores of several experts in, one score out, and then the label.

    state   = rule.init(experts=4)                           regrets and the like, small arrays
    mixture = rule.learn(state, P, Y, weight, awake)         the mixture of each row *before* its label
    mixture = rule.predict(state, P, awake)                  each row as if it came next; changes nothing

P is (n, outputs, experts), Y is (n, outputs), weight (n,) multiplies a row's loss, awake (n, experts) says who speaks: at least
one in each row. An expert that sleeps has no weight in that round, and what is known of it stays. Outputs are independent of each
other. Rows are taken one by one in their order, so that any cut of a stream gives the same bits. Arguments are checked by the
caller.

A rule may need the mixtures of others (`below`): a stacking that of its prior, a layer those of its rules. Each distinct rule is
evaluated once a round, however many need it. Scores are cut to the span of the labels so far (`onkel.mixing`), or, where the loss
is logistic and scores are log-odds, to ±LOG_ODDS. Before the first label the mixture is the mean of the experts.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.losses import Logistic, Loss, Square
from onkel.mixing import fixed_span, unknown_span
from onkel.state import nbytes
from onkel.turns import Steps

SAME = 1e-11  # relatively: scores, and losses, that differ by less are equal, since rounding must not choose among experts
LEAST_LOSS = 1e-250  # of squares: smaller ones have too few digits to weigh experts by, and count as none
LOG_ODDS = 14.0  # a probability of one in a million: none smaller is believed

Awake = NDArray[np.bool_]


@dataclass
class State:
    parts: tuple[Any, ...]  # of each distinct rule, in the rule's `order`: arrays with a row for each output
    experts: int
    outputs: int


class Rule(ABC):
    """A frozen config. The abstract methods are about its own part of a state; what it needs of others is given as `below`."""

    @property
    def below(self) -> tuple[Rule, ...]:
        """The rules whose mixtures it needs."""
        return ()

    @property
    def tasks(self) -> frozenset[str]:
        """What its loss, and those of the rules below, are for."""
        own = getattr(self, "loss", Square()).tasks
        return frozenset(own).intersection(*(rule.tasks for rule in self.below))

    @abstractmethod
    def start(self, experts: int, outputs: int) -> Any:
        """Its own part, which has seen nothing."""

    @abstractmethod
    def step(
        self, own: Any, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, below: list[Matrix], steps: Steps
    ) -> Matrix:  # fmt: skip
        """Add the step that scores, then learns, each row; one of weight 0 is scored alone. The mixture, once the step has run."""

    @abstractmethod
    def count(self, own: Any, below: list[Matrix], awake: Awake) -> Matrix:
        """What each expert counts for in a round in which these are awake, given what it does in the rules below."""

    @abstractmethod
    def check_own(self, own: Any) -> None:
        """Refuse numbers that no rows can have made."""

    def acquaint(self, fresh: Any, own: Any, label: float) -> None:
        """Let a fresh part know of the rows that `own` has seen: in all of them the label was this, as every expert foretold."""
        if not fresh.span[:, 2].all():
            fresh.span[:] = label, label, own.span[0, 2]

    @cached_property
    def order(self) -> tuple[Rule, ...]:
        """Every rule that this one is made of, each once and after those that it needs; itself last."""
        return (*dict.fromkeys(rule for needed in self.below for rule in needed.order), self)

    @cached_property
    def _needs(self) -> tuple[tuple[int, ...], ...]:
        """Of each rule in `order`, the places there of those that it needs."""
        return tuple(tuple(self.order.index(needed) for needed in rule.below) for rule in self.order)

    def init(self, experts: int, outputs: int = 1) -> State:
        """A state that has seen nothing."""
        return State(tuple(rule.start(experts, outputs) for rule in self.order), experts, outputs)

    def learn(self, state: State, P: Matrix, Y: Matrix, weight: Vector, awake: Awake) -> Matrix:
        """The mixture of each row before its label, (n, outputs)."""
        steps = Steps()
        mixture = self.plan(state, P, Y, weight, awake, steps)
        steps.run()
        return mixture

    def plan(self, state: State, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, steps: Steps) -> Matrix:
        """Add the steps that learn the rows; what the mixture will be once they have run, and so may P."""
        mixtures: list[Matrix] = []
        for rule, own, needs in zip(self.order, state.parts, self._needs, strict=True):
            mixtures.append(rule.step(own, P, Y, weight, awake, [mixtures[k] for k in needs], steps))
        return mixtures[-1]

    def predict(self, state: State, P: Matrix, awake: Awake) -> Matrix:
        """The mixture of each row as if it came next; changes nothing."""
        return self.learn(state, P, np.zeros(P.shape[:2]), np.zeros(len(P)), awake)

    def weights(self, state: State, awake: Awake | None = None) -> Matrix:
        """What each expert counts for in the next round if these are awake, or all of them, (outputs, experts)."""
        who, counts = np.ones(state.experts, dtype=bool) if awake is None else awake, list[Matrix]()
        for rule, own, needs in zip(self.order, state.parts, self._needs, strict=True):
            counts.append(rule.count(own, [counts[k] for k in needs], who))
        return counts[-1]

    def widen(self, state: State, outputs: int, label: float = 0.0) -> None:
        """Add outputs in mid-stream, whose label was this in every row so far, as every expert foretold."""
        more = outputs - state.outputs
        state.parts = tuple(
            rule.widened(own, state.experts, more, label) for rule, own in zip(self.order, state.parts, strict=True)
        )
        state.outputs = outputs

    def widened(self, own: Any, experts: int, more: int, label: float) -> Any:
        """Its own part with so many outputs more."""
        fresh = self.start(experts, more)
        self.acquaint(fresh, own, label)
        names = [field.name for field in dataclasses.fields(own)]
        return type(own)(*(np.concatenate([getattr(own, name), getattr(fresh, name)]) for name in names))

    def footprint(self, experts: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold."""
        return sum(rule.size(experts, outputs) for rule in self.order) + 8 * 2

    def size(self, experts: int, outputs: int) -> int:
        """The bytes of its own part."""
        return outputs * nbytes(self.start(experts, 1))

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        for rule, own in zip(self.order, state.parts, strict=True):
            rule.check_own(own)

    def notes(self, state: State) -> list[str]:
        """What a person should know of this state, one sentence each."""
        return []


def check_loss(rule: Any) -> None:
    if not isinstance(rule.loss, Square | Logistic):
        raise InputError(f"{type(rule).__name__}: loss must be Square() or Logistic(), got {rule.loss!r:.60}")


def check_rule(owner: Any, name: str, rule: Any) -> None:
    if not isinstance(rule, Rule):
        raise InputError(f"{type(owner).__name__}: {name} must be a mixing rule, such as MLPoly(), got {rule!r:.200}")


def first_span(loss: Loss, outputs: int) -> Matrix:
    """What scores are cut to at first: nothing is known of labels, but for the logistic loss."""
    return fixed_span(outputs, LOG_ODDS) if isinstance(loss, Logistic) else unknown_span(outputs)
