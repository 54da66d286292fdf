"""Ridge regression that remembers every row. Sums of products are updated in each row; the coefficients are solved for again
whenever the number of rows has grown by an eighth.

Between two solutions the coefficients do not change. Every prefix of the parts is an expert (`parts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onkel._inputs import leading
from onkel._types import Cube, Matrix, Vector
from onkel.combine.auto.families.expert import Expert
from onkel.combine.auto.families.parts import Parts, ridge_diagonal
from onkel.combine.auto.views import View
from onkel.errors import InputError
from onkel.linalg import gram
from onkel.linalg.blas import gemm_nt
from onkel.state import memory
from onkel.turns import Steps

RENEWALS = 8  # coefficients are computed again when there are this part (1/8) more rows
SHORTEST, LONGEST = 8, 1024  # limits for the number of rows between two computations of the coefficients
FEATURES_A_ROW = 2  # an expert with more features than this times the rows learnt gets the coefficients of a shorter one


@memory
class RidgeState:
    maps: tuple[Any, ...]
    products: Matrix  # (r, r)
    targets: Matrix  # (outputs, r)
    theta: Cube  # (outputs, experts, r)
    rows: int = 0
    due: int = SHORTEST  # number of rows at which θ is computed again


@dataclass(frozen=True)
class RememberingRidge:
    parts: Parts
    # two ridges: the first is used for every prefix of the parts, the second only for the longer half of the prefixes
    lams: tuple[float, float]

    @cached_property
    def experts(self) -> tuple[Expert, ...]:
        return tuple(
            Expert(part.name, 1.0, lam, "L" in part.view)
            for lam, first in zip(self.lams, self._firsts, strict=True)
            for part in self.parts[first:]
        )

    @property
    def _firsts(self) -> tuple[int, int]:
        """For each ridge, the last part of its shortest expert."""
        return 0, len(self.parts) // 2

    def init(self, outputs: int) -> RidgeState:
        r = self.parts.size
        maps = self.parts.init_maps()
        return RidgeState(maps, np.zeros((r, r)), np.zeros((outputs, r)), np.zeros((outputs, len(self.experts), r)))

    def footprint(self, outputs: int) -> int:
        r = self.parts.size
        maps = self.parts.footprint()
        return maps + 8 * (r * r + outputs * r * (1 + len(self.experts)) + 2)

    def learn(self, state: RidgeState, view: View, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        V, done, due = self.parts.transform(state.maps, view), 0, state.due
        scores = np.empty((*Y.shape, len(self.experts)))
        rows = state.rows
        while done < len(V):
            now = slice(done, done + leading(weight[done:], due - rows))
            root = np.sqrt(weight[now])[:, None]
            steps.add(self._score, state, V[now], scores[now])
            steps.add(gram.add, state.products, state.targets, V[now] * root, Y[now] * root)
            rows, done = rows + int(np.count_nonzero(weight[now])), now.stop
            steps.add(setattr, state, "rows", rows)
            if rows >= due:
                steps.add(self._renew, state)
                due = _due(rows)
        return scores

    def predict(self, state: RidgeState, view: View) -> Cube:
        scores = np.empty((len(view.X), len(state.targets), len(self.experts)))
        self._score(state, self.parts.transform(state.maps, view), scores)
        return scores

    def _score(self, state: RidgeState, V: Matrix, scores: Cube) -> None:
        outputs, experts, r = state.theta.shape
        flat = np.empty((len(V), outputs * experts))
        gemm_nt(V, state.theta.reshape(-1, r), flat)
        scores[:] = flat.reshape(scores.shape)

    def _renew(self, state: RidgeState) -> None:
        """Compute θ from the sums of products. Experts with too many features for the rows so far get those of a shorter one."""
        ends = self.parts.ends
        active = max(1, int(np.searchsorted(ends, FEATURES_A_ROW * state.rows, side="right")))
        r = int(ends[active - 1])
        targets, R, at, all_theta = state.targets[:, :r].copy(), np.zeros((r, r)), 0, state.theta.copy()
        for lam, first in zip(self.lams, self._firsts, strict=True):
            wanted = np.minimum(ends[first:], r)
            theta = np.empty((len(targets), len(wanted), r))
            gram.factorise(state.products, ridge_diagonal(r, lam), R)
            gram.solve(R, targets, wanted, theta)
            all_theta[:, at : at + len(wanted), :r] = theta
            at += len(wanted)
        vars(state).update(theta=all_theta, due=_due(state.rows))  # one step, which no interrupt can split

    def widen(self, state: RidgeState, outputs: int) -> None:
        more = outputs - len(state.targets)
        state.targets = np.pad(state.targets, ((0, more), (0, 0)))
        state.theta = np.pad(state.theta, ((0, more), (0, 0), (0, 0)))

    def check(self, state: RidgeState) -> None:
        if np.any(np.diag(state.products) < 0.0) or np.any(np.tril(state.products, -1)) or not 0 <= state.rows < state.due:
            raise InputError("its sums of products cannot come from rows")


def _due(rows: int) -> int:
    """The number of rows at which coefficients computed after `rows` rows are computed again."""
    return rows + min(max(SHORTEST, rows // RENEWALS), LONGEST)
