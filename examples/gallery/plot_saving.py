"""
What is lost if the process is stopped?
=======================================

A model that learns for months will be stopped: an update of the machine, a crash, a new version of the code around it. What it has
learnt is one file; learning goes on from there. What does that change?
"""

# %%
# Rows come in blocks of 1,000. One learner reads all of them without a pause. The other is saved in the middle, and what is loaded
# from the file reads the rest.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import onkel

X, y = onkel.data.drifting(6_000, dim=4, seed=1)
learner = onkel.PKAWV(forgetting=0.999)


def learnt(state, first, last):
    """The scores of these rows, each before it was learnt."""
    blocks = [slice(row, row + 1_000) for row in range(first, last, 1_000)]
    return np.concatenate([learner.learn(state, X[block], y[block]) for block in blocks])


without_pause = learnt(learner.init(dim=4), 0, 6_000)

file = Path(tempfile.mkdtemp()) / "model.onkel"
half = learner.init(dim=4)
before = learnt(half, 0, 3_000)
onkel.save(file, learner, half)
learner, resumed = onkel.load(file)
after = learnt(resumed, 3_000, 6_000)
print(f"{file.stat().st_size / 1000:.0f} kB; the largest difference of two scores is {np.abs(without_pause[3_000:] - after).max()}")

# %%
# Nothing changes: the scores are the same bits. The third line is a model that starts anew instead of being loaded: it shows how
# much is lost without a file, and for how long.

fresh = learnt(learner.init(dim=4), 3_000, 6_000)


def windowed(scores, labels, rows=200):
    """The root of the mean square error of the last rows."""
    total = np.cumsum(np.concatenate([[0.0], (scores - labels) ** 2]))
    at = np.arange(1, len(scores) + 1)
    first = np.maximum(at - rows, 0)
    return np.sqrt((total[at] - total[first]) / (at - first))


figure, axes = plt.subplots(figsize=(8, 4), dpi=100, layout="constrained")
rows = np.arange(1, 6_001)
axes.plot(rows, windowed(without_pause, y), color="0.7", linewidth=5, label="never stopped")
axes.plot(rows, windowed(np.concatenate([before, after]), y), color="#0072B2", linewidth=1.5, label="saved, loaded, continued")
axes.plot(rows[3_000:], windowed(fresh, y[3_000:]), color="#D55E00", linewidth=1.5, label="begun anew")
axes.axvline(3_000, color="0.3", linestyle=":")
axes.text(3_030, axes.get_ylim()[1], "stopped here", va="top")
axes.set_xlabel("rows")
axes.set_ylabel("rms error of the last 200 rows")
axes.set_ylim(0.0)
axes.legend(frameon=False)
figure.suptitle("A model that was saved goes on as if nothing had happened")
plt.show()
