"""What a mixture of experts has decided: who counts, now and over time, what they stand for, and how it compares with the best.

>>> X, y = onkel.data.friedman(2000, seed=0)
>>> learner = onkel.Auto()
>>> state = learner.init(dim=10)
>>> scores = learner.learn(state, X, y)
>>> found = onkel.explain(learner, state)
>>> found.sentences[0].split(":")[0]
'what counts'
>>> found.mixture < float(min(found.losses))
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Counts, Matrix, Vector
from onkel.combine import Auto
from onkel.combine.auto.families import Expert
from onkel.errors import InputError

NAMED = 3  # kinds of experts that the first sentence names
MATTERS = 0.2  # of what counts in all
HELPS = 0.02  # of the square error


@dataclass(frozen=True)
class Explanation:
    """Weights may be negative: a stacking also subtracts. What counts is their size."""

    experts: tuple[Expert, ...]
    weights: Vector  # (experts,)  in the next score, mean over outputs
    losses: Vector  # (experts,)  mean square of each, from the first row on
    mixture: float  # the same of the mixture
    without_lags: float  # and of the mixture that does without earlier labels
    rows: int
    history_rows: Counts  # (moments,)
    history: Matrix  # (moments, experts)  the weights then
    again: int  # how often a family began again because the stream had changed
    cut: int  # labels that were far from all before

    @property
    def regret(self) -> float:
        """The mixture's sum of squares minus that of the expert that has been best in all."""
        return float(self.rows * (self.mixture - self.losses.min()))

    @property
    def shares(self) -> Vector:
        """What each expert counts for, of 1, by the size of its weight."""
        size = np.abs(self.weights)
        return np.asarray(size / size.sum())

    @property
    def sentences(self) -> list[str]:
        """Two or three sentences for a person."""
        if self.rows == 0:
            return ["nothing has been learnt yet"]
        kinds: dict[str, float] = {}
        for expert, share in zip(self.experts, self.shares, strict=True):
            kinds[expert.kind] = kinds.get(expert.kind, 0.0) + float(share)
        first = sorted(kinds.items(), key=lambda pair: -pair[1])[:NAMED]
        said = ["what counts: " + ", ".join(f"{kind} {share:.0%}" for kind, share in first)]
        said.append(self._memory())
        if any(expert.lagged for expert in self.experts) and self.without_lags > 0.0:
            gain = 1.0 - self.mixture / self.without_lags
            said.append(f"earlier labels help: {gain:.0%} less square error" if gain > HELPS else "earlier labels say little")
        if self.again:
            times = "once" if self.again == 1 else f"{self.again} times"
            said.append(f"the stream has changed: a family of experts began again {times}")
        return said

    def _memory(self) -> str:
        forgetting = np.array([expert.forgetting for expert in self.experts])
        forgets = forgetting < 1.0
        part = float(self.shares[forgets].sum())
        if part <= MATTERS:
            return "it remembers everything"
        rows = float(self.shares[forgets] @ (1.0 / (1.0 - forgetting[forgets]))) / part
        return f"{part:.0%} of it forgets within about {rows:.0f} rows"


def explain(learner: Any, state: Any) -> Explanation:
    """What Auto has decided, also where it is inside a wrapper."""
    while not isinstance(learner, Auto):
        if not hasattr(learner, "learner") or not hasattr(state, "inner"):
            raise InputError(f"explain knows Auto, alone or inside a wrapper, not {learner!r:.200}")
        learner, state = learner.learner, state.inner
    ledger, rows, now = state.ledger, state.recent.rows, slice(0, state.ledger.taken)
    return Explanation(
        learner.experts(state.dim),
        learner.weights(state).mean(axis=0),
        ledger.squares / max(rows, 1),
        ledger.mixture / max(rows, 1),
        ledger.alone / max(rows, 1),
        rows,
        ledger.rows[now].copy(),
        ledger.weights[now].copy(),
        int(state.recent.again.sum()),
        state.labels.cut,
    )
