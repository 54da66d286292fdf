"""
How well do I know this curve by now?
=====================================

A calibration curve, a dose and its response, a demand and its price: one wants the curve, and to know where it can be
relied upon, while the rows still come in. ``MercerProjection`` keeps a curve and its confidence band in memory that does
not grow, and takes as many functions as the rows support. The noise may depend on x, and nothing is tuned.
"""

# %%
# A curve that is rough on the right and seldom visited on the left, with much noise, which grows with x. The inner band is
# for 95 % at each x by itself, the outer one for the whole curve at once.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, looks

ROWS = (200, 2_000, 20_000)
rng = np.random.default_rng(4)
x = rng.beta(1.5, 1.0, ROWS[-1])
curve = lambda u: 2.0 * np.sin(3.0 * np.pi * u**2) + u  # noqa: E731
y = curve(x) + (0.4 + 0.8 * x) * rng.normal(size=len(x))

learner = onkel.MercerProjection()
state = learner.init(dim=1)
grid = np.linspace(0.0, 1.0, 401)
found, learnt = {}, 0
for rows in ROWS:
    learner.learn(state, x[learnt:rows, None], y[learnt:rows])
    learnt = rows
    low, high = learner.band(state, grid[:, None], 0.95)
    lowest, highest = learner.band(state, grid[:, None], 0.95, everywhere=True)
    share = np.mean((low <= curve(grid)) & (curve(grid) <= high))
    found[rows] = learner.predict(state, grid[:, None]), low, high, lowest, highest, share
    print(
        f"{rows:6,} rows: band {np.mean(high - low):.2f} wide, {share:.0%} of the true curve in it; {onkel.nbytes(state):,} bytes"
    )

# %%
# The same state three times along one stream. The band is wide where few rows were seen or the noise is large, and shrinks
# with the rows. Of the rows a sample of 1,000 is kept, which tells the size of the noise.

with looks():
    figure, panels = plt.subplots(1, 3, figsize=(8.0, 4.0), sharey=True)
    for axes, (rows, (fit, low, high, lowest, highest, share)) in zip(panels, found.items(), strict=True):
        seen = slice(max(0, rows - 600), rows)
        axes.plot(x[seen], y[seen], ".", color=Light.MUTED, markersize=3, alpha=0.25)
        axes.fill_between(grid, lowest, highest, color=Light.LEARNER, alpha=0.15, linewidth=0)
        axes.fill_between(grid, low, high, color=Light.LEARNER, alpha=0.3, linewidth=0)
        axes.plot(grid, fit, color=Light.LEARNER, label="learnt, with its 95% bands")
        axes.plot(grid, curve(grid), color=Light.INK, linewidth=1.3, linestyle="--", label="truth")
        axes.plot([], [], ".", color=Light.MUTED, markersize=6, label="some rows")
        axes.set_title(f"after {rows:,} rows: {share:.0%} inside", color=Light.INK)
        axes.set_xlabel("input x")
        axes.set_xticks([0.0, 0.5, 1.0])
        axes.set_ylim(-4.5, 6.0)
    panels[0].set_ylabel("target y")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    widths = [np.mean(found[rows][2] - found[rows][1]) for rows in ROWS]
    headline(figure, f"Each tenfold of rows narrows the band, from {widths[0]:.1f} to {widths[1]:.1f} and {widths[2]:.1f}")
