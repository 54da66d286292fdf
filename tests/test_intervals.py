"""Intervals cover what they promise on streams that change, are nested, scale with the target, and keep the laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel.combine import Intervals, Scaled, conformal
from onkel.state import owned
from tests.laws import test_state
from tests.laws.cases import Case, bits
from tests.laws.wrapped import cases, check_config, check_saved, every_law
from tests.oracle import conformal as oracle

Array = NDArray[np.float64]

LEVELS = (0.5, 0.8, 0.9, 0.95)
WINDOW = 2000
LEARNERS = [
    Intervals(),
    Intervals(Scaled(onkel.KernelRidge(), first_rows=40), levels=(0.1, 0.99)),
    Intervals(onkel.NORMA(onkel.Gaussian(), onkel.Square())),
]


def stream(learner: Any) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 2))
    y = np.sin(X[:, 0]) + np.where(np.arange(400) < 250, 0.1, 1.0) * rng.normal(size=400)
    return X, y, np.where(rng.random(400) < 0.1, 0.0, 1.0)


case = cases(LEARNERS, __name__)


@every_law
def test_the_laws_of_learners_hold(case: Case, law: Any) -> None:
    law(case)


def test_widening_is_exact(case: Case) -> None:
    test_state.test_4_widening_is_exact_where_outputs_share_a_matrix(case)


@pytest.mark.parametrize("stop", [0, 1, 133])
def test_save_load_continue_equals_never_stopped(case: Case, stop: int, tmp_path: Path) -> None:
    check_saved(case, stop, tmp_path)


def test_the_config_survives_json_and_repr(case: Case) -> None:
    check_config(case)


# --- the arithmetic


def drifting(rows: int = 8000) -> dict[str, tuple[Array, Array]]:
    """Residuals of streams that change in one way each, and the scale of each: residual/scale has one distribution throughout."""
    rng = np.random.default_rng(11)
    z, t, ones = rng.normal(size=rows), np.arange(rows), np.ones(rows)
    ten, growing, slow = np.where(t // 1300 % 2 == 1, 10.0, 1.0), 30.0 ** (t / rows), np.exp(1.5 * np.sin(t / 150.0))
    return {
        "steady": (z, ones),
        "ten times the noise and back": (z * ten, ten),
        "growing noise": (z * growing, growing),
        "noise that depends on the input": (z * (0.1 + 3.0 * rng.random(rows) ** 2), ones),
        "noise that depends on a slow input": (z * slow, slow),
        "heavy tails": (rng.standard_t(2, rows), ones),
        "skew": (rng.exponential(size=rows) - 1.0, ones),
        "a learner comes back after each change": (z + 20.0 * np.exp(-(t % 1500) / 20.0), 1.0 + 20.0 * np.exp(-(t % 1500) / 20.0)),
    }


def bands_of(residuals: Array, weight: Array | None = None, size: int | None = None) -> tuple[Array, conformal.Bands]:
    """(rows, levels), and the state after the last row."""
    column, n = residuals.reshape(-1, 1), len(residuals)
    bands, size, weight = conformal.init(LEVELS, 1), size or n, np.ones(n) if weight is None else weight
    parts = [conformal.learn(bands, column[a : a + size], weight[a : a + size])[:, 0] for a in range(0, n, size)]
    return np.concatenate(parts), bands


@pytest.fixture(params=drifting().items(), ids=lambda item: item[0], scope="module")
def drift(request: pytest.FixtureRequest) -> tuple[Array, Array]:
    residuals, scale = request.param[1]
    return residuals, scale


@pytest.mark.once
def test_coverage_is_within_two_points_in_every_window(drift: tuple[Array, Array]) -> None:
    residuals, _ = drift
    half, _ = bands_of(residuals)
    within = np.cumsum(np.abs(residuals)[:, None] <= half, axis=0, dtype=float)
    shares = (within[WINDOW:] - within[:-WINDOW]) / WINDOW  # sliding
    assert np.abs(shares - LEVELS).max() <= 0.02


@pytest.mark.once
def test_widths_are_at_most_a_tenth_above_those_of_one_who_knows_the_noise(drift: tuple[Array, Array]) -> None:
    residuals, scale = drift
    half, _ = bands_of(residuals)
    known = np.outer(scale, np.quantile(np.abs(residuals) / scale, LEVELS))
    assert (half[500:].mean(axis=0) <= 1.1 * known[500:].mean(axis=0)).all()


def test_the_share_that_is_missed_is_told_by_theta() -> None:
    """Σ (missed − (1 − level)) = Δθ/η after the first rows, for any residuals that do not drive θ to its end."""
    residuals, _ = drifting(1000)["heavy tails"]
    half, before = bands_of(residuals[:100])
    theta = before.theta.copy()
    half = conformal.learn(before, residuals[100:, None], np.ones(900))[:, 0]
    missed = (np.abs(residuals[100:, None]) > half).sum(axis=0) - 900 * (1 - np.array(LEVELS))
    assert np.allclose((before.theta - theta)[0], conformal.STEP * missed)


@pytest.mark.parametrize("kind", ["ten times the noise and back", "heavy tails", "zeros", "mostly zeros"])
def test_it_is_the_oracle(kind: str) -> None:
    rng = np.random.default_rng(2)
    r, _ = drifting(400).get(kind, (np.zeros(400), None))
    if kind == "mostly zeros":
        r = np.where(rng.random(400) < 0.2, rng.normal(size=400), 0.0)
    weight = np.where(rng.random(400) < 0.1, 0.0, 1.0)
    expected = oracle.half_widths(np.array(LEVELS), r, weight)
    half, bands = bands_of(r, weight)
    assert np.array_equal(np.isinf(half), np.isinf(expected))
    finite = np.isfinite(expected)
    assert np.allclose(half[finite], expected[finite], rtol=1e-9, atol=0.0)
    within = (np.abs(r)[:, None] <= expected)[weight > 0.0].sum(axis=0)
    assert np.array_equal(bands.covered[0], within)
    widths = [2.0 * expected[finite[:, k] & (weight > 0.0), k].mean() for k in range(len(LEVELS))]
    assert np.allclose(conformal.mean_width(bands)[0], widths)


def test_any_cut_gives_the_same_bits() -> None:
    residuals, _ = drifting(700)["a learner comes back after each change"]
    whole, state = bands_of(residuals)
    for size in (1, 33):
        parts, other = bands_of(residuals, size=size)
        assert parts.tobytes() == whole.tobytes()
        assert bits(other) == bits(state)
    assert np.array_equal(conformal.half_widths(other), conformal.half_widths(state))


def test_bands_are_finite_after_twenty_rows_and_nested(drift: tuple[Array, Array]) -> None:
    half, _ = bands_of(drift[0][:1500])
    infinite = [2, 4, 9, 19]  # rows, by level
    assert np.array_equal(np.isinf(half).sum(axis=0), infinite)
    assert np.isfinite(half[19:]).all()
    assert (half[:, 1:] >= half[:, :-1]).all()


@pytest.mark.parametrize("size", [1e-40, 1e48])
def test_bands_have_the_scale_of_the_residuals(size: float) -> None:
    residuals, _ = drifting(500)["heavy tails"]
    half, _ = bands_of(residuals)
    assert np.allclose(bands_of(size * residuals)[0], size * half, rtol=1e-9, atol=0.0)


def test_they_come_back_after_a_stretch_without_errors() -> None:
    residuals = np.random.default_rng(0).normal(size=20_000)
    residuals[2000:12_000] = 0.0  # long enough for the means to vanish
    half, _ = bands_of(residuals)
    assert np.isfinite(half[19:]).all()
    assert np.allclose(half[14_000:].mean(axis=0), half[500:2000].mean(axis=0), rtol=0.15)


# --- the learner


def test_intervals_are_around_scores_and_were_there_before_the_label() -> None:
    learner = Intervals(onkel.PKAWV(onkel.Identity() + onkel.Constant()))
    X, y, weight = stream(learner)
    state, within = learner.init(2), 0
    for t in range(200):
        low, high = learner.predict_interval(state, X[t : t + 1], level=0.8)[0]
        score = learner.learn(state, X[t : t + 1], y[t : t + 1], weight[t : t + 1])[0]
        assert low <= score <= high
        assert np.isinf(high) or np.isclose((low + high) / 2.0, score)
        within += int(weight[t] * (low <= y[t] <= high))
    assert learner.coverage(state)[0.8] * np.count_nonzero(weight[:200]) == pytest.approx(within)
    narrow, wide = (learner.predict_interval(state, X, level) for level in (0.5, 0.95))
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (narrow[:, 1] <= wide[:, 1]).all()


def test_intervals_move_with_the_target() -> None:
    learner = Intervals(Scaled(onkel.PKAWV(onkel.Identity() + onkel.Constant())))
    X, y, _ = stream(learner)
    one, other = learner.init(2), learner.init(2)
    learner.learn(one, X, y)
    learner.learn(other, X, 1000.0 * y - 5e4)
    expected = 1000.0 * learner.predict_interval(one, X) - 5e4
    assert np.allclose(learner.predict_interval(other, X), expected, rtol=1e-6)
    assert learner.mean_width(other)[0.5] == pytest.approx(1000.0 * learner.mean_width(one)[0.5], rel=1e-3)


def test_each_output_has_its_own() -> None:
    learner = Intervals()
    X, y, weight = stream(learner)
    both = learner.init(2, 2)
    learner.learn(both, X, np.column_stack([y, 10.0 * y]), weight)
    intervals = learner.predict_interval(both, X)
    assert intervals.shape == (400, 2, 2)
    widths = np.diff(intervals, axis=2)
    assert np.allclose(widths[:, 1], 10.0 * widths[:, 0])


def test_an_error_leaves_no_trace() -> None:
    learner = Intervals(onkel.KernelAWV(onkel.Polynomial(degree=2)))
    state = learner.init(2)
    learner.learn(state, np.eye(2), [1.0, 2.0])
    before = bits(state)
    with pytest.raises(onkel.InputError, match="would overflow"):
        learner.learn(state, np.full((2, 2), 1e49), [1.0, 2.0])
    with pytest.raises(onkel.InputError, match=r"level must be one of 0\.5, 0\.8"):
        learner.predict_interval(state, np.eye(2), level=0.7)
    assert bits(state) == before


def test_a_state_that_cannot_be_is_refused() -> None:
    learner = Intervals()
    state = learner.init(2)
    learner.learn(state, np.eye(2), [1.0, 2.0])
    state.bands.covered[0, 0] = 3
    with pytest.raises(onkel.InputError, match="counts of covered rows"):
        learner.check(state)
    other = Intervals(levels=(0.9,))
    with pytest.raises(onkel.InputError, match="its levels differ"):
        other.check(owned(other, state))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (lambda: Intervals(onkel.Perceptron()), "one for regression"),
        (lambda: Intervals(levels=(0.9, 0.5)), "must rise"),
        (lambda: Intervals(levels=(0.5, 1.0)), "must rise"),
        (lambda: Intervals(levels=()), "must rise"),
    ],
)
def test_configs_check_themselves(config: Any, message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        config()
