"""Every bound of the paper on 200 streams, for every loss: the measured regret compared with what the theorem allows.

    python -m papers.calandriello2017.bounds        prints the table and writes bounds.md

The streams are those of papers/jezequel2019/bounds.py: random, constant, alternating, heavy duplicates, adversarial; 60 rows, with
labels in [−1, 1]; losses that need labels ±1 get the signs of the labels. α is the stream's λ (0.1, 1 or 10), and C = 1. The regret
is measured against a function with |f(x_t)| ≤ C in every round: of these functions, the one for which the bound is tightest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import onkel
from onkel.losses import Loss
from onkel.measure import best_within, bounds, newton_regret, online_dimension
from onkel.measure.newton_regret import Learner, play
from papers.jezequel2019.bounds import DELTA, KERNEL, ROWS, Check, Stream, write

CURVED: tuple[Loss, ...] = (onkel.Square(), onkel.SquaredHinge(), onkel.Logistic(), onkel.SquaredEpsilonInsensitive(epsilon=0.1))
FLAT: tuple[Loss, ...] = (onkel.Hinge(), onkel.EpsilonInsensitive(epsilon=0.1))
SPAN = onkel.Taylor(2, 1.0)
ACCURACY = 0.5
THEORY = 3.0 * math.log(ROWS / DELTA) / ACCURACY**2


def labelled(stream: Stream, loss: Loss) -> Stream:
    """The stream with labels that the loss accepts."""
    return stream if "regression" in loss.tasks else replace(stream, y=np.where(stream.y >= 0.0, 1.0, -1.0))


def checks(stream: Stream) -> Iterator[Check]:
    """Every bound whose conditions hold on this stream, for every loss."""
    for loss in (*CURVED, *FLAT):
        yield from regrets(labelled(stream, loss), loss)
    for loss in CURVED:
        yield from dimensions(labelled(stream, loss), loss)


def regrets(stream: Stream, loss: Loss) -> Iterator[Check]:
    """Proposition 1 and Theorems 1 and 3 for one loss."""
    X, y, alpha, name = stream.X, stream.y, stream.lam, type(loss).__name__
    exact = onkel.KONS(KERNEL, loss, alpha)
    sketched = onkel.SketchedKONS(KERNEL, loss, alpha, floor=0.3, seed=stream.seed)
    features = onkel.NewtonFeatures(SPAN, loss, alpha)
    rivals: dict[str, Learner] = {
        "KONS": exact,
        "SketchedKONS, γ = 0.3": sketched,
        "SketchedKONS, γ = 0.3, weighted": replace(sketched, weighted=True),
        "NewtonFeatures, degree 2": features,
    }
    hardest = {space: best_within(space, X, y, loss, 0.5 * alpha, 1.0) for space in (KERNEL, SPAN)}
    for kind, learner in rivals.items():
        parts = newton_regret(learner, X, y, hardest[SPAN if learner is features else KERNEL])
        yield Check(f"Proposition 1, {name}", kind, parts.regret, parts.allowed)

    f = best_within(KERNEL, X, y, loss, alpha, 1.0)
    regret = newton_regret(exact, X, y, f).regret
    yield Check(f"Theorem 1, {name}", "KONS", regret, bounds.kons(exact, X, y, f.squared_norm))
    yield Check(f"Theorem 1 by dimension, {name}", "KONS", regret, bounds.kons_by_dimension(exact, X, y, f.squared_norm))
    if loss in CURVED:
        theory = replace(sketched, oversampling=THEORY, floor=0.1)
        regret = newton_regret(theory, X, y, f).regret
        yield Check(
            f"Theorem 3, {name}", "SketchedKONS, theory's β", regret, bounds.sketched_kons(theory, X, y, f.squared_norm, DELTA)
        )


def dimensions(stream: Stream, loss: Loss) -> Iterator[Check]:
    """Lemma 3, on the kernel rescaled by the slopes that KONS met."""
    learner = onkel.KONS(KERNEL, loss, stream.lam)
    added = play(learner, stream.X, stream.y).added
    online = online_dimension(KERNEL, stream.X, stream.lam, added)
    by_determinant, by_dimension = bounds.online_effective_dimension(KERNEL, stream.X, stream.lam, added)
    yield Check("Lemma 3, ln det", type(loss).__name__, online, by_determinant)
    yield Check("Lemma 3, by dimension", type(loss).__name__, by_determinant, by_dimension)


if __name__ == "__main__":
    write(Path(__file__).with_name("bounds.md"), __doc__, checks)
