"""Experts: several learners on one stream, mixed by a rule with a proven regret bound.

    p_k = learner k's score of x,   ŷ = rule(p_1, …, p_K);   then every learner, and the rule, learns (x, y)

The grid over the ridge λ of Jézéquel et al. is `Experts(tuple(PKAWV(lam=l) for l in (…)))`. With K learners, a row costs the sum of
their costs, plus O(K²) for the rule.

`awake` says which learners are used in which row: a sleeping one has weight 0 and no loss in that row, but it learns the row.

Jézéquel, Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems, NeurIPS, section 3.1.
Gaillard & Goude, opera: online prediction by expert aggregation (an R package), whose rules these are.

>>> X, y = onkel.data.friedman(2000, seed=0)
>>> linear = onkel.PKAWV((onkel.Standardize(), onkel.Identity() + onkel.Constant()))
>>> curved = onkel.PKAWV((onkel.Standardize(), onkel.Taylor(degree=2) + onkel.Identity() + onkel.Constant()))
>>> for learner in linear, curved, onkel.Experts((linear, curved)):
...     scores = learner.learn(learner.init(dim=10), X, y)
...     print(round(float(np.mean((scores - y) ** 2)), 1))
9.4
8.4
6.6
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_inputs, check_signs
from onkel._types import Cube, Matrix, Vector
from onkel._validate import config
from onkel.combine import account
from onkel.combine.account import Account
from onkel.combine.rules import Layered, Rule
from onkel.combine.rules.rule import Awake, check_rule
from onkel.errors import InputError
from onkel.features import Constant, Fourier, Identity
from onkel.groups import Group
from onkel.learners import PKAWV
from onkel.protocol import Learner, is_learner, tasks_of
from onkel.state import copied, memory
from onkel.turns import Call, Steps, turn

_GRID = tuple(PKAWV(features=Fourier(count=25) + Identity() + Constant(), lam=lam) for lam in (0.01, 1.0, 100.0))


@memory
class State:
    learners: tuple[Any, ...]  # the state of each learner
    rule: Any  # the rule's state
    account: Account  # losses of the mixture and its learners
    dim: int
    outputs: int


@config
class Experts(Learner[State]):
    """Several learners, mixed.

    learners  The learners that are mixed; by default PKAWV with ridges from small to large.
    rule      How their scores are mixed, such as BOA(), MLPoly(), FixedShare() for streams that change, or Layered(). Default:
              Layered().
    """

    group: ClassVar[Group] = Group.START
    when: ClassVar[str] = "to mix learners of your own choice with a guarantee against the best of them"
    paper: ClassVar[str] = "Jézéquel et al. 2019"

    learners: tuple[Any, ...] = _GRID
    rule: Rule = Layered()

    def __post_init__(self) -> None:
        if not isinstance(self.learners, tuple | list) or not self.learners or not all(map(is_learner, self.learners)):
            raise InputError(
                f"Experts: learners must be one or more, such as (PKAWV(lam=0.1), PKAWV(lam=10)), got {self.learners!r:.200}"
            )
        object.__setattr__(self, "learners", tuple(self.learners))
        check_rule(self, "rule", self.rule)
        if not self.tasks:
            able = ", ".join(
                f"{type(part).__name__} {' and '.join(sorted(tasks_of(part)))}" for part in (*self.learners, self.rule)
            )
            raise InputError(f"Experts: there is no task that all learners and the rule support: {able}")

    @property
    def tasks(self) -> frozenset[str]:  # type: ignore[override]
        """The tasks that all learners and the rule support."""
        return self.rule.tasks.intersection(*map(tasks_of, self.learners))

    @property
    def absent(self) -> float:
        """The label in the columns of the classes to which a row does not belong."""
        return float(getattr(self.learners[0], "absent", 0.0))

    @property
    def multi_output(self) -> bool:  # type: ignore[override]
        alike = all(getattr(learner, "absent", 0.0) == self.absent for learner in self.learners)
        return alike and all(learner.multi_output for learner in self.learners)

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return all(learner.bounded for learner in self.learners)

    @property
    def cut_tolerance(self) -> float:  # type: ignore[override]
        return max(float(learner.cut_tolerance) for learner in self.learners)

    def _init(self, dim: int, outputs: int) -> State:
        parts = tuple(learner.init(dim, outputs) for learner in self.learners)
        return State(parts, self.rule.init(len(parts), outputs), account.init(len(parts), outputs), dim, outputs)

    def learn(  # type: ignore[override]
        self, state: State, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None, awake: ArrayLike | None = None
    ) -> Vector:  # fmt: skip
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and changes nothing."""
        return super().learn(state, X, y, weight, awake=awake)

    def predict(self, state: State, X: ArrayLike, awake: ArrayLike | None = None) -> Vector:  # type: ignore[override]
        """The score of each row as if it came next; changes nothing."""
        return super().predict(state, X, awake=awake)

    def scores(self, state: State, X: ArrayLike) -> Cube:
        """Each learner's score of each row, (n, outputs, learners)."""
        with turn(self, state):
            return self._scores(state, check_inputs(X, state.dim))

    def weights(self, state: State) -> Matrix:
        """The weight of each learner in the next row, (outputs, learners)."""
        with turn(self, state):
            return self.rule.weights(state.rule)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        if "regression" not in self.tasks:
            for o in range(state.outputs):
                check_signs(Y[:, o : o + 1])
        for learner, part in zip(self.learners, state.learners, strict=True):
            learner._hooks._admit(part, Y, weight)

    def _take(
        self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix, awake: ArrayLike | None = None
    ) -> None:  # fmt: skip
        who, work = self._check_awake(awake, len(X)), copied(state)  # a copy: one learner may fail after others have learnt
        P = np.empty((*Y.shape, len(self.learners)))
        for k, (learner, part) in enumerate(zip(self.learners, work.learners, strict=True)):
            learner._hooks._take(Call(), part, X, Y, weight, own := np.empty(Y.shape))
            P[:, :, k] = own
        steps = Steps()
        mixture = self.rule.plan(work.rule, P, Y, weight, who, steps)
        account.count(work.account, P, mixture, Y, weight, who, steps)
        steps.run()
        scores[:] = mixture
        vars(state).update(vars(work))

    def _score(self, state: State, X: Matrix, scores: Matrix, awake: ArrayLike | None = None) -> None:
        scores[:] = self.rule.predict(state.rule, self._scores(state, X), self._check_awake(awake, len(X)))

    def _scores(self, state: State, X: Matrix) -> Cube:
        P = np.empty((len(X), state.outputs, len(self.learners)))
        for k, (learner, part) in enumerate(zip(self.learners, state.learners, strict=True)):
            learner._hooks._score(part, X, own := np.empty(P.shape[:2]))
            P[:, :, k] = own
        return P

    def _settle(self, state: State) -> None:
        for learner, part in zip(self.learners, state.learners, strict=True):
            learner._hooks._settle(part)

    def _learnt(self, state: State) -> int:
        return state.account.rows

    def _widen(self, state: State, outputs: int) -> None:
        for learner, part in zip(self.learners, state.learners, strict=True):
            learner._hooks._widen(part, outputs)
        self.rule.widen(state.rule, outputs, self.absent)
        account.widen(state.account, outputs, self.absent)
        state.outputs = outputs

    def _footprint(self, dim: int, outputs: int) -> int:
        parts = sum(learner.footprint(dim, outputs) for learner in self.learners)
        mixed = self.rule.footprint(len(self.learners), outputs) + account.footprint(len(self.learners), outputs)
        return int(parts + mixed + 8 * 2)

    def _check(self, state: State) -> None:
        for learner, part in zip(self.learners, state.learners, strict=True):
            if (part.dim, part.outputs) != (state.dim, state.outputs):
                raise InputError("the columns or outputs of its parts differ in number")
            learner._hooks._check(part)
        if (state.rule.experts, state.rule.outputs) != (len(self.learners), state.outputs):
            raise InputError("the columns or outputs of its parts differ in number")
        self.rule.check(state.rule)
        account.check(state.account)

    def _notes(self, state: State) -> list[str]:
        parts = enumerate(zip(self.learners, state.learners, strict=True), 1)
        return [f"learner {k}: {note}" for k, (learner, part) in parts for note in learner._hooks._notes(part)] + self.rule.notes(
            state.rule
        )

    def _check_awake(self, awake: ArrayLike | None, rows: int) -> Awake:
        """The checked mask, (rows, learners), of the learners that are awake in each row; by default all are."""
        shape = (rows, len(self.learners))
        if awake is None:
            return np.ones(shape, dtype=bool)
        given = np.asarray(awake)
        if given.shape != shape or given.dtype != bool:
            raise InputError(
                f"awake must be True or False for each row and learner, of shape {shape}, got {given.dtype} of {given.shape}"
            )
        if (silent := np.flatnonzero(~given.any(axis=1))).size:
            raise InputError(f"awake: in row {silent[0]} no learner is awake; each row needs at least one")
        return np.array(given, order="C")
