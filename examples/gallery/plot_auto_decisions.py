"""
What did Auto decide, and when?
===============================

A model that tunes itself should not be a black box. ``Auto`` mixes linear models, random waves, trees and neighbours,
with several widths, ridges and memories. ``onkel.explain`` says which of them count now, which counted when, and what
the mixture lost against the best of them.
"""

# %%
# The stream is linear first and then, without warning, curved.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.report.palette import Light
from onkel.report.style import along_rows, headline, looks

ROWS, DIM = 8_000, 5
rng = np.random.default_rng(1)
X, curved = onkel.data.smooth(ROWS, dim=DIM, seed=1)
straight = X @ rng.normal(size=DIM) / np.sqrt(DIM) + 0.1 * rng.normal(size=ROWS)
y = np.where(np.arange(ROWS) < ROWS // 2, straight, curved)

learner = onkel.Auto()
state = learner.init(dim=DIM)
scores = learner.learn(state, X, y)
found = onkel.explain(learner, state)
for sentence in [*found.sentences, *found.guarantee]:
    print(sentence)

# %%
# The history has a snapshot of the weights every few rows. An expert's share is its absolute weight over the sum of
# all; the experts of a kind are added up.

history = found.history
size = np.abs(history.weights)
share = size / size.sum(axis=1, keepdims=True)
kinds = list(dict.fromkeys(expert.kind for expert in found.experts))
shares = {kind: share[:, [expert.kind == kind for expert in found.experts]].sum(axis=1) for kind in kinds}
before = history.rows <= ROWS // 2
for kind, one in shares.items():
    print(f"{kind:12} {one[before][-1]:4.0%} before the change, {one[-1]:4.0%} at the end")

# %%
# Linear experts carry the first half. Within some hundred rows of the change the weights have moved to the kinds that
# can bend.

straight_kinds = ("linear", "additive", "quadratic", "logistic")
order = [kind for kind in kinds if kind in straight_kinds] + [kind for kind in kinds if kind not in straight_kinds]
colours = dict(zip(order, (Light.LEARNER, Light.OTHERS[4], "#BBDDF2", Light.GRID, *Light.OTHERS[:4]), strict=False))
with looks():
    figure, axes = plt.subplots()
    axes.stackplot(history.rows, [shares[kind] for kind in order], colors=[colours[kind] for kind in order], linewidth=0)
    middle = np.cumsum([shares[kind][-1] for kind in order]) - 0.5 * np.array([shares[kind][-1] for kind in order])
    for kind, height in zip(order, middle, strict=True):
        if shares[kind][-1] > 0.04:
            axes.annotate(f"{kind} {shares[kind][-1]:.0%}", (1.0, height), (6, 0), "axes fraction", "offset points", va="center")
    axes.axvline(ROWS // 2, color=Light.INK, linestyle=":")
    axes.text(ROWS // 2, 1.02, "the stream becomes curved", ha="center")
    axes.text(
        history.rows[before][-1] // 2, 0.4, f"linear {shares['linear'][before][-1]:.0%}", color="white", weight="bold", ha="center"
    )
    axes.set_xlim(history.rows[0], history.rows[-1])
    axes.set_ylim(0.0, 1.0)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_ylabel("share of the weights")
    along_rows(axes)
    finding = (
        f"Linear experts hold {shares['linear'][before][-1]:.0%} of the weight, but {shares['linear'][-1]:.0%} after the change"
    )
    headline(figure, finding)
