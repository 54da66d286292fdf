"""Every bound of the paper on 200 streams, for every loss: the measured regret compared with what the theorem allows.

    python -m papers.calandriello2017.bounds        prints the table and writes bounds.md

The streams are those of papers/jezequel2019/bounds.py: random, constant, alternating, heavy duplicates, adversarial; 60 rows, with
labels in [−1, 1]; losses that need labels ±1 get the signs of the labels. α is the stream's λ (0.1, 1 or 10), and C = 1. The regret
is measured against a function with |f(x_t)| ≤ C in every round: of these functions, the one for which the bound is tightest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import onkel
from onkel.losses import Loss
from onkel.measure import best_within, bounds, newton_regret, online_dimension
from onkel.measure.newton_regret import Learner, play
from papers.jezequel2019.bounds import DELTA, KERNEL, ROWS, Array, Check, Stream, stream, streams, write

CURVED: tuple[Loss, ...] = (onkel.Square(), onkel.SquaredHinge(), onkel.Logistic(), onkel.SquaredEpsilonInsensitive(epsilon=0.1))
FLAT: tuple[Loss, ...] = (onkel.Hinge(), onkel.EpsilonInsensitive(epsilon=0.1))
SPAN = onkel.Taylor(2, 1.0)
LONG = (1_000, 2_000, 4_000)  # rows of the streams on which the sketch leaves points out
THEORY = bounds.oversampling(ROWS, DELTA)


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


def kept(quick: bool = False) -> Iterator[str]:
    """How many points the sketch of Theorem 3 keeps: on the 200 streams, and on longer ones where it need not keep all of them."""
    shares = defaultdict(list)
    for kind, seed in streams()[:: 20 if quick else 1]:
        for loss in CURVED:
            of = labelled(stream(kind, seed), loss)
            learner = onkel.SketchedKONS(KERNEL, loss, of.lam, floor=0.1, oversampling=THEORY, seed=of.seed)
            state = learner.init(of.X.shape[1])
            scores = learner.learn(state, of.X, of.y)
            sloped = np.count_nonzero(loss.derivative(scores, of.y))  # a row without slope adds nothing, whatever the draw
            shares[type(loss).__name__].append(state.taken / max(sloped, 1))
    yield "| 60 rows, the theory's β | streams | all points kept | share of the points kept: mean | smallest |"
    yield "|---|--:|--:|--:|--:|"
    for name, of_loss in shares.items():
        whole = sum(share == 1.0 for share in of_loss)
        yield f"| {name} | {len(of_loss)} | {whole} | {np.mean(of_loss):.1%} | {min(of_loss):.1%} |"
    yield ""
    heads = "rows | the theory's β | points kept | share | measured / Theorem 3, γ = 0.1"
    yield f"| two columns, linear kernel, square loss | {heads} |"
    yield "|---|--:|--:|--:|--:|--:|"
    for seed in range(1 if quick else 3):
        for rows in LONG:
            learner, X, y = longer(rows, seed)
            state = learner.init(2)
            learner.learn(state, X, y)
            f = best_within(learner.kernel, X, y, learner.loss, learner.alpha, learner.clip)
            ratio = newton_regret(learner, X, y, f).regret / bounds.sketched_kons(learner, X, y, f.squared_norm, DELTA)
            cells = f"{rows:,} | {learner.oversampling:.0f} | {state.taken:,} | {state.taken / rows:.1%} | {ratio:.3g}"
            yield f"| seed {seed} | {cells} |"


def longer(rows: int, seed: int) -> tuple[onkel.SketchedKONS, Array, Array]:
    """A stream with an effective dimension of at most 2, and a sketch with γ = 0.1 and the β of the theory."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows, 2)) * np.array([1.0, 0.3])
    y = np.clip(X[:, 0] + rng.normal(size=rows), -1.0, 1.0)
    beta = bounds.oversampling(rows, DELTA)
    return onkel.SketchedKONS(onkel.Linear(), onkel.Square(), floor=0.1, oversampling=beta, seed=seed), X, y


if __name__ == "__main__":
    write(Path(__file__).with_name("bounds.md"), __doc__, checks, kept)
