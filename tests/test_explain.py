"""What `explain` says of regrets is what hindsight says, and never above its bound."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import FixedShare, Layered, Logistic, MLPoly, Ridge, Stacking
from onkel.combine import account
from onkel.combine.auto.state import RULE
from onkel.combine.rules.regression import ROWS, UNIT
from onkel.measure import bounds
from onkel.measure.explain import Compared, _compared
from onkel.mixing import counted, extend
from onkel.report import draw_contributions, draw_weights
from onkel.turns import Steps
from tests.test_bounds_experts import KINDS, cut, slack, stream

pytestmark = pytest.mark.once

Array = NDArray[np.float64]
SMALL = onkel.Auto(cost_limit=11.4)


def mixed(rule: Any, P: Array, Y: Array, weight: Array, awake: Any = None) -> tuple[Compared | None, Compared | None, float]:
    """Both comparisons after these rows, learnt in two blocks, and what the mixture has lost."""
    n, outputs, experts = P.shape
    who = np.ones((n, experts), dtype=bool) if awake is None else awake
    state, book, lost = rule.init(experts, outputs), account.init(experts, outputs), 0.0
    for now in (slice(0, n // 3), slice(n // 3, n)):
        block = P[now].copy(), Y[now].copy(), weight[now].copy(), who[now].copy()
        steps = Steps()
        mixture = rule.plan(state, *block, steps)
        account.count(book, block[0], mixture, *block[1:], steps)
        steps.run()
        lost += float(weight[now] @ np.sum((mixture - Y[now]) ** 2, axis=1))
    return *_compared(rule, state, book), lost


def least(P: Array, y: Array, weight: Array) -> float:
    """What the best combination loses whose weights sum to 1: plain least squares on the differences from the first expert."""
    root = np.sqrt(weight)
    V, target = root[:, None] * (P[:, 1:] - P[:, :1]), root * (y - P[:, 0])
    return float(np.sum((target - V @ np.linalg.lstsq(V, target, rcond=None)[0]) ** 2))


def streams(kind: str, seed: int, rule: Any, outputs: int) -> tuple[Array, Array]:
    """As many outputs, each of a stream of its own, with the same number of experts."""
    found = [stream(kind, 100 * seed + o, rule) for o in range(outputs)]
    experts = min(P.shape[1] for P, _ in found)
    return np.stack([P[:, :experts] for P, _ in found], axis=1), np.stack([y for _, y in found], axis=1)


@pytest.mark.parametrize("weights", [(1.0,), (0.0, 0.3, 1.0), (0.5, 1.0, 4.0)], ids=["plain", "light", "heavy"])
@pytest.mark.parametrize("kind", KINDS)
def test_regrets_are_those_of_hindsight_and_within_their_bounds(kind: str, weights: tuple[float, ...]) -> None:
    for seed in range(6):
        P, Y = streams(kind, seed, RULE, 1 + seed % 3)
        weight = np.random.default_rng(seed).choice(weights, size=len(Y))
        expert, combination, lost = mixed(RULE, P, Y, weight)
        assert expert is not None
        assert combination is not None
        there = weight > 0.0
        shown = np.stack([cut(RULE, P[there, o], Y[there, o]) for o in range(Y.shape[1])], axis=1)
        losses = np.tensordot(weight[there], np.sum((shown - Y[there][:, :, None]) ** 2, axis=1), 1)
        assert expert.regret == pytest.approx(lost - losses.min(), abs=slack(lost))
        assert np.array_equal(expert.weights[0], np.eye(P.shape[2])[losses.argmin()])
        theirs = sum(least(shown[:, o], Y[there, o], weight[there]) for o in range(Y.shape[1]))
        assert combination.regret == pytest.approx(lost - theirs, abs=slack(lost, *losses))
        assert combination.weights.sum(axis=1) == pytest.approx(np.ones(Y.shape[1]), abs=1e-6)
        for one in (expert, combination):
            assert one.regret <= one.bound + slack(lost, *losses) < math.inf


def test_who_has_slept_is_left_out() -> None:
    for seed in range(6):
        P, Y = streams("change", seed, RULE, 2)
        P, weight = np.concatenate([P, Y[:, :, None]], axis=2), np.ones(len(Y))
        awake = np.ones((len(P), P.shape[2]), dtype=bool)
        awake[15:, -1] = False  # one that knows all, until then
        expert, combination, lost = mixed(RULE, P, Y, weight, awake)
        assert expert is not None
        assert combination is not None
        assert not expert.weights[:, -1].any()
        assert not combination.weights[:, -1].any()
        theirs = sum(least(cut(RULE, P[:, o, :-1], Y[:, o]), Y[:, o], weight) for o in range(2))
        assert combination.regret == pytest.approx(lost - theirs, abs=slack(lost, theirs))
        assert expert.regret <= expert.bound
        assert combination.regret <= combination.bound
    assert mixed(RULE, P, Y, weight, np.eye(P.shape[2], dtype=bool)[np.arange(len(P)) % 2])[:2] == (None, None)


def test_what_no_bound_is_known_of() -> None:
    P, Y = streams("plain", 0, FixedShare(), 1)
    for rule, known in ((MLPoly(), (True, False)), (FixedShare(), (False, False)), (Stacking(forgetting=0.9), (False, False))):
        expert, combination, _ = mixed(rule, P, Y, np.ones(len(Y)))
        assert expert is not None
        assert combination is not None
        assert (math.isfinite(expert.bound), math.isfinite(combination.bound)) == known
    assert mixed(MLPoly(Logistic()), P, np.sign(Y), np.ones(len(Y)))[:2] == (None, None)
    assert mixed(Layered((Ridge(), MLPoly())), P, Y, np.ones(len(Y)))[0].bound < math.inf  # type: ignore[union-attr]


def test_the_sums_that_rules_keep_are_those_of_the_definition() -> None:
    for kind in KINDS:
        poly, stacking = MLPoly(), Stacking(MLPoly(), lam=0.1)
        P, y = stream(kind, 3, stacking)
        scores, one, everybody = cut(poly, P, y), np.ones(1), np.ones((1, P.shape[1]), dtype=bool)
        state, span, A = stacking.init(P.shape[1]), np.zeros(3), np.zeros((P.shape[1], P.shape[1]))
        S, squares, paid, beyond, unit = 0.0, np.zeros(P.shape[1]), 0.0, np.zeros(P.shape[1]), 0.0
        for t, (p, label) in enumerate(zip(scores, y, strict=True)):
            regrets, fit = onkel.state.copied(state.parts[0]), onkel.state.copied(state.parts[1])
            q = poly.predict(onkel.combine.rules.rule.State((regrets,), P.shape[1], 1), P[t : t + 1, None], everybody)[0, 0]
            told = stacking.learn(state, P[t : t + 1, None].copy(), np.array([[label]]), one, everybody)[0, 0]
            tamed, b = np.sqrt(state.parts[0].squares[0] - regrets.squares[0]), regrets.largest[0]
            S += float(np.sum(tamed**2 / (b**2 + regrets.squares[0]))) if b > 0.0 else 0.0
            squares += (q - label) ** 2 - (p - label) ** 2 - 2.0 * (q - counted(span, label)) * (q - p)
            target, v = counted(span, label) - q, p - q
            if fit.about[0, UNIT] > 0.0:
                A += stacking.lam * (fit.about[0, UNIT] - unit) * np.eye(len(p))
                unit = fit.about[0, UNIT]
                A += np.outer(v, v)
                paid += target**2 * float(v @ np.linalg.solve(A, v))
            elif t == 0:
                paid += target**2
            beyond += 2.0 * (target + q - label) * (told - p)
            extend(span, label)
        b, V = state.parts[0].largest[0], state.parts[0].squares[0]
        found = bounds.so_far(poly, onkel.combine.rules.rule.State(state.parts[:1], P.shape[1], 1)).experts
        assert np.allclose(found, np.sqrt(S * (b**2 + V)) + b + squares, rtol=1e-6, atol=1e-6 * b)
        quadratic = bounds.so_far(stacking, state).combinations[0]
        assert quadratic.constant == pytest.approx(paid + bounds.cutting(y), rel=1e-6)
        assert quadratic.ridge == pytest.approx(stacking.lam * state.parts[1].about[0, UNIT])
        assert np.allclose(quadratic.tilt, beyond, rtol=1e-6, atol=1e-6 * (1.0 + np.abs(beyond).max()))


def wave(rows: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)


def test_of_auto_with_classes_of_which_one_comes_late(tmp_path: Path) -> None:
    X, y = wave(700, 0)
    kind = np.where(y > 1.0, 2, (y > 0.0).astype(int))
    kind[:300] %= 2
    Y = (kind[:, None] == np.arange(3)).astype(float)
    state = SMALL.init(3, 2)
    SMALL.learn(state, X[:300], Y[:300, :2])
    SMALL.widen(state, 3)
    SMALL.learn(state, X[300:], Y[300:])
    found = onkel.explain(SMALL, state)
    assert found.since == 700
    for one in (found.to_expert, found.to_combination):
        assert one is not None
        assert one.regret <= one.bound < 700.0
    history = found.history
    assert history is not None
    assert np.allclose(history.contributions.sum(axis=2), history.mixture, atol=0.1)
    assert np.allclose(history.mixture.mean(axis=0), history.labels.mean(axis=0), atol=0.05)
    picture = draw_contributions(tmp_path / "of.svg", found, output=2).read_text()
    assert all(f"<!-- {name} -->" in picture for name in ("mixture", "label", *(expert.kind for expert in found.experts)))
    with pytest.raises(onkel.InputError, match="one of the 3 outputs"):
        draw_contributions(tmp_path / "of.svg", found, output=3)


def test_the_sums_begin_again_with_the_rule() -> None:
    X, y = onkel.data.abrupt(1500, dim=3, noise=0.1, changes=1, seed=2)
    state = SMALL.init(3)
    SMALL.learn(state, X, y)
    found = onkel.explain(SMALL, state)
    assert found.again > 0
    assert found.since < found.rows == 1500
    assert found.since == state.mixed.parts[-2].about[0, ROWS]
    book = state.ledger.account
    for one in (found.to_expert, found.to_combination):
        assert one is not None
        assert one.regret <= one.bound
    assert book.mixture.sum() < 0.5 * found.mixture * found.rows  # what was lost before is gone
    assert [sentence.split(":")[0] for sentence in found.guarantee] == [
        f"regret against the best {name} in {found.since:,} rows" for name in ("expert", "fixed combination of experts")
    ]


def test_of_experts(tmp_path: Path) -> None:
    X, y = wave(400, 2)
    line = onkel.PKAWV((onkel.Standardize(), onkel.Identity() + onkel.Constant()))
    learner = onkel.combine.Scaled(onkel.Experts((line, onkel.Neighbours())), targets=False, first_rows=0)
    state = learner.init(3)
    assert onkel.explain(learner, state).sentences == ["nothing has been learnt yet"]
    scores = learner.learn(state, X, y)
    found = onkel.explain(learner, state)
    assert found.mixture == pytest.approx(float(np.mean((scores - y) ** 2)))
    assert "learner 2 (Neighbours)" in found.sentences[0]
    assert len(found.sentences) == 1  # what its learners forget is not known
    assert found.to_expert is not None
    assert found.to_expert.regret == pytest.approx(400 * (found.mixture - found.losses.min()))
    assert found.to_expert.regret <= found.to_expert.bound
    with pytest.raises(onkel.InputError, match="nothing to draw"):
        draw_weights(tmp_path / "weights.png", found)
    signs = onkel.Experts((onkel.Perceptron(), onkel.NORMA()), MLPoly(Logistic()))
    other = signs.init(3)
    signs.learn(other, X, np.sign(y))
    found = onkel.explain(signs, other)
    assert np.isnan(found.losses).all()
    assert "the regret is not known" in found.guarantee[0]
    assert found.sentences[0].startswith("the mixture: learner ")
