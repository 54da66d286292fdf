"""Mixing rules: equal to their formulas, indifferent to units and cuts, fair to those asleep."""

from __future__ import annotations

import dataclasses
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import BOA, ExponentialWeights, FixedShare, Layered, Logistic, MLPoly, Ridge, Stacking
from onkel.combine.rules.rule import Rule
from onkel.state import copied, leaves, nbytes
from tests.laws.cases import bits
from tests.oracle.rules import mixture

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Block = tuple[Array, Array, Array, Mask]

SQUARE: list[Rule] = [
    ExponentialWeights(),
    ExponentialWeights(rate=0.3),
    FixedShare(),
    FixedShare(rate=0.5, share=0.02),
    BOA(),
    MLPoly(),
    Ridge(lam=0.5),
    Ridge(forgetting=0.9),
    Stacking(),
    Stacking(prior=MLPoly(), lam=3.0, forgetting=0.9),
    Layered(),
    Layered(
        (BOA(), Layered((MLPoly(), ExponentialWeights()), outer=BOA()), Stacking(Stacking(MLPoly()), lam=0.1)), outer=FixedShare()
    ),
]
LOGISTIC: list[Rule] = [
    ExponentialWeights(loss=Logistic()),
    ExponentialWeights(rate=0.5, loss=Logistic()),
    FixedShare(loss=Logistic()),
    BOA(Logistic()),
    MLPoly(Logistic()),
    Layered((FixedShare(loss=Logistic()), BOA(Logistic())), outer=MLPoly(Logistic())),
]
UNITLESS = [
    rule for rule in SQUARE if rule.order[0] not in (Ridge(lam=0.5), Ridge(forgetting=0.9)) and getattr(rule, "rate", None) is None
]

squares = pytest.mark.parametrize("rule", SQUARE, ids=lambda rule: repr(rule)[:50])
every = pytest.mark.parametrize("rule", [*SQUARE, *LOGISTIC], ids=lambda rule: repr(rule)[:50])


def block(rule: Rule, rows: int = 150, experts: int = 5, outputs: int = 2, seed: int = 0) -> Block:
    """Experts that differ, change and sleep; labels that jump far out of their range; rows of weight 0 and others."""
    rng = np.random.default_rng(seed)
    Y = np.cumsum(0.1 * rng.normal(size=(rows, outputs)), axis=0) + rng.normal(size=(rows, outputs))
    Y[rows // 3] += 50.0
    P = Y[:, :, None] * rng.uniform(0.5, 1.2, experts) + rng.normal(size=(rows, outputs, experts)) * np.linspace(0.2, 2.0, experts)
    P[rows // 2 :] = P[rows // 2 :, :, ::-1]
    if "regression" not in rule.tasks:
        Y, P = np.where(Y > 0.0, 1.0, -1.0), 5.0 * P
    awake = rng.random((rows, experts)) < 0.8
    awake[:, 0] |= ~awake.any(axis=1)
    return np.ascontiguousarray(P), Y, rng.choice([0.0, 0.5, 1.0, 3.0], p=[0.1, 0.1, 0.7, 0.1], size=rows), awake


def learnt(rule: Rule, stream: Block) -> tuple[Any, Array]:
    state = rule.init(stream[0].shape[2], stream[0].shape[1])
    return state, rule.learn(state, *stream)


def close(a: Array, b: Array, tolerance: float = 1e-9) -> bool:
    return bool(np.max(np.abs(a - b)) <= tolerance * max(1.0, float(np.max(np.abs(b)))))


@every
def test_equals_its_formulas(rule: Rule) -> None:
    stream = block(rule)
    assert close(learnt(rule, stream)[1], mixture(rule, *stream))


@pytest.mark.parametrize("rule", UNITLESS, ids=lambda rule: repr(rule)[:50])
def test_units_do_not_matter(rule: Rule) -> None:
    P, Y, weight, awake = block(rule)
    _, scores = learnt(rule, (P, Y, weight, awake))
    for a, c in ((1e-6, 0.0), (3e4, -7e4)):
        _, other = learnt(rule, (a * P + c, a * Y + c, weight, awake))
        assert close((other - c) / a, scores, 1e-7)


@every
def test_the_cut_of_the_stream_changes_nothing(rule: Rule) -> None:
    stream: Any = block(rule)
    whole, scores = learnt(rule, stream)
    for size in (1, 7):
        state, parts = rule.init(5, 2), []
        for t in range(0, len(scores), size):
            P, Y, weight, awake = (array[t : t + size] for array in stream)
            before, first = bits(state), rule.predict(state, P[:1], awake[:1])
            assert bits(state) == before
            parts.append(rule.learn(state, P, Y, weight, awake))
            assert np.array_equal(parts[-1][:1], first)
        assert np.array_equal(np.concatenate(parts), scores)
        assert bits(state) == bits(whole)


@every
def test_a_row_of_weight_0_changes_nothing_and_states_are_sound(rule: Rule) -> None:
    P, Y, weight, awake = block(rule)
    kept = weight > 0.0
    state, scores = learnt(rule, (P, Y, weight, awake))
    other, without = learnt(rule, (P[kept], Y[kept], weight[kept], awake[kept]))
    assert bits(state) == bits(other)
    assert np.array_equal(scores[kept], without)
    rule.check(state)
    assert rule.notes(state) == []
    assert nbytes(state) == nbytes(rule.init(5, 2)) == rule.footprint(5, 2)
    for name, value, _ in leaves(state):
        assert np.isfinite(value).all(), name


@every
def test_before_the_first_label_it_is_the_mean_of_those_awake(rule: Rule) -> None:
    P, _, _, awake = block(rule, rows=20)
    scores = rule.predict(rule.init(5, 2), P, awake)
    means = np.stack([P[t][:, awake[t]].mean(axis=1) for t in range(20)])
    if rule.order[0] in (Ridge(lam=0.5), Ridge(forgetting=0.9)):
        assert not scores.any()  # its prior is at 0
    elif "regression" in rule.tasks:
        assert close(scores, means)


@every
def test_those_asleep_have_no_say_and_stay_what_they_were(rule: Rule) -> None:
    P, Y, weight, awake = block(rule)
    awake[100:, 3], awake[100:, 0] = False, True
    louder = P.copy()
    louder[~np.repeat(awake[:, None], 2, axis=1)] = 1e3
    first, scores = learnt(rule, (P, Y, weight, awake))
    second, others = learnt(rule, (louder, Y, weight, awake))
    assert bits(first) == bits(second)
    assert np.array_equal(scores, others)


@pytest.mark.parametrize("rule", [FixedShare(), ExponentialWeights(), BOA(), MLPoly()], ids=lambda rule: type(rule).__name__)
def test_the_regret_of_one_asleep_is_untouched(rule: Rule) -> None:
    P, Y, weight, awake = block(rule, outputs=1)
    state, _ = learnt(rule, (P, Y, weight, awake))
    before = copied(state).parts[0]
    awake[:, 3], awake[:, 0] = False, True
    rule.learn(state, P, Y, weight, awake)
    name = next(field.name for field in dataclasses.fields(before))
    assert getattr(before, name)[0, 3] == getattr(state.parts[0], name)[0, 3]
    assert not np.array_equal(getattr(before, name), getattr(state.parts[0], name))


@every
def test_weights_are_what_experts_count_for(rule: Rule) -> None:
    P, Y, weight, awake = block(rule)
    state, _ = learnt(rule, (P, Y, weight, awake))
    weights = rule.weights(state)
    assert weights.shape == (2, 5)
    if not isinstance(rule, Ridge):
        assert np.allclose(weights.sum(axis=1), 1.0)
    if isinstance(rule, FixedShare | ExponentialWeights | BOA | MLPoly):
        assert (weights >= 0.0).all()
        if rule.loss == onkel.Square() or not isinstance(rule, FixedShare | ExponentialWeights):
            scores = np.clip(P, state.parts[-1].span[:, :1], state.parts[-1].span[:, 1:2])
            everybody = np.ones(awake.shape, dtype=bool)
            assert close(rule.predict(state, P, everybody), np.einsum("nok,ok->no", scores, weights))


def test_a_rule_that_several_need_is_evaluated_once() -> None:
    rule = Layered((FixedShare(), Stacking(FixedShare()), Stacking(FixedShare(), lam=3.0), MLPoly()), outer=MLPoly())
    assert [type(part).__name__ for part in rule.order] == ["FixedShare", "Stacking", "Stacking", "MLPoly", "Layered"]
    with mock.patch.object(FixedShare, "step", autospec=True, side_effect=FixedShare.step) as step:
        learnt(rule, block(rule, rows=10))
    assert step.call_count == 1


@every
@pytest.mark.parametrize("label", [0.0, -1.0])
def test_a_new_output_begins_as_if_every_expert_had_foretold_its_labels(rule: Rule, label: float) -> None:
    if label == 0.0 and "regression" not in rule.tasks:
        return
    P, Y, weight, awake = block(rule, outputs=1)
    known = rule.init(5, 2)
    rule.learn(
        known, np.repeat(P, 2, axis=1) * [[1.0], [0.0]] + [[0.0], [label]], np.hstack([Y, np.full_like(Y, label)]), weight, awake
    )
    state, _ = learnt(rule, (P, Y, weight, awake))
    rule.widen(state, 2, label)
    assert state.outputs == 2
    if "regression" in rule.tasks and rule.order[0] not in (Ridge(lam=0.5), Ridge(forgetting=0.9)):
        assert bits(state)[-1] == bits(known)[-1]
        more = block(rule, rows=50, outputs=2, seed=1)
        assert close(rule.learn(state, *more), rule.learn(known, *more))


@pytest.mark.parametrize("rule", UNITLESS, ids=lambda rule: repr(rule)[:50])
def test_awkward_labels_leave_it_finite(rule: Rule) -> None:
    rng = np.random.default_rng(2)
    everybody, ones = np.ones((100, 4), dtype=bool), np.ones(100)
    for Y in (
        np.zeros((100, 1)),
        np.full((100, 1), 1e50),
        1e-40 * rng.normal(size=(100, 1)),
        np.where(rng.random((100, 1)) < 0.1, 1e50, 1.0),
        10.0 ** np.linspace(-40, 40, 100)[:, None],
    ):
        for P in (np.zeros((100, 1, 4)), Y[:, :, None] * rng.normal(size=(100, 1, 4)), 1e50 * rng.normal(size=(100, 1, 4))):
            state = rule.init(4)
            assert np.isfinite(rule.learn(state, P, Y, ones, everybody)).all()
            assert all(np.isfinite(value).all() for _, value, _ in leaves(state))
            assert np.isfinite(rule.weights(state)).all()
            rule.check(state)


def test_one_absurd_label_spoils_little() -> None:
    rng = np.random.default_rng(4)
    Y = rng.normal(size=(1500, 1))
    P = Y[:, :, None] + rng.normal(size=(1500, 1, 4)) * [0.2, 0.5, 1.0, 2.0]
    spoilt = Y.copy()
    spoilt[500] = 1e6
    for rule in (FixedShare(), MLPoly(), Stacking(), Layered()):
        ones, everybody = np.ones(1500), np.ones((1500, 4), dtype=bool)
        sound, after = (rule.learn(rule.init(4), P, labels, ones, everybody)[501:] - Y[501:] for labels in (Y, spoilt))
        assert np.mean(after**2) < 1.3 * np.mean(sound**2)


def test_what_is_not_a_rule_is_refused() -> None:
    with pytest.raises(onkel.InputError, match=r"loss must be Square\(\) or Logistic\(\)"):
        MLPoly(onkel.Hinge())
    with pytest.raises(onkel.InputError, match="share must be at most 1"):
        FixedShare(share=2.0)
    with pytest.raises(onkel.InputError, match="prior must be a mixing rule"):
        Stacking(prior=onkel.PKAWV())  # type: ignore[arg-type]
    for wrong in ((), MLPoly(), (onkel.PKAWV(),)):
        with pytest.raises(onkel.InputError, match="rule"):
            Layered(wrong)  # type: ignore[arg-type]


def test_labels_whose_variance_is_no_normal_number_leave_a_stacking_at_its_prior() -> None:
    rng, everybody = np.random.default_rng(3), np.ones((50, 2), dtype=bool)
    y = 1e-157 * rng.normal(size=(50, 1))
    P = np.stack([y, 2.0 * y], axis=2)
    rule, prior = onkel.Stacking(), onkel.Stacking().prior
    state = rule.init(experts=2)
    mixture = rule.learn(state, P, y, np.ones(50), everybody)
    assert np.array_equal(mixture, prior.learn(prior.init(experts=2), P, y, np.ones(50), everybody))
    rule.check(state)
