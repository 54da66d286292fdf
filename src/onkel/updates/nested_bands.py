"""Confidence bands of a fit on the first functions of a list (`nested_ridge`), from its sums and its sample of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np

from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.features.mercer.waves import Waves
from onkel.linalg.factor import faded_ridge
from onkel.updates.nested_ridge import NestedFit, NestedSettings, still
from onkel.updates.undersmoothed import Problem, Undersmoothed, fitted

Band = tuple[Vector, Vector, float]  # centre, standard error, and how many of these errors the band reaches to each side


class Part(NamedTuple):
    """One curve of a sum of curves, with bands for each place by itself and for all places at once."""

    x: Vector
    y: Vector
    low: Vector
    high: Vector
    lowest: Vector
    highest: Vector


@dataclass(frozen=True)
class Fits:
    """What bands need of a state."""

    each: tuple[Undersmoothed | None, ...]  # for each output; None if there are too few rows
    kept: Matrix  # the functions of the rows of the sample
    mean: Vector  # the mean of each function over all rows, if the first function is 1

    def errors(self, Psi: Matrix) -> Vector:
        """The standard error at each row of Psi."""
        return _joined([error for _, error, _ in (self._band(fit, Psi, 0.5, False) for fit in self.each)])

    def ends(self, Psi: Matrix, confidence: float, everywhere: bool) -> tuple[Vector, Vector]:
        """The lower and upper end of the band at each row of Psi."""
        check_confidence(confidence)
        bands = [self._band(fit, Psi, confidence, everywhere) for fit in self.each]
        low, high = ([curve + sign * many * error for curve, error, many in bands] for sign in (-1.0, 1.0))
        return _joined(low), _joined(high)

    def _band(self, fit: Undersmoothed | None, Psi: Matrix, confidence: float, everywhere: bool) -> Band:
        if fit is None:
            return np.zeros(len(Psi)), np.full(len(Psi), np.inf), 1.0
        many = fit.quantile_everywhere(confidence, self.kept) if everywhere else fit.quantile(confidence)
        return fit.curve(Psi), fit.error(Psi, everywhere), many

    def parts(self, grid: Matrix, Psi: Matrix, confidence: float) -> tuple[float, list[Part]]:
        """For an additive system and one output: the mean of the fit over all rows, and the curve of each input, of mean 0 over all
        rows. Psi are the functions of the grid."""
        check_confidence(confidence)
        (fit,), dim = self.each, grid.shape[1]
        if fit is None:
            raise InputError("there are too few rows for curves; learn more rows")
        made = []
        for c in range(dim):
            own = (np.arange(len(self.mean)) % dim == (1 + c) % dim) & (np.arange(len(self.mean)) > 0)
            rows, sample = (Psi - self.mean) * own, (self.kept - self.mean) * own
            y, half = fit.curve(rows), fit.quantile(confidence) * fit.error(rows)
            wide = fit.quantile_everywhere(confidence, sample) * fit.error(rows, everywhere=True)
            made.append(Part(grid[:, c], y, y - half, y + half, y - wide, y + wide))
        return float(fit.curve(self.mean[None])[0]), made


def check_confidence(confidence: float) -> None:
    if not (isinstance(confidence, Real) and 0.0 < confidence < 1.0):
        raise InputError(f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}")


def _joined(outputs: list[Vector]) -> Vector:
    """One number for each row, or a row of numbers if there are several outputs."""
    return np.column_stack(outputs) if len(outputs) > 1 else outputs[0]


def fits(
    fit: NestedFit, taken: int, rows: int, waves: Waves | None, moments: Matrix, settings: NestedSettings, kept: Matrix
) -> Fits:
    """For each output, the fit of a band. `kept` are the functions of the rows of the sample."""
    r, square, R = len(fit.matrix), fit.scale[0] ** 2, fit.matrix[:taken, :taken]
    A, b = fit.matrix.copy(), fit.coef.copy()
    for j in range(taken, r if waves else taken):
        A[: j + 1, j] += waves.products(moments, j)  # type: ignore[union-attr]
    A[:taken, :taken], b[:, :taken] = square * (R.T @ R), square * (b[:, :taken] @ R)
    A = np.triu(A) + np.triu(A, 1).T
    mu, used = settings.forgetting, len(kept)
    ages = (rows - 1.0 - np.arange(used)) % max(used, 1)  # with forgetting the sample is the last rows
    fading: Vector = np.asarray(mu**ages)
    counts: Vector = fading**2 * (still(rows, mu**2) / max(float(np.sum(fading**2)), 1e-300))
    ridge, weight, n = faded_ridge(settings.lam, mu, r, rows), fit.kept_weight[:used], still(rows, mu)
    labels = fit.kept_Y[:used].T
    given = [Problem(A, ridge, *of, settings.widths, n, kept, weight, fading, counts) for of in zip(b, labels, strict=True)]
    first = A[0] - np.where(np.arange(r) == 0, ridge, 0.0)
    return Fits(tuple(map(fitted, given)), kept, first / first[0] if first[0] > 0.0 else np.zeros(r))
