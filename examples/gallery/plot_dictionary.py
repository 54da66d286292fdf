"""
Which rows does the dictionary keep, and why?
=============================================

Streams repeat themselves: most rows look like rows before them, and the few that do not are the ones that matter, such
as a fault, a holiday, a new customer. A dictionary of points drawn at random consists of what is frequent. KORS draws a
row with a probability proportional to its leverage score: how much of it the rows before do not explain.
"""

# %%
# Most rows of this stream lie in a small cloud, one in fifty on a wide arc around it. Both dictionaries have about the
# same size.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, ink, looks

ROWS = 4_000
rng = np.random.default_rng(0)
rare = rng.random(ROWS) < 0.02
angle = rng.uniform(0.0, np.pi, ROWS)
cloud = np.array([0.0, -0.3]) + 0.35 * rng.normal(size=(ROWS, 2))
arc = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.normal(size=(ROWS, 2))
X = np.where(rare[:, None], arc, cloud)
y = np.where(rare, np.sin(4.0 * angle), 0.0) + 0.1 * rng.normal(size=ROWS)

kernel = onkel.Gaussian(width=0.4)
dictionaries = {"KORS: by leverage": onkel.Kors(mu=1.0, oversampling=0.35), "each row with equal chance": onkel.Uniform(rate=0.04)}
kept, error = {}, {}
for name, dictionary in dictionaries.items():
    learner = onkel.ProsNKONS(kernel, clip=1.5, dictionary=dictionary, restart=False, budget=None)
    state = learner.init(dim=2)
    scores = learner.learn(state, X, y)
    kept[name] = learner.function(state).points
    error[name] = np.sqrt(np.mean((scores - y)[rare] ** 2))
    on_arc = np.mean(np.hypot(*kept[name].T) > 1.5)
    print(f"{name:27} {len(kept[name]):3} points, {on_arc:4.0%} of them on the arc; rms error of rare rows {error[name]:.2f}")

# %%
# The online leverage score of a row is largest if nothing like it came before, and falls as its neighbourhood becomes
# known.

leverage = onkel.measure.online_leverage_scores(kernel, X, alpha=1.0)
print(f"mean leverage of a rare row {leverage[rare].mean():.2f}, of a usual row {leverage[~rare].mean():.3f}")

# %%
# Both panels show the same rows. KORS covers the arc; chance takes nearly all points from the middle of the cloud.

with looks():
    figure, panels = plt.subplots(1, 2, figsize=(8.0, 4.4), sharey=True)
    for axes, (name, points), colour in zip(panels, kept.items(), (Light.LEARNER, Light.OTHERS[0]), strict=True):
        axes.plot(*X.T, ".", color=Light.MUTED, markersize=2.5, alpha=0.35, label="rows")
        axes.plot(*points.T, "o", color=colour, markersize=5, markeredgecolor="white", markeredgewidth=0.5)
        axes.set_title(f"{name}, {len(points)} points", color=Light.INK)
        axes.text(0.0, 2.75, f"rms error of the rare rows: {error[name]:.2f}", ha="center", color=ink(colour))
        axes.set_xlabel("input 1")
        axes.set_aspect("equal")
        axes.set_xlim(-2.6, 2.6)
        axes.set_ylim(-1.5, 3.1)
    panels[0].set_ylabel("input 2")
    near, far = (np.mean(np.hypot(*points.T) > 1.5) for points in kept.values())
    headline(figure, f"{rare.mean():.0%} of the rows are rare: KORS gives them {near:.0%} of its points")
