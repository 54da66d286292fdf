"""
What does it cost if labels come late?
======================================

Whether a customer pays is known after a month, whether a part fails after a year. Benchmarks give the label right after
the prediction; real streams do not. ``prequential`` can hold labels back, so the price can be known before the system
is built.
"""

# %%
# Two streams: one on which nothing changes, and one whose function turns slowly; after ``PERIOD`` rows it is back where
# it began. The learner forgets on the second stream.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.measure import square
from onkel.report.palette import Light
from onkel.report.style import headline, looks, name_ends

ROWS, PERIOD, DELAYS = 6_000, 3_000, (0, 50, 100, 200, 300, 500, 750, 1_000)
streams = {
    "nothing changes": (onkel.data.smooth(ROWS, seed=0), onkel.PKAWV()),
    "the function turns": (onkel.data.drifting(ROWS, period=PERIOD, seed=0), onkel.PKAWV(forgetting=0.99)),
}
found = {}
for name, ((X, y), learner) in streams.items():
    found[name] = [
        np.sqrt(onkel.prequential(learner, X, y, delay=delay, metrics={"square": square}).mean("square")) for delay in DELAYS
    ]
    print(f"{name:20}", "  ".join(f"delay {delay}: {error:.2f}" for delay, error in zip(DELAYS, found[name], strict=True)))

# %%
# The target has deviation 1, so an error of 1 is that of predicting the mean. On a stream that stands still, late
# labels cost a late start. On one that moves, what matters is how far it moves during the delay.

colours = dict(zip(streams, (Light.OTHERS[1], Light.LEARNER), strict=True))
with looks():
    figure, axes = plt.subplots()
    for name, errors in found.items():
        axes.plot(DELAYS, errors, "o-", color=colours[name], markersize=5, label=name)
    axes.axhline(1.0, color=Light.MEAN, linestyle="--", linewidth=1.2)
    axes.text(0, 1.01, "the mean", color=Light.MEAN, va="bottom")
    axes.set_ylim(0.0, 1.4)
    axes.set_xlim(-15, DELAYS[-1])
    axes.set_xlabel("delay of the labels, in rows")
    axes.set_ylabel("rms error")
    name_ends(axes)
    hundred = DELAYS.index(100)
    costs = [errors[hundred] / errors[0] - 1.0 for errors in found.values()]
    headline(
        figure,
        f"A delay of 100 rows costs {costs[0]:.0%} on a still stream, {costs[1]:.0%} on a moving one",
        f"mean over {ROWS:,} rows; a full turn of the moving stream takes {PERIOD:,} rows",
    )
