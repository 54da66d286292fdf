"""The weights of a mixture of experts, now and over time, the kinds of its experts, and its regret against the best of them.

>>> X, y = onkel.data.friedman(2000, seed=0)
>>> learner = onkel.Auto()
>>> state = learner.init(dim=10)
>>> scores = learner.learn(state, X, y)
>>> found = onkel.explain(learner, state)
>>> found.sentences[0].split(":")[0]
'the mixture'
>>> found.mixture < float(np.nanmin(found.losses))
True
>>> found.to_expert.regret < found.to_combination.regret < found.to_combination.bound
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine import Auto, Experts, Rule
from onkel.combine.account import Account
from onkel.combine.auto.families import Expert
from onkel.combine.auto.state import RULE
from onkel.errors import InputError
from onkel.measure.best_combination import best_combination
from onkel.measure.bounds import so_far
from onkel.model import Model
from onkel.turns import turn

NAMED = 3  # kinds of experts that the first sentence names
MATTERS = 0.2  # if experts that forget have a smaller share than this, the mixture is said to remember everything
HELPS = 0.02  # earlier labels help if they remove more than this part of the square error


@dataclass(frozen=True, repr=False)
class Compared:
    """The mixture compared with fixed weights, over the rows since its rule (re)started, including those learnt at the restart.

    Square losses are weighted by the rows' weights and summed over outputs. Scores are those that the rule uses: clipped to the
    span of the labels before the row.
    """

    weights: Matrix  # (outputs, experts)  the fixed weights
    regret: float  # the mixture's sum of squares minus that of these weights; exact
    bound: float  # an upper bound on the regret that holds for any labels; infinite if none is known

    def __repr__(self) -> str:
        return f"<Compared: regret {self.regret:.5g}, at most {self.bound:.5g}>"


@dataclass(frozen=True, repr=False)
class History:
    """Snapshots along the stream, evenly spaced."""

    rows: Counts  # (snapshots,)  the number of rows learnt before each
    weights: Matrix  # (snapshots, experts)  mean over outputs
    contributions: Cube  # (snapshots, outputs, experts)  weight times score, mean over the rows since the previous snapshot
    mixture: Matrix  # (snapshots, outputs)  mean over the same rows
    labels: Matrix  # (snapshots, outputs)  mean over the same rows

    def __repr__(self) -> str:
        return f"<History: {self.weights.shape[1]} experts in {len(self.rows):,} snapshots>"


@dataclass(frozen=True, repr=False)
class Explanation:
    """What `explain` returns. Weights may be negative, since stacking also subtracts; so shares are computed from absolute
    values."""

    experts: tuple[Expert, ...]
    weights: Vector  # (experts,)  the weights in the next score, mean over outputs
    losses: Vector  # (experts,)  mean square loss over the rows in which each was awake; nan without such rows, or for another loss
    mixture: float  # mean square loss of the mixture
    without_lags: float  # mean square loss of the mixture that does not use earlier labels
    rows: int
    since: int  # rows that the rule has learnt since it (re)started
    to_expert: Compared | None  # compared with the best expert that was awake in all of these rows
    to_combination: Compared | None  # compared with the best fixed weights that sum to 1, for each output
    history: History | None = None
    again: int = 0  # number of restarts of a family because the stream had changed
    cut: int = 0  # number of labels that were clipped

    def __repr__(self) -> str:
        return f"<Explanation after {self.rows:,} rows: {'; '.join(self.sentences)}>"

    @property
    def shares(self) -> Vector:
        """The absolute weight of each expert, as a share of their sum."""
        size = np.abs(self.weights)
        return np.asarray(size / size.sum())

    @property
    def sentences(self) -> list[str]:
        """A few sentences for the user."""
        if self.rows == 0:
            return ["nothing has been learnt yet"]
        kinds: dict[str, float] = {}
        for expert, share in zip(self.experts, self.shares, strict=True):
            kinds[expert.kind] = kinds.get(expert.kind, 0.0) + float(share)
        first = sorted(kinds.items(), key=lambda pair: -pair[1])[:NAMED]
        said = ["the mixture: " + ", ".join(f"{kind} {share:.0%}" for kind, share in first)]
        said += self._memory()
        if any(expert.lagged for expert in self.experts) and self.without_lags > 0.0:
            gain = 1.0 - self.mixture / self.without_lags
            said.append(f"earlier labels help: {gain:.0%} less square error" if gain > HELPS else "earlier labels say little")
        if self.again:
            times = "once" if self.again == 1 else f"{self.again} times"
            said.append(f"the stream has changed: a family of experts began again {times}")
        return said

    @property
    def guarantee(self) -> list[str]:
        """The regrets and their bounds, one sentence each."""
        if self.to_expert is None or self.to_combination is None:
            return ["the regret is not known: the rule's loss is not the square loss, or no expert was active in every row"]
        both = (("expert", self.to_expert), ("fixed combination of experts", self.to_combination))
        return [
            f"regret against the best {name} in {self.since:,} rows: {one.regret:.4g}; {_proven(one.bound)}" for name, one in both
        ]

    def _memory(self) -> list[str]:
        if any(expert.forgetting is None for expert in self.experts):
            return []
        forgetting = np.array([expert.forgetting for expert in self.experts], dtype=float)
        forgets = forgetting < 1.0
        part = float(self.shares[forgets].sum())
        if part <= MATTERS:
            return ["nearly all of the weight is on experts that remember all rows"]
        rows = float(self.shares[forgets] @ (1.0 / (1.0 - forgetting[forgets]))) / part
        return [f"{part:.0%} of the weight is on experts that remember about {rows:.0f} rows"]


def _proven(bound: float) -> str:
    return "no bound is known" if math.isinf(bound) else f"proven: at most {bound:.4g}"


def explain(learner: Any, state: Any) -> Explanation:
    """Explain the state of Auto or Experts, also inside a wrapper or a `Model`.

    learner   Auto or Experts, or a wrapper or a Model around one: of an estimator its `model_`.
    state     Its state: of an estimator its `state_`.
    """
    if hasattr(learner, "model_"):
        raise InputError("explain takes a model and its state; of an estimator: explain(estimator.model_, estimator.state_)")
    with turn(learner, state):
        return _explained(learner, state)


def _explained(learner: Any, state: Any) -> Explanation:
    while not isinstance(learner, Auto | Experts):
        if isinstance(learner, Model):
            learner, state = state.learner, state.inner
            continue
        if not hasattr(learner, "learner") or not hasattr(state, "inner"):
            raise InputError(f"explain knows Auto and Experts, alone or inside a wrapper, not {learner!r:.200}")
        learner, state = learner.learner, state.inner
    return _of_auto(learner, state) if isinstance(learner, Auto) else _of_experts(learner, state)


def _of_auto(learner: Auto, state: Any) -> Explanation:
    ledger, rows, now = state.ledger, state.recent.rows, slice(0, state.ledger.taken)
    means = ledger.means[now].copy()
    return Explanation(
        learner.experts(state.dim),
        learner.weights(state).mean(axis=0),
        np.where(ledger.heard > 0.0, ledger.squares / np.maximum(ledger.heard, 1.0), np.nan),
        float(ledger.lost[0]) / max(rows, 1),
        float(ledger.lost[1]) / max(rows, 1),
        rows,
        ledger.account.rows,
        *_compared(RULE, state.mixed, ledger.account),
        History(ledger.rows[now].copy(), ledger.weights[now].copy(), means[:, :, :-2], means[:, :, -2], means[:, :, -1]),
        int(state.recent.again.sum()),
        int(state.labels.cut[0]),
    )


def _of_experts(learner: Experts, state: Any) -> Explanation:
    parts = enumerate(learner.learners, 1)
    experts = tuple(Expert(f"learner {k} ({type(part).__name__})", forgetting=None) for k, part in parts)
    account: Account = state.account
    unit = np.where(account.heard > 0.0, account.heard, 1.0) if _of_squares(learner.rule) else np.full(len(account.heard), np.nan)
    mixture = float(account.mixture.sum() / unit[-1])
    return Explanation(
        experts,
        learner.weights(state).mean(axis=0),
        account.losses / unit[:-1],
        mixture,
        mixture,
        account.rows,
        account.rows,
        *_compared(learner.rule, state.rule, account),
    )


def _of_squares(rule: Rule) -> bool:
    """Whether the rule, and all rules inside it, use the square loss, as those for regression do."""
    return "regression" in rule.tasks


def _compared(rule: Rule, state: Any, account: Account) -> tuple[Compared | None, Compared | None]:
    """The comparison with the best expert, and with the best fixed combination."""
    outputs, experts = len(account.mixture), len(account.heard) - 1
    there = np.flatnonzero(account.always)
    if not len(there) or not _of_squares(rule):
        return None, None
    allowed = [so_far(rule, state, o) for o in range(outputs)]
    lost = float(account.mixture.sum())
    best = int(there[np.argmin(account.losses[there])])
    expert = Compared(
        np.tile(np.eye(experts)[best], (outputs, 1)),
        lost - float(account.losses[best]),
        float(sum(one.experts[best] for one in allowed)),
    )
    weights, least, bound = np.zeros((outputs, experts)), 0.0, 0.0
    for o, one in enumerate(allowed):
        products = account.products[o][np.ix_(there, there)]
        weights[o, there], theirs = best_combination(products)
        # The bound holds for every θ, so we take the θ that minimises loss plus bound, because its weights are not huge.
        bounded = [best_combination(products, c.ridge, c.tilt[there])[1] + c.constant for c in one.combinations]
        least, bound = least + theirs, bound + min(bounded, default=math.inf) - theirs
    return expert, Compared(weights, lost - least, bound)
