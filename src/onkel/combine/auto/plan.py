"""The plan of `Auto`: its families for rows with `dim` columns, within its limits of time and memory.

This is the recipe at full size. Z, U, N, L and X are the views (`views`), 1 is the intercept. Each "/" ends an expert, which uses
all features from the beginning of the line up to its "/". Hats are piecewise linear functions (`features/hats.py`), products are
products of two inputs, frequencies are the frequencies of random Fourier features.

    slow    μ = 1       1, Z / U / 5 hats of each input of U / 120 products of N / 50 Gaussian frequencies of N / 64 Laplacian
                        frequencies of U
    month   μ = 0.998   1, N / 5 hats of each input of Z / 12 Laplacian and 12 Gaussian frequencies of N
    week    μ = 0.99    1, N / 3 hats of each input of Z / 15 Laplacian and 15 Gaussian frequencies of N
    day     μ = 0.95    1, N / 3 hats of each input of Z
    three logistic regressions, for labels with two values: two on 1, Z, with a large and a small ridge; and one on 1, N, U and
            3 hats of each input of Z
    neighbours among the last 8,000 rows; six random trees that split early, and six that split late
    zooms, which are inactive at first: a family with 125 Gaussian frequencies of N, and one with 125 Laplacian frequencies of U,
            each frequency with a width of its own, from half to twice the kernel's (spread=2); a family with μ = 0.8; six more
            trees

If there are lags, each of these families has one more part, earlier labels, and so one more expert. Slow, month, week and day (and
hour, the zoom with μ = 0.8) are names of the forgetting factor μ, not calendar periods.

If there are more than 512 columns, the linear parts treat each column separately (DiagonalLinear), and kernels and neighbours see a
random projection. If even the smallest plan exceeds a limit (by default for more than about 2,000 columns), only DiagonalLinear and
earlier labels remain, and the cost of a row is proportional to its number of nonzero values. Rows of up to 512 columns get the
smallest plan instead.

The unit of cost is one row of a ridge regression on 100 features in blocks (about 1.5 µs). Costs come from a fixed table, not from
the clock, so that runs are reproducible. If the full size exceeds a limit, all counts are reduced by the same factor.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from onkel._types import Counts, Vector
from onkel.combine.auto.families import (
    DiagonalLinear,
    Expert,
    Family,
    ForgettingRidge,
    Logistic,
    Nearest,
    Part,
    Parts,
    RememberingRidge,
    Trees,
)
from onkel.combine.auto.restarts import KEPT
from onkel.combine.auto.views import NARROW, PLANE
from onkel.features import Constant, Fourier, Hats, Identity, Products
from onkel.kernels import Gaussian, Laplacian
from onkel.learners.neighbours import Neighbours
from onkel.learners.random_trees import RandomTrees

SIZES = (1.0, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05)  # factors by which all counts are multiplied, tried from the largest
WIDEST_HATS, WIDEST_DAILY_HATS = 40, 20  # largest number of columns for which there are hats
WIDEST_LINE, WIDEST_ODDS = 512, 128  # largest number of columns of a linear and of a logistic regression; more are projected
MIXING = 4.0  # cost of views, rule and ledger for a row, in the unit above
READING = 0.005  # cost of each column for a row, if there are more than WIDEST_LINE
CHECK, SPARSE_CHECK = 256, 2048  # rows from one check to the next
SETTLEMENTS = 32, 64, 128, 256, 512
REVIEW = 4096  # rows until the first review
RANK_EDGE = math.sqrt(3.0)  # ranks are in [−√3, √3]
SLOW, DAY = 0, 3  # indices of two families: the one that remembers everything, and the one that forgets fastest


@dataclass(frozen=True)
class Plan:
    families: tuple[Family, ...]
    check: int  # rows between two checks whether the stream has changed
    first_review: int = 0  # rows until families are reviewed for the first time (`zoom`)
    # for each family that is inactive at first, by its index: the index of the family that it extends
    zooms: dict[int, int] = field(default_factory=dict)
    cost_ceiling: float = math.inf  # the largest cost of all active families together
    lines_only: bool = False  # True: only linear experts, on the nonzero values; no family ever restarts

    @functools.cached_property
    def experts(self) -> tuple[Expert, ...]:
        return tuple(expert for family in self.families for expert in family.experts)

    @functools.cached_property
    def family_of(self) -> Counts:
        """The index of each expert's family."""
        return np.repeat(np.arange(len(self.families)), self.sizes)

    @functools.cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of experts of each family."""
        return tuple(len(family.experts) for family in self.families)

    def active(self, families: Counts) -> NDArray[np.bool_]:
        """Which experts are active, (1, experts), given which families are. The array is shared: nobody may write to it."""
        marks = families.tobytes()
        if marks not in self._active:
            self._active[marks] = (families[self.family_of] > 0).reshape(1, -1)
        return self._active[marks]

    @functools.cached_property
    def _active(self) -> dict[bytes, NDArray[np.bool_]]:
        return {}

    @functools.cached_property
    def without_lags(self) -> NDArray[np.bool_]:
        """Which experts see no earlier labels."""
        return np.array([not expert.lagged for expert in self.experts])

    @functools.cached_property
    def starts(self) -> NDArray[np.bool_]:
        """Whether each family is active at first."""
        return ~np.isin(np.arange(len(self.families)), list(self.zooms))

    @functools.cached_property
    def settlements(self) -> tuple[int, ...]:
        """After how many rows since the views (re)started their scales are fixed anew (`adaptation`); all of these rows are
        stored."""
        return () if self.lines_only else tuple(rows for rows in SETTLEMENTS if rows <= KEPT * self.check)

    @functools.cached_property
    def costs(self) -> Vector:
        """The cost of a row in each family."""
        return np.array([cost(family) for family in self.families])

    @property
    def goes_by_column(self) -> bool:
        return any(isinstance(family, DiagonalLinear) for family in self.families)

    @functools.cached_property
    def forgets(self) -> NDArray[np.bool_]:
        """Whether each family has a forgetting factor below 1."""
        return np.array([isinstance(family, ForgettingRidge) for family in self.families])

    @functools.cached_property
    def sees_views(self) -> NDArray[np.bool_]:
        """Whether each family sees the inputs standardised or as ranks; trees see the raw inputs."""
        return np.array([not isinstance(family, Trees) for family in self.families])


def plans(dim: int, lag_columns: int, cost_limit: float, seed: int) -> list[Plan]:
    """All plans within the cost limit, the largest first, each once with zooms and then without.

    The last plan may exceed the limit; it is used if no other plan fits. With more than WIDEST_LINE columns it has only linear
    experts, otherwise it has the smallest size.
    """
    found, read = list[Plan](), MIXING + (READING * dim if dim > WIDEST_LINE else 0.0)
    for size in SIZES:
        families, zooms = _families(dim, lag_columns, size, seed)
        own, check, review = sum(map(cost, families)), max(64, round(CHECK * size)), max(128, round(REVIEW * size))
        if read + own <= cost_limit:
            extended = {len(families) + k: family for k, family in enumerate(zooms.values())}
            found += [Plan((*families, *zooms), check, review, extended, own), Plan(families, check, review)]
    last = Plan(_linear(dim, lag_columns), SPARSE_CHECK, lines_only=True) if dim > WIDEST_LINE else Plan(families, check, review)
    return [*found, last]


def _linear(dim: int, lags: int) -> tuple[Family, ...]:
    earlier = Part("L", Constant() + Identity(), lags, "linear, with earlier labels")
    return (DiagonalLinear(dim), ForgettingRidge(Parts((earlier,)), 0.99, 0.1, 32)) if lags else (DiagonalLinear(dim),)


def _families(dim: int, lags: int, size: float, seed: int) -> tuple[tuple[Family, ...], dict[Family, int]]:
    """The families that are active at first; and the zooms, each with the index of the family that it extends."""
    narrow = min(dim, NARROW)

    def count(full: int) -> int:
        return max(1, round(size * full))

    hats, daily = dim <= WIDEST_HATS, dim <= WIDEST_DAILY_HATS
    gaussian, laplacian = Gaussian(math.sqrt(narrow) / 2.0), Laplacian(float(narrow))
    seeds = iter(range(16 * seed, 16 * seed + 16))
    short = Part("N", Constant() + Identity(), narrow, "linear")
    line = Part("Z", Constant() + Identity(), dim, "linear") if dim <= WIDEST_LINE else short
    ranks = Part("U", Identity(), narrow, "linear, of ranks")
    curves = Part("U", Hats(5, -RANK_EDGE, RANK_EDGE), narrow, "additive")
    pairs = Part("N", Products(count(120), next(seeds)), narrow, "quadratic")
    smooth = Part("N", Fourier(count(50), None, next(seeds), gaussian), narrow, "kernel")
    rough = Part("U", Fourier(count(64), None, next(seeds), laplacian), narrow, "kernel")
    slow = [line, ranks, *([curves] if hats else []), pairs, smooth, rough]

    def local(full: int) -> Part:
        waves = Fourier(count(full), None, next(seeds), Laplacian(narrow / 2.0)) + Fourier(count(full), None, next(seeds), gaussian)
        return Part("N", waves, narrow, "kernel")

    monthly, weekly = Part("Z", Hats(5), dim, "additive"), Part("Z", Hats(3), dim, "additive")
    month = [short, *([monthly] if hats else []), local(12)]
    week = [short, *([weekly] if hats else []), local(15)]
    day = [short, *([weekly] if daily else [])]
    wide = line if dim <= WIDEST_ODDS else short
    careful, sharp = (Logistic(Parts((replace(wide, name="logistic"),)), lam) for lam in (10.0, 0.1))
    bent = replace(weekly, name="logistic, additive") if daily else replace(ranks, name="logistic, of ranks")
    curved = Logistic(Parts((short, ranks, bent) if daily else (short, bent)), 3.0)
    eager, cautious = RandomTrees(6, 32, 512, gain=7.0, seed=next(seeds)), RandomTrees(6, 40, 256, gain=16.0, seed=next(seeds))
    trees = [Trees(eager, dim, "X"), Trees(cautious, dim, "X")]
    if lags:
        waves = Fourier(count(25), math.sqrt(narrow + lags / PLANE) / 2.0, next(seeds))
        slow.append(Part("L", Identity(), lags, "linear, with earlier labels"))
        slow.append(Part("N+L", waves, narrow + lags, "kernel, with earlier labels"))
        for parts in (month, week, day):
            parts.append(Part("L", Identity(), lags, f"{parts[-1].name}, with earlier labels"))
        trees.append(Trees(replace(cautious, seed=next(seeds)), dim + lags, "X+L"))
    families: tuple[Family, ...] = (
        RememberingRidge(Parts(slow), (0.1, 10.0)),
        ForgettingRidge(Parts(month), 0.998, 0.1, _block(month)),
        ForgettingRidge(Parts(week), 0.99, 0.1, _block(week)),
        ForgettingRidge(Parts(day), 0.95, 0.1, 16),
        careful,
        sharp,
        curved,
        Nearest(Neighbours(count(8000)), narrow, lags),
        *trees,
        *([DiagonalLinear(dim)] if dim > WIDEST_LINE else []),
    )
    wider, rougher = Gaussian(0.6 * math.sqrt(narrow)), Laplacian(0.7 * narrow)
    more_smooth = Part("N", Fourier(count(125), None, next(seeds), wider, spread=2.0), narrow, "kernel")
    more_rough = Part("U", Fourier(count(125), None, next(seeds), rougher, spread=2.0), narrow, "kernel")
    hour = [short, *([Part("L", Identity(), lags, "linear, with earlier labels")] if lags else [])]
    zooms: dict[Family, int] = {
        RememberingRidge(Parts((short, more_smooth)), (0.1, 10.0)): SLOW,
        RememberingRidge(Parts((short, ranks, more_rough)), (0.1, 10.0)): SLOW,
        ForgettingRidge(Parts(hour), 0.8, 0.3, 16): DAY,
        replace(trees[-1], learner=replace(cautious, seed=next(seeds))): families.index(trees[-1]),
    }
    return families, zooms


def _block(parts: list[Part]) -> int:
    """Rows between two factorisations; more rows for more features, since a factorisation then costs more than buffered rows."""
    return 32 if sum(part.size for part in parts) < 150 else 64


def cost(family: Family) -> float:
    """The cost of a row in the unit of this file's header. The formulas were fitted to measurements once, and rounded."""
    if isinstance(family, Nearest):
        return 3.2e-5 * family.learner.budget * (family.dim + family.lags)
    if isinstance(family, Trees):
        return 0.009 * family.learner.count * family.learner.splits
    if isinstance(family, DiagonalLinear):
        return 0.008 * family.dim
    r = family.parts.size
    if isinstance(family, RememberingRidge):
        return 1.0 + 1.8e-5 * r**2 + 4e-8 * r**3
    if isinstance(family, ForgettingRidge):
        return 0.5 + 5e-5 * r**2 * (1.0 + r / (3.0 * family.block)) + 0.002 * family.block
    return 0.2 + 2e-4 * r**2
