"""SketchedNewton: what is special to it, beyond the laws: when it is exact, and how much frequent directions take away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import NewtonFeatures, SketchedNewton
from onkel.losses import Loss
from onkel.measure.regret import embed
from tests.oracle.newton_features import stream

Array = NDArray[np.float64]

SPAN = onkel.Fourier(count=10, width=1.0, seed=1) + onkel.Constant()


def learnt(learner: Any, X: Array, y: Array) -> tuple[Array, Any]:
    state = learner.init(X.shape[1])
    return learner.learn(state, X, y), state


@pytest.mark.parametrize("loss", [onkel.Square(), onkel.Logistic(), onkel.Hinge()], ids=repr)
def test_it_is_newton_features_if_the_rank_is_full(loss: Loss) -> None:
    X, y, _ = stream(NewtonFeatures(loss=loss))
    exact, _ = learnt(NewtonFeatures(SPAN, loss, alpha=0.3, clip=0.8), X, y)
    sketched, state = learnt(SketchedNewton(SPAN, loss, rank=SPAN.size(3), alpha=0.3, clip=0.8), X, y)
    assert state.rows > 2 * SPAN.size(3)  # so that S was decomposed at least once
    assert np.abs(sketched - exact).max() <= 1e-9


def test_one_row_is_enough_for_one_direction() -> None:
    """The counter-example of Calandriello et al. (2017), section 6: one point comes again and again."""
    X, y = np.ones((300, 1)), np.where(np.arange(300) % 2 == 0, 1.0, -1.0)
    exact, _ = learnt(NewtonFeatures(onkel.Identity()), X, y)
    sketched, state = learnt(SketchedNewton(onkel.Identity(), rank=1), X, y)
    assert len(state.sketch) == 2
    assert np.abs(sketched - exact).max() <= 1e-12


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_what_is_taken_away(rank: int) -> None:
    """0 ⪯ G − SᵀS ⪯ (tr G/m) I, where G is the sum of all η g² z zᵀ: the guarantee of frequent directions."""
    X, y, _ = stream(SketchedNewton())
    learner = SketchedNewton(SPAN, rank=rank, alpha=0.1)
    scores, state = learnt(learner, X, y)
    Z = embed(SPAN, X)
    gained = onkel.Square().curvature(1.0) * onkel.Square().derivative(scores, y) ** 2
    G = Z.T @ (gained[:, None] * Z)
    lost = np.linalg.eigvalsh(G - state.sketch.T @ state.sketch)
    assert lost[0] >= -1e-9 * np.trace(G)
    assert 0.0 < lost[-1] <= np.trace(G) / rank


def test_memory_grows_with_the_rank_and_not_with_the_square_of_the_features() -> None:
    wide = onkel.Fourier(count=5000)
    assert SketchedNewton(wide, rank=10).footprint(5) < 2_000_000 < NewtonFeatures(wide).footprint(5)


def test_an_alpha_that_is_lost_in_rounding_is_raised() -> None:
    X, y, _ = stream(SketchedNewton())
    learner = SketchedNewton(onkel.Identity(), rank=2, alpha=1e-12)
    _, state = learnt(learner, 1e6 * X, y)
    assert any("alpha was raised" in note for note in learner.notes(state))
