"""A function Σ_j coef_j k(points_j, ·) from which a learner starts, instead of 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel._inputs import check_block
from onkel._types import Matrix, Vector
from onkel._validate import config
from onkel.errors import InputError


@config
class Start:
    """f = Σ_j coef_j k(points_j, ·), from which a learner starts instead of 0

    points  The points, (m, dim).
    coef    Their coefficients, (m,).

    >>> f = onkel.Start(points=[[0.2], [0.7]], coef=[2.0, -1.0])
    >>> learner = onkel.TubeProjection(kernel=onkel.Exponential(rate=1.0), start=f)
    >>> learner.predict(learner.init(dim=1), [[0.2]]).round(2)  # 2 − e^(−0.5)
    array([1.39])
    """

    points: Any
    coef: Any

    def __post_init__(self) -> None:
        rows, coef = check_block("Start: points", self.points), check_block("Start: coef", np.reshape(self.coef, (-1, 1)))
        if not 0 < len(rows) == len(coef):
            raise InputError(f"Start: there must be a coefficient for each point, got {len(coef)} for {len(rows)} points")
        object.__setattr__(self, "points", tuple(map(tuple, rows.tolist())))
        object.__setattr__(self, "coef", tuple(coef[:, 0].tolist()))

    def arrays(self, dim: int) -> tuple[Matrix, Vector]:
        """The points and their coefficients, for rows of `dim` columns."""
        if len(self.points[0]) != dim:
            raise InputError(f"Start: the points have {len(self.points[0])} columns, the rows {dim}; give both the same")
        return np.array(self.points), np.array(self.coef)
