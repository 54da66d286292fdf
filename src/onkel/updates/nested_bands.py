"""Confidence bands of a fit on the first functions of a list (`nested_ridge`), from its sums and its sample of the rows."""

from __future__ import annotations

import numpy as np

from onkel._types import Matrix, Vector
from onkel.features.mercer.waves import Waves
from onkel.linalg.factor import faded_ridge
from onkel.updates.nested_ridge import NestedFit, NestedSettings, still
from onkel.updates.undersmoothed import Problem, Undersmoothed, fitted

Band = tuple[Vector, Vector, float]  # centre, standard error, and how many of these errors the band reaches to each side


def least_squares(
    fit: NestedFit, taken: int, rows: int, waves: Waves | None, moments: Matrix, settings: NestedSettings
) -> list[Problem]:  # fmt: skip
    """For each output, least squares with all functions. The functions of the sample's rows are still missing."""
    r, square, R = len(fit.matrix), fit.scale[0] ** 2, fit.matrix[:taken, :taken]
    A, b = fit.matrix.copy(), fit.coef.copy()
    for j in range(taken, r if waves else taken):
        A[: j + 1, j] += waves.products(moments, j)  # type: ignore[union-attr]
    A[:taken, :taken], b[:, :taken] = square * (R.T @ R), square * (b[:, :taken] @ R)
    A = np.triu(A) + np.triu(A, 1).T
    mu, used = settings.forgetting, min(rows, len(fit.kept_weight))
    ages = (rows - 1.0 - np.arange(used)) % max(used, 1)  # with forgetting the sample is the last rows
    fading: Vector = np.asarray(mu**ages)
    counts: Vector = fading**2 * (still(rows, mu**2) / max(float(np.sum(fading**2)), 1e-300))
    ridge, weight = faded_ridge(settings.lam, mu, r, rows), fit.kept_weight[:used]
    none = np.empty((0, r))
    return [
        Problem(A, ridge, b[o], settings.widths, still(rows, mu), none, fit.kept_Y[:used, o], weight, fading, counts)
        for o in range(len(b))
    ]


def bands(given: list[Problem], kept: Matrix, Psi: Matrix, confidence: float, everywhere: bool) -> list[Band]:
    """The band of each output at each row of Psi; `kept` are the functions of the sample's rows."""
    return [_band(fitted(one._replace(Psi=kept)), kept, Psi, confidence, everywhere) for one in given]


def _band(fit: Undersmoothed | None, kept: Matrix, Psi: Matrix, confidence: float, everywhere: bool) -> Band:
    if fit is None:
        return np.zeros(len(Psi)), np.full(len(Psi), np.inf), 1.0
    many = fit.quantile_everywhere(confidence, kept) if everywhere else fit.quantile(confidence)
    return fit.curve(Psi), fit.error(Psi, everywhere), many
