"""Layered: a rule that mixes the mixtures of other rules, because it is not known beforehand which rule suits a stream.

    ŷ = outer(q_1, …, q_m),   where q_i is the mixture of rule i

A rule that is used several times, such as in the list `rules` and as the prior of a `Stacking` in that list, is evaluated once in
each round. The regret is at most that of the outer rule to the best inner rule, plus that of this inner rule to the experts
(`onkel.measure.bounds.layered`).

>>> rng = np.random.default_rng(0)
>>> y = rng.normal(size=(500, 1))
>>> P = np.stack([y + 1.0, y + 2.0], axis=2) + 0.1 * rng.normal(size=(500, 1, 2))
>>> rule = onkel.Layered()
>>> mixture = rule.learn(rule.init(experts=2), P, y, np.ones(500), np.ones((500, 2), dtype=bool))
>>> round(float(np.mean((mixture - y)[100:] ** 2)), 2)
0.12
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot
from onkel._types import Cube, Matrix, Vector
from onkel._validate import config
from onkel.combine.rules.fixed_share import FixedShare
from onkel.combine.rules.ml_poly import MLPoly
from onkel.combine.rules.rule import Awake, Rule, State, check_rule
from onkel.combine.rules.stacking import Stacking
from onkel.errors import InputError
from onkel.turns import Steps

# two convex rules and, around each, a faster and a slower regression; of all lists tried on 30 real sets this had the least error
_RULES: tuple[Rule, ...] = (
    FixedShare(),
    MLPoly(),
    Stacking(FixedShare(), lam=1.0, forgetting=0.999),
    Stacking(FixedShare(), lam=3.0, forgetting=0.995),
    Stacking(MLPoly(), lam=10.0, forgetting=0.999),
    Stacking(MLPoly(), lam=10.0),
)


@config
class Layered(Rule):
    """An outer rule over the mixtures of several inner rules.

    rules  The rules whose mixtures are mixed again.
    outer  The rule that mixes these mixtures. Default: MLPoly().
    """

    rules: tuple[Rule, ...] = _RULES
    outer: Rule = MLPoly()

    def __post_init__(self) -> None:
        if not isinstance(self.rules, tuple | list) or not self.rules:
            raise InputError(
                f"Layered: rules must be one or more mixing rules, such as (MLPoly(), FixedShare()), got {self.rules!r:.200}"
            )
        object.__setattr__(self, "rules", tuple(self.rules))
        for rule in self.rules:
            check_rule(self, "each of rules", rule)
        check_rule(self, "outer", self.outer)

    @property
    def below(self) -> tuple[Rule, ...]:
        return self.rules

    @property
    def tasks(self) -> frozenset[str]:
        return super().tasks & self.outer.tasks

    def start(self, experts: int, outputs: int) -> State:
        return self.outer.init(len(self.rules), outputs)

    def step(self, own: State, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, below: list[Matrix], steps: Steps) -> Matrix:
        everyone, side_by_side = np.ones((len(Y), len(below)), dtype=bool), np.empty((*Y.shape, len(below)))
        steps.add(_write_side_by_side, tuple(below), side_by_side)
        return self.outer.plan(own, side_by_side, Y, weight, everyone, steps)

    def count(self, own: State, below: list[Matrix], awake: Awake) -> Matrix:
        return np.asarray(np.einsum("or,rok->ok", self.outer.weights(own), np.stack(below)))

    def widened(self, own: State, experts: int, more: int, label: float) -> State:
        self.outer.widen(own, own.outputs + more, label)
        return own

    def size(self, experts: int, outputs: int) -> int:
        return self.outer.footprint(len(self.rules), outputs)

    def check_own(self, own: State) -> None:
        self.outer.check(own)


@hot
def _write_side_by_side(below: tuple[Matrix, ...], out: Cube) -> None:
    for k in range(len(below)):
        for t in range(out.shape[0]):
            for o in range(out.shape[1]):
                out[t, o, k] = below[k][t, o]
