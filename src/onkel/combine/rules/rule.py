"""The protocol of mixing rules. A rule gets the scores of several experts and returns one score; then it gets the label.

    state   = rule.init(experts=4)                           small arrays, such as regrets
    mixture = rule.learn(state, P, Y, weight, awake)         the mixture of each row *before* its label
    mixture = rule.predict(state, P, awake)                  each row as if it came next; changes nothing

P (n, outputs, experts) holds the experts' scores and Y (n, outputs) the labels of n rows; weight (n,) multiplies a row's loss;
awake (n, experts) marks the experts that are awake, at least one in each row. A sleeping expert has weight 0 in that round, and its
statistics do not change. Outputs are independent of each other. Rows are processed one by one in order, so every way to cut a
stream into calls gives the same bits. The caller checks the arguments.

A rule may use the mixtures of other rules (`below`): `Stacking` uses that of its prior, `Layered` those of its rules. Each distinct
rule is evaluated once in each round, even if several rules use it. Scores are clipped to the range of the labels so far, the *span*
(`onkel.mixing`). For the logistic loss, scores are log-odds and are clipped to ±LOG_ODDS. Before the first label the mixture is the
mean of the experts.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._inputs import no_weight
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.losses import Logistic, Loss, Square
from onkel.mixing import fixed_span, unknown_span
from onkel.state import memory, nbytes
from onkel.turns import Steps

SAME = 1e-11  # relative difference below which scores or losses count as equal, so that rounding does not choose among experts
LEAST_LOSS = 1e-250  # smaller squares have lost their digits, and count as 0
LOG_ODDS = 14.0  # clips probabilities to about one in a million

Awake = NDArray[np.bool_]


@memory
class State:
    parts: tuple[Any, ...]  # the part of each distinct rule, in the rule's `order`: arrays with a row for each output
    experts: int
    outputs: int


class Rule(ABC):
    """A frozen config. The abstract methods work on the rule's own part of a state (`own`), and get the mixtures of the rules that
    it uses (`below`).

    >>> P = np.array([[[0.0, 1.0]], [[0.0, 1.0]], [[0.0, 1.0]]])  # three rows, one output, two experts; the second is right
    >>> rule = onkel.BOA()
    >>> rule.learn(rule.init(experts=2), P, np.ones((3, 1)), np.ones(3), np.ones((3, 2), dtype=bool)).ravel().round(2)
    array([0.5, 1. , 1. ])
    """

    @property
    def below(self) -> tuple[Rule, ...]:
        """The rules whose mixtures this rule uses."""
        return ()

    @property
    def tasks(self) -> frozenset[str]:
        """The tasks that the losses of this rule and of the rules below support."""
        own = getattr(self, "loss", Square()).tasks
        return frozenset(own).intersection(*(rule.tasks for rule in self.below))

    @abstractmethod
    def start(self, experts: int, outputs: int) -> Any:
        """The rule's own part of a state, before the first row."""

    @abstractmethod
    def step(
        self, own: Any, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, below: list[Matrix], steps: Steps
    ) -> Matrix:  # fmt: skip
        """Add to `steps` the step that scores, then learns, each row (rows of weight 0 are only scored). Returns the array that the
        step fills with the mixture."""

    @abstractmethod
    def count(self, own: Any, below: list[Matrix], awake: Awake) -> Matrix:
        """The weight of each expert in a round with these experts awake, given the weights in the rules below."""

    @abstractmethod
    def check_own(self, own: Any) -> None:
        """Refuse a part of a state that no rows can lead to."""

    def acquaint(self, fresh: Any, own: Any, label: float) -> None:
        """Prepare outputs that are added during a stream. `fresh` is their part before the first row, `own` that of old outputs.
        Change `fresh` to what it would be after the rows so far, if in each of them the label and all scores had been `label`."""
        if not fresh.span[:, 2].all():
            fresh.span[:] = label, label, own.span[0, 2]

    @cached_property
    def order(self) -> tuple[Rule, ...]:
        """All rules that this one is made of, each once, after the rules that it uses (topological order); this rule is the
        last."""
        return (*dict.fromkeys(rule for needed in self.below for rule in needed.order), self)

    @cached_property
    def _needs(self) -> tuple[tuple[int, ...], ...]:
        """For each rule in `order`, the indices in `order` of the rules that it uses."""
        return tuple(tuple(self.order.index(needed) for needed in rule.below) for rule in self.order)

    def init(self, experts: int, outputs: int = 1) -> State:
        """A state before the first row."""
        return State(tuple(rule.start(experts, outputs) for rule in self.order), experts, outputs)

    def learn(self, state: State, P: Matrix, Y: Matrix, weight: Vector, awake: Awake) -> Matrix:
        """The mixture of each row before its label, (n, outputs)."""
        steps = Steps()
        mixture = self.plan(state, P, Y, weight, awake, steps)
        steps.run()
        return mixture

    def plan(self, state: State, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, steps: Steps) -> Matrix:
        """Add to `steps` the steps that learn the rows. Returns the array that they fill with the mixture. P is read only when they
        run, so earlier steps may fill it."""
        mixtures: list[Matrix] = []
        for rule, own, needs in zip(self.order, state.parts, self._needs, strict=True):
            mixtures.append(rule.step(own, P, Y, weight, awake, [mixtures[k] for k in needs], steps))
        return mixtures[-1]

    def predict(self, state: State, P: Matrix, awake: Awake) -> Matrix:
        """The mixture of each row as if it came next; changes nothing."""
        return self.learn(state, P, np.zeros(P.shape[:2]), no_weight(len(P)), awake)

    def weights(self, state: State, awake: Awake | None = None) -> Matrix:
        """The weight of each expert in the next round, if these (by default all) are awake; (outputs, experts)."""
        who, counts = np.ones(state.experts, dtype=bool) if awake is None else awake, list[Matrix]()
        for rule, own, needs in zip(self.order, state.parts, self._needs, strict=True):
            counts.append(rule.count(own, [counts[k] for k in needs], who))
        return counts[-1]

    def widen(self, state: State, outputs: int, label: float = 0.0) -> None:
        """Add outputs, as if their label and all scores had been `label` in every row so far."""
        more = outputs - state.outputs
        state.parts = tuple(
            rule.widened(own, state.experts, more, label) for rule, own in zip(self.order, state.parts, strict=True)
        )
        state.outputs = outputs

    def widened(self, own: Any, experts: int, more: int, label: float) -> Any:
        """The rule's own part with `more` additional outputs."""
        fresh = self.start(experts, more)
        self.acquaint(fresh, own, label)
        names = [field.name for field in dataclasses.fields(own)]
        return type(own)(*(np.concatenate([getattr(own, name), getattr(fresh, name)]) for name in names))

    def footprint(self, experts: int, outputs: int = 1) -> int:
        """The size in bytes of the state that `init` makes."""
        return sum(rule.size(experts, outputs) for rule in self.order) + 8 * 2

    def size(self, experts: int, outputs: int) -> int:
        """The size in bytes of the rule's own part."""
        return outputs * nbytes(self.start(experts, 1))

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        for rule, own in zip(self.order, state.parts, strict=True):
            rule.check_own(own)

    def notes(self, state: State) -> list[str]:
        """What the user should know about this state, one sentence each."""
        return []


def check_loss(rule: Any) -> None:
    if not isinstance(rule.loss, Square | Logistic):
        raise InputError(f"{type(rule).__name__}: loss must be Square() or Logistic(), got {rule.loss!r:.60}")


def check_rule(owner: Any, name: str, rule: Any) -> None:
    if not isinstance(rule, Rule):
        raise InputError(f"{type(owner).__name__}: {name} must be a mixing rule, such as MLPoly(), got {rule!r:.200}")


def first_span(loss: Loss, outputs: int) -> Matrix:
    """The span before the first label: empty, or fixed for the logistic loss."""
    return fixed_span(outputs, LOG_ODDS) if isinstance(loss, Logistic) else unknown_span(outputs)
