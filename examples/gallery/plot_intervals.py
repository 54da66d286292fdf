"""
How sure is it?
===============

A forecast without a width is half a forecast: stock is ordered, and alarms go off, by the ends of an interval.
Intervals that were right in the laboratory are wrong once the noise grows. ``onkel.combine.Intervals`` puts prediction
intervals around any learner and corrects their width after each row, so that the share of labels inside stays what was
promised.
"""

# %%
# Half-way the noise of this stream becomes four times as large. Each interval is asked for before the label is known:
# the block is predicted, then learnt.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.report.palette import Light
from onkel.report.style import along_rows, headline, looks, name_ends

ROWS, CHANGE, LEVELS = 6_000, 3_000, (0.5, 0.8, 0.95)
X, y = onkel.data.friedman(ROWS, noise=1.0, seed=0)
X, noisy = onkel.data.friedman(ROWS, noise=4.0, seed=0)
y[CHANGE:] = noisy[CHANGE:]

learner = onkel.combine.Intervals(onkel.combine.Scaled(onkel.PKAWV()), levels=LEVELS)
state = learner.init(dim=10)
ends = {level: np.empty((ROWS, 2)) for level in LEVELS}
scores = np.empty(ROWS)
for t in range(ROWS):
    row = slice(t, t + 1)
    for level in LEVELS:
        ends[level][row] = learner.predict_interval(state, X[row], level)
    scores[row] = learner.learn(state, X[row], y[row])

# %%
# The coverage of all rows, and of the five hundred rows after the change, when the widths have to be learnt again:

inside = {level: (ends[level][:, 0] <= y) & (y <= ends[level][:, 1]) for level in LEVELS}
for level in LEVELS:
    after = inside[level][CHANGE : CHANGE + 500].mean()
    width = [np.median(np.diff(ends[level][part], axis=1)) for part in (slice(CHANGE // 2, CHANGE), slice(-(CHANGE // 2), None))]
    print(f"{level:.0%}: {inside[level].mean():.1%} of all rows, {after:.1%} just after the change", end="; ")
    print(f"width {width[0]:.1f} before it, {width[1]:.1f} long after")

# %%
# Above, some rows before and after the change with their intervals. Below, the coverage of the last three hundred rows.

WINDOW, SHOWN = 300, slice(CHANGE - 40, CHANGE + 60)
rows = np.arange(ROWS)
with looks():
    figure, (above, below) = plt.subplots(2, 1, figsize=(8.0, 6.2))
    for level, alpha in zip(reversed(LEVELS), (0.25, 0.4, 0.6), strict=True):
        error = ends[level] - scores[:, None]
        above.fill_between(
            rows[SHOWN], *error[SHOWN].T, step="mid", color=Light.LEARNER, alpha=alpha, linewidth=0, label=f"{level:.0%}"
        )
    good = inside[LEVELS[-1]]
    for marks, colour, name in ((good, Light.INK, "label inside"), (~good, Light.BAD, "outside")):
        here = rows[SHOWN][marks[SHOWN]]
        above.plot(here, (y - scores)[here], "o", color=colour, markersize=4, label=name)
    above.axvline(CHANGE - 0.5, color=Light.INK, linestyle=":")
    above.set_xlim(SHOWN.start, SHOWN.stop - 1)
    above.set_ylabel("label − prediction")
    above.set_ylim(-17.0, 12.0)
    above.legend(loc="lower left", ncols=2)
    above.xaxis.set_major_formatter("{x:,.0f}")
    for level in LEVELS:
        recent = np.convolve(inside[level], np.ones(WINDOW) / WINDOW, mode="valid")
        below.plot(rows[WINDOW - 1 :], recent, color=Light.LEARNER, label=f"{level:.0%} promised")
        below.axhline(level, color=Light.BOUND, linewidth=0.8, linestyle="--")
    below.axvline(CHANGE, color=Light.INK, linestyle=":")
    below.set_xlim(WINDOW, ROWS)
    below.set_ylim(0.4, 1.0)
    below.yaxis.set_major_formatter("{x:.0%}")
    below.set_ylabel(f"inside, last {WINDOW} rows")
    along_rows(below)
    name_ends(below)
    headline(figure, f"Noise four times as large, yet {inside[0.95].mean():.0%} stay in their 95% interval")
