"""
How fast does it adapt after a sudden change?
=============================================

A sensor is replaced, a price list changes, a campaign starts: what was learnt before is wrong from one row to the next.
A model that weights all rows alike is dragged along by its past. With ``forgetting`` it lets go, at the price of a
larger error while nothing changes. How large are the two effects?
"""

# %%
# The function is replaced by another one twice, after each third of the stream. Each factor μ multiplies the weight of
# all past rows in every round; about 1/(1 − μ) rows are remembered. ``Auto`` is not told that there are changes.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.measure import square
from onkel.report.palette import Light
from onkel.report.style import along_rows, headline, looks, name_ends

ROWS, WINDOW, BACK = 9_000, 150, 0.6
X, y = onkel.data.abrupt(ROWS, changes=2, seed=3)
learners = {
    "μ = 1: never": onkel.PKAWV(),
    "μ = 0.999": onkel.PKAWV(forgetting=0.999),
    "μ = 0.99": onkel.PKAWV(forgetting=0.99),
    "Auto": onkel.Auto(),
}
traces = {name: onkel.prequential(learner, X, y, metrics={"square": square}) for name, learner in learners.items()}

# %%
# After each change: the number of rows until the error is back below ``BACK``. The target's deviation is 1.

rms = {name: np.sqrt(trace.windowed("square", WINDOW)) for name, trace in traces.items()}
for name, error in rms.items():
    needed = []
    for change in (ROWS // 3, 2 * ROWS // 3):
        back = np.flatnonzero(error[change + WINDOW : change + ROWS // 3] < BACK)
        needed.append(f"{back[0] + WINDOW:,} rows" if len(back) else "never")
    print(f"{name:14} back after {', '.join(needed):26} error at the end of the first third {error[ROWS // 3 - 1]:.2f}")

# %%
# The model that never forgets stays wrong. Quick forgetting recovers first, and pays with a larger error all the time.
# ``Auto`` holds experts of all kinds of memory and follows the best of them.

colours = dict(zip(learners, (Light.OTHERS[0], Light.OTHERS[1], Light.OTHERS[2], Light.LEARNER), strict=True))
last = {name: error[-1] for name, error in rms.items()}
with looks():
    figure, axes = plt.subplots()
    for name, error in rms.items():
        shown = np.arange(0, ROWS, 10)
        axes.plot(shown + 1, error[shown], color=colours[name], label=name, linewidth=2.6 if name == "Auto" else 1.6)
    for change in (ROWS // 3, 2 * ROWS // 3):
        axes.axvline(change, color=Light.MUTED, linestyle=":")
        axes.text(change, 1.62, " the function changes", color=Light.MUTED, va="top")
    axes.set_xlim(0, ROWS)
    axes.set_ylim(0.0, 1.65)
    axes.set_ylabel(f"rms error of the last {WINDOW} rows")
    along_rows(axes)
    name_ends(axes)
    headline(
        figure,
        f"Without forgetting, the error ends {last['μ = 1: never'] / last['Auto']:.0f} times as large as Auto's",
        "a target of deviation 1, each row predicted before it is learnt",
    )
