"""Auto: what is special to it. Laws and oracle are elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier

import onkel
from onkel.combine.auto import restarts, zoom
from onkel.combine.auto.ledger import SNAPSHOTS
from onkel.combine.auto.state import RULE
from onkel.measure import bounds
from onkel.report.plots import draw_weights
from onkel.turns import Steps
from tests.laws.cases import bits
from tests.oracle import auto
from tests.repetition import others_are_long

pytestmark = pytest.mark.once

Array = NDArray[np.float64]

SMALL = onkel.Auto(cost_limit=11.4)


def wave(rows: int, seed: int, noise: float = 0.1) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=rows)


def mean_square(scores: Array, y: Array) -> float:
    return float(np.mean((scores - y) ** 2))


def run(X: Array, y: Array, learner: onkel.Auto = SMALL) -> Array:
    return learner.learn(learner.init(X.shape[1]), X, y)


# the last two: those that forget cannot learn the new target, and no family ever leads
@pytest.mark.parametrize(("dim", "noise", "seed"), [(3, 0.3, 0), (3, 0.3, 1), (3, 0.3, 2), (3, 0.3, 3), (10, 0.3, 6), (2, 0.05, 0)])
def test_after_an_abrupt_change_it_is_as_good_as_one_that_began_there(dim: int, noise: float, seed: int) -> None:
    X, y = onkel.data.abrupt(6000, dim=dim, noise=noise, changes=1, seed=seed)
    scores, fresh = run(X, y, onkel.Auto()), run(X[3000:], y[3000:], onkel.Auto())
    assert mean_square(scores[5000:], y[5000:]) <= 1.05 * mean_square(fresh[2000:], y[5000:])


@pytest.mark.parametrize(("far", "wide"), [(3.0, 1.0), (0.0, 5.0)])
def test_after_inputs_have_moved_it_is_as_good_as_one_that_began_there(far: float, wide: float) -> None:
    rng = np.random.default_rng(13)
    X = rng.normal(size=(4500, 3))
    X[3000:] = far + wide * X[3000:]
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=4500)
    learner = onkel.Auto()
    state = learner.init(3)
    scores, fresh = learner.learn(state, X, y), run(X[3000:], y[3000:], learner)
    assert mean_square(scores[3500:], y[3500:]) <= 1.1 * mean_square(fresh[500:], y[3500:])
    assert state.views.running.rows <= 1500  # of the rows before the views know nothing


def test_views_that_begin_again_agree_with_the_oracle() -> None:
    rng = np.random.default_rng(20)
    X, rows = rng.normal(size=(470, 3)), np.arange(470)
    X[410:] = 30.0 + 10.0 * X[410:]
    y = np.where(rows < 410, np.sin(2.0 * X[:, 0]) + X[:, 1], 0.2 * (X[:, 1] - X[:, 2])) + 0.1 * rng.normal(size=470)
    state = SMALL.init(3)
    scores = SMALL.learn(state, X, y)
    assert state.views.running.rows <= 60
    assert np.allclose(scores, auto.scores(SMALL, X, y), rtol=0.0, atol=1e-9)


def rising(rows: int) -> tuple[Array, Array]:
    """An input that rises in every row, beside one that does not, and a target that is a function of the two."""
    X = np.column_stack([np.arange(float(rows)), np.random.default_rng(21).normal(size=rows)])
    return X, 2.0 * X[:, 0] + X[:, 1]


@pytest.mark.parametrize("rows", [100, 300, 1000])
def test_a_row_beside_known_ones_gets_an_answer_like_theirs_though_an_input_has_risen(rows: int) -> None:
    X, y = rising(rows)
    learner = onkel.Auto()
    state = learner.init(2)
    learner.learn(state, X, y)
    assert np.abs(learner.predict(state, X) - y)[-rows // 2 :].max() <= 0.1 * np.std(y)


def test_scales_that_move_agree_with_the_oracle() -> None:
    X, y = rising(400)
    state = SMALL.init(2)
    scores = SMALL.learn(state, X, y)
    known = state.views.standardized.mean
    assert known[0] > 128.0 > abs(known[1])  # after row 128 the first column was scaled again, and the second was not
    assert known[1] == pytest.approx(X[:128, 1].mean())
    assert np.allclose(scores, auto.scores(SMALL, X, y), rtol=0.0, atol=1e-9)


def test_neighbours_and_trees_that_are_suspected_wrongly_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suspected at every check of a stream that never changes: a copy that knows the last 128 rows alone is no better."""
    monkeypatch.setattr(zoom, "DISPENSABLE", -1.0)  # nobody is dropped
    X, y = wave(2000, 11)
    state, expected = SMALL.init(3), run(X, y)
    SMALL.learn(state, X[:1000], y[:1000])
    monkeypatch.setattr(
        restarts, "suspected", lambda recent, *_: [(k, np.arange(recent.rows - 128, recent.rows) % 128) for k in (7, 8, 9)]
    )
    scores = SMALL.learn(state, X[1000:], y[1000:])
    assert not state.recent.again.any()
    assert np.allclose(scores, expected[1000:], rtol=0.0, atol=SMALL.cut_tolerance)


@pytest.mark.parametrize("classes", [False, True])
def test_a_linear_stream_costs_little_beside_a_linear_learner(classes: bool) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4000, 5))
    y = X @ rng.normal(size=5) + 0.5 * rng.normal(size=4000)
    linear = onkel.PKAWV(features=(onkel.Standardize(), onkel.Identity() + onkel.Constant()))
    if classes:
        y = np.where(y >= 0.0, 1.0, -1.0)
    measure = onkel.measure.mistakes if classes else onkel.measure.square
    scores = linear.learn(linear.init(5), X, y)
    assert np.mean(measure(run(X, y, onkel.Auto()), y)) <= 1.05 * np.mean(measure(scores, y))


KINDS = ("wave", "noise", "chosen", "change", "constant", "two values", "heavy tails", "far away", "sleeping inputs", "walk")
ROWS = 120  # of a stream on which bounds are shown: before a family can begin again, and enough to see that a rule is wrong


def short_stream(kind: str, seed: int, learner: onkel.Auto) -> tuple[Array, Array]:
    """Labels that are `chosen` lie where the learner does not expect them."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    X, y = wave(ROWS, seed, noise=float(rng.choice([0.0, 0.1, 1.0])))
    if kind == "noise":
        y = rng.normal(size=ROWS)
    if kind == "change":
        y[ROWS // 2 :] = 3.0 - 2.0 * y[ROWS // 2 :]
    if kind == "constant":
        y = np.where(rng.random(ROWS) < 0.05, 2.0, 1.0)
    if kind == "two values":
        y = np.where(y + 0.5 * rng.normal(size=ROWS) > 0.0, 1.0, -1.0)
    if kind == "heavy tails":
        y = rng.standard_cauchy(size=ROWS)
    if kind == "far away":
        y = 1e6 + float(rng.choice([1e-2, 1e4])) * y
    if kind == "sleeping inputs":
        X[: ROWS // 2, 1:] = 0.0
        X[ROWS // 2 :, 0] = 0.0
    if kind == "walk":
        y = np.cumsum(y)
    if kind == "chosen":
        state = learner.init(3)
        for t in range(ROWS):
            y[t] = -1.0 if learner.predict(state, X[t : t + 1])[0] > 0.0 else 1.0
            learner.learn(state, X[t : t + 1], y[t : t + 1])
    return X, y


def combinations(P: Array, y: Array) -> dict[str, Array]:
    """Affine combinations of the experts: the best, the best with a ridge of 1, their mean, and one with weights below 0."""
    base, V, experts = P[:, 0], P[:, 1:] - P[:, :1], P.shape[1]
    found = {"mean": np.full(experts, 1.0 / experts), "negative": np.append(np.zeros(experts - 2), [1.5, -0.5])}
    for name, ridge in (("best", 1e-6), ("best with a ridge", 1.0)):
        theta = np.linalg.solve(V.T @ V + ridge * np.eye(experts - 1), V.T @ (y - base))
        found[name] = np.append(1.0 - theta.sum(), theta)
    return found


def check_bounds(learner: onkel.Auto, kind: str, seed: int) -> None:
    X, y = short_stream(kind, seed, learner)
    state = learner.init(3)
    mixture, known = learner.learn(state, X, y), state.recent
    awake = state.ledger.account.always
    P, accepted = known.scores[:ROWS, 0, awake], known.Y[:ROWS, 0]  # of the first row nobody knows anything, and nobody loses
    low, high = np.minimum.accumulate(accepted), np.maximum.accumulate(accepted)
    cut = np.vstack([P[:1], np.clip(P[1:], low[:-1, None], high[:-1, None])])
    own = float(np.sum((mixture - accepted)[1:] ** 2))
    losses = np.sum((cut - accepted[:, None]) ** 2, axis=0)
    rounding = 1e-8 * (own + float(np.ptp(accepted)) ** 2) + 1e-20 * float(np.max(accepted**2))
    bound = bounds.so_far(RULE, state.mixed)
    assert own <= np.min(losses + bound.experts[awake]) + rounding, (kind, seed)
    for name, theta in combinations(cut, accepted).items():
        theirs = float(np.sum((cut @ theta - accepted) ** 2))
        everybody = np.zeros(len(awake))
        everybody[awake] = theta
        assert own <= theirs + min(one(everybody) for one in bound.combinations) + rounding, (kind, seed, name)


@pytest.mark.parametrize("seeds", others_are_long([range(4), range(4, 20)], [range(4)]))
@pytest.mark.parametrize("kind", KINDS)
def test_its_loss_is_within_the_bound_of_the_best_expert_and_of_the_best_combination(kind: str, seeds: range) -> None:
    for seed in seeds:
        check_bounds(SMALL, kind, seed)


@pytest.mark.parametrize("kind", KINDS[:4])
def test_the_bounds_hold_at_full_size(kind: str) -> None:
    check_bounds(onkel.Auto(), kind, 0)


def test_scale_and_offset_of_the_target_do_not_matter() -> None:
    X, y = wave(600, 3)
    scores = run(X, y)[1:]
    for scale, offset in ((1e-6, 0.0), (1e4, -3e6)):
        assert np.allclose((run(X, scale * y + offset)[1:] - offset) / scale, scores, rtol=0.0, atol=1e-5)


def test_one_absurd_label_does_not_spoil_the_rows_after_it() -> None:
    X, y = wave(3000, 4)
    plain, spoilt = run(X, y), y.copy()
    spoilt[1500] = 1e6
    assert mean_square(run(X, spoilt)[1501:2501], y[1501:2501]) <= 1.2 * mean_square(plain[1501:2501], y[1501:2501])


def test_a_target_that_moves_for_good_is_followed() -> None:
    X, y = wave(3000, 5)
    moved = y + np.where(np.arange(3000) < 1500, 0.0, 1e4)
    state = SMALL.init(3)
    scores = SMALL.learn(state, X, moved)
    assert mean_square(scores[2500:], moved[2500:]) <= 2.0 * mean_square(run(X, y)[2500:], y[2500:])
    assert SMALL.notes(state)  # labels that were cut on the way are counted


def test_a_class_that_comes_late_is_learnt() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(1500, 2))
    kind = np.where(X[:, 0] > 0.0, 0, 1)
    late = (np.arange(1500) > 500) & (X[:, 1] > 0.5)
    kind[late] = 2
    Y = (kind[:, None] == np.arange(3)).astype(float)
    state = SMALL.init(2, 2)
    SMALL.learn(state, X[:500], Y[:500, :2])
    SMALL.widen(state, 3)
    scores = SMALL.learn(state, X[500:], Y[500:])
    assert np.mean(scores[500:].argmax(axis=1) == kind[1000:]) > 0.9


def test_rare_classes_are_not_taken_for_outliers() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000, 2))
    y = np.where(X[:, 0] > 2.0, 1.0, -1.0)  # two in a hundred
    state = SMALL.init(2)
    scores = SMALL.learn(state, X, y)
    assert state.labels.cut == 0
    assert np.mean(onkel.measure.mistakes(scores, y)) <= 0.5 * np.mean(y > 0.0)


def test_many_columns_are_projected_and_learnt() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(600, 150))
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=600)
    wide = onkel.Auto()
    assert mean_square(run(X, y, wide)[300:], y[300:]) <= 0.3 * np.var(y)
    assert "random projection" in wide.notes(wide.init(1000))[0]
    assert wide.footprint(100_000) < 2 * wide.footprint(50_000) < 1e8
    assert "100,000 columns only linear experts fit cost_limit=45" in wide.notes(wide.init(100_000))[0]


@pytest.mark.parametrize("dim", [600, 5000])
def test_rows_of_many_columns_agree_with_the_oracle(dim: int) -> None:
    rng, learner = np.random.default_rng(dim), onkel.Auto()
    X = rng.normal(size=(40, dim))
    if dim == 5000:
        X[rng.random(X.shape) < 0.9] = 0.0
    for y in X[:, 0] + rng.normal(size=40), rng.choice([-1.0, 1.0], size=40):
        scores = learner.learn(learner.init(dim), X, y)
        assert np.allclose(scores, auto.scores(learner, X, y), rtol=0.0, atol=1e-9)


def test_sparse_rows_are_learnt_better_than_by_stochastic_gradient_descent() -> None:
    rng = np.random.default_rng(12)
    X = scipy.sparse.random_array((4000, 10_000), density=0.003, rng=rng, format="csr")
    y = np.where(X @ rng.normal(size=10_000) + 0.1 * rng.normal(size=4000) >= 0.0, 1.0, -1.0)
    learner, other = onkel.Auto(), SGDClassifier(random_state=0)
    scores, guesses = learner.learn(learner.init(10_000), X, y), np.ones(4000)
    for now in (slice(start, start + 50) for start in range(0, 4000, 50)):
        guesses[now] = other.predict(X[now]) if now.start else 1.0
        other.partial_fit(X[now], y[now], classes=[-1.0, 1.0])
    assert np.mean(onkel.measure.mistakes(scores, y)) < np.mean(guesses != y)


def test_time_goes_from_families_that_nobody_would_miss_to_a_zoom_on_the_best() -> None:
    X, y = onkel.data.abrupt(1500, dim=3, noise=0.05, changes=1, seed=2)
    plan, state, costs = SMALL._plan(3), SMALL.init(3), list[float]()
    for start in range(0, 750, 50):
        now = slice(start, start + 50)
        SMALL.learn(state, X[now], y[now])
        costs.append(float(plan.costs @ state.review.awake))
    awake = state.review.awake > 0
    assert not awake[plan.starts].all()
    assert awake[~plan.starts].any()
    assert max(costs) <= plan.cost_ceiling
    asleep = [family.init(1) for family, zoom in zip(plan.families, ~plan.starts, strict=True) if zoom]
    kept = [part for part, zoom in zip(state.families, ~plan.starts, strict=True) if zoom]
    for fresh, part, tried in zip(asleep, kept, state.review.tried[~plan.starts], strict=True):
        assert (bits(fresh) == bits(part)) == (not tried)  # who sleeps costs nothing: it has learnt nothing
    SMALL.learn(state, X[750:1000], y[750:1000])
    assert state.recent.again[0] == 1
    assert np.array_equal(state.review.awake > 0, plan.starts)  # the rule began again, with everybody


@pytest.mark.parametrize("dim", [3, 30, 300])
def test_limits_are_kept(dim: int) -> None:
    full, limit = onkel.Auto().footprint(dim), 1.2e7
    assert onkel.Auto(memory_limit=limit).footprint(dim) <= limit < full
    costs = [onkel.Auto(cost_limit=limit)._plan(dim).costs.sum() for limit in (1.0, 12.0, 25.0, 100.0)]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]
    assert onkel.Auto(cost_limit=1.0)._plan(dim).families[1:] != ()  # narrow rows never have lines alone
    assert onkel.Auto(cost_limit=1.0).footprint(10 * dim + 600) < full


def with_lags() -> tuple[onkel.Auto, Any, Array, Array]:
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(800, 2)), np.cumsum(rng.normal(size=800))
    learner = onkel.Auto(lags=2, cost_limit=13.8)
    state = learner.init(2)
    return learner, state, X, y


def test_lags_follow_a_walk_and_rows_at_any_time_do_without_them() -> None:
    learner, state, X, y = with_lags()
    scores = learner.learn(state, X, y)
    assert mean_square(scores[300:], y[300:]) <= 0.2 * mean_square(run(X, y)[300:], y[300:])
    said = onkel.explain(learner, state)
    assert said.mixture == pytest.approx(mean_square(scores, y))
    assert said.without_lags > 2.0 * said.mixture
    assert any(sentence.startswith("earlier labels help") for sentence in said.sentences)
    next_row, any_row = learner.predict(state, X[:3]), learner.predict_any(state, X[:3])
    state.views.lags.last += 5.0
    assert not np.allclose(learner.predict(state, X[:3]), next_row)
    assert np.array_equal(learner.predict_any(state, X[:3]), any_row)
    assert np.array_equal(SMALL.predict_any(SMALL.init(2), X[:3]), SMALL.predict(SMALL.init(2), X[:3]))


def test_a_late_label_is_learnt_with_the_labels_that_were_known() -> None:
    learner, state, X, y = with_lags()
    learner.learn(state, X[:700], y[:700])
    known, other = learner.remember(state), onkel.state.copied(state)
    expected = learner.predict(state, X[700:701])
    assert np.allclose(learner.learn(other, X[700:701], y[700:701], lagged=known[None]), expected, rtol=1e-9)
    learner.learn(state, X[701:710], y[701:710])  # other labels come first
    assert not np.allclose(learner.predict(state, X[700:701], lagged=known[None]), learner.predict(state, X[700:701]))
    assert np.array_equal(learner.remember(other)[:1], np.array([y[700] - y[0]]))
    with pytest.raises(onkel.InputError, match=r"lagged must have shape \(1, 8\)"):
        learner.learn(state, X[:1], y[:1], lagged=known[None, :3])


def test_explain_says_who_counts(tmp_path: Path) -> None:
    X, y = wave(3000, 10)
    learner = onkel.combine.Scaled(SMALL, targets=False, first_rows=0)
    state = learner.init(3)
    scores = learner.learn(state, X, y)
    found = onkel.explain(learner, state)
    assert found.rows == 3000
    assert found.mixture == pytest.approx(mean_square(scores, y))
    assert found.shares.sum() == pytest.approx(1.0)
    assert found.weights.sum() == pytest.approx(1.0, abs=0.2)
    assert found.sentences[0].startswith("the mixture: ")
    assert found.history is not None
    assert 0 < len(found.history.rows) <= SNAPSHOTS
    assert np.all(np.diff(found.history.rows) > 0)
    assert found.history.rows[-1] <= 3000
    assert draw_weights(tmp_path / "weights.png", found).stat().st_size > 1000
    assert onkel.explain(SMALL, SMALL.init(3)).sentences == ["nothing has been learnt yet"]
    with pytest.raises(onkel.InputError, match="explain knows Auto"):
        onkel.explain(onkel.PKAWV(), onkel.PKAWV().init(3))


def test_snapshots_thin_out_and_stay_evenly_spaced() -> None:
    from onkel.combine.auto import ledger

    book, one, everybody = ledger.init(2, 1), np.ones(64), np.ones((64, 2), dtype=bool)
    for check in range(1, 1000):
        label, steps = np.full((64, 1), float(check)), Steps()
        ledger.count(book, np.repeat(label[:, :, None], 2, axis=2), label, label, label, one, everybody, -1, steps)
        steps.run()
        ledger.note(book, 64 * check, 64, np.full((1, 2), float(check)))
        rows = book.rows[: book.taken]
        middle = rows / 64 - (book.every - 1) / 2  # of the labels since the snapshot before
        assert np.array_equal(book.means[: book.taken, 0, -2:], np.column_stack([middle, middle]))
        assert np.all(np.diff(rows) == 64 * book.every) or book.taken < 2
        assert np.array_equal(book.weights[: book.taken, 0], rows / 64)
    assert book.taken > SNAPSHOTS // 4
