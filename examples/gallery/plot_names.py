"""
Can it use a column with hundreds of different names?
=====================================================

Shops, streets, products, users: the columns that say most are often names, and new ones turn up every day. A column of
0 and 1 for each name does not fit a stream whose names are not known yet. A ``Model`` hashes such a column, and adds
what the labels have been like for each name so far.
"""

# %%
# Deliveries: how long they take depends on the hour, and on the street. Rows are dicts. At first there are a hundred
# streets, at the end four hundred: new ones come all the time.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.measure.row_losses import windowed
from onkel.report.palette import Light
from onkel.report.style import along_rows, headline, looks

ROWS, STREETS, NOISE = 12_000, 400, 2.0
rng = np.random.default_rng(0)
slow = 6.0 * rng.normal(size=STREETS)
street = rng.integers(0, (STREETS * (0.25 + 0.75 * np.arange(ROWS) / ROWS)).astype(int))
hour = rng.integers(7, 20, ROWS)
minutes = 30.0 + slow[street] + 5.0 * np.sin(2.0 * np.pi * hour / 12.0) + NOISE * rng.normal(size=ROWS)
rows = [{"street": f"street {s}", "hour": int(h), "minutes": float(m)} for s, h, m in zip(street, hour, minutes, strict=True)]
print(rows[0])

# %%
# Two models, with the column and without it. Each answer is given before the row is learnt. How well a street is known
# depends on how often it has been seen:

models = {
    "without the street": onkel.Model(target="minutes", without=("street",)),
    "with the street": onkel.Model(target="minutes", hashed=("street",)),
}
squares = {}
for name, model in models.items():
    state = model.init(rows[:1_000])
    squares[name] = (model.learn(state, rows) - minutes) ** 2

visit = np.empty(ROWS, dtype=int)  # how often the street was seen before this row
seen: dict[int, int] = {}
for i, one in enumerate(street.tolist()):
    visit[i] = seen.get(one, 0)
    seen[one] = visit[i] + 1
known = np.arange(ROWS) >= ROWS // 4  # when the hours are known
VISITS = (0, 1, 2, 3, 5, 10, 20, 40)
by_visits = {
    name: [
        np.sqrt(one[known & (visit >= low) & (visit < high)].mean()) for low, high in zip(VISITS, (*VISITS[1:], 10**9), strict=True)
    ]
    for name, one in squares.items()
}
for name, found in by_visits.items():
    print(f"{name:20}", "  ".join(f"{low}+: {error:.2f}" for low, error in zip(VISITS, found, strict=True)))

# %%
# A street that nobody has seen is predicted as without the column; after a few visits its own times are known. The
# dotted line is the noise, which no model can predict.

WINDOW = 500
colours = dict(zip(models, (Light.OTHERS[0], Light.LEARNER), strict=True))
with looks():
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 4.2), sharey=True)
    for name in models:
        shown = np.arange(WINDOW, ROWS, 20)
        left.plot(shown, np.sqrt(windowed(squares[name], WINDOW)[shown]), color=colours[name])
        right.plot(range(len(VISITS)), by_visits[name], "o-", color=colours[name], markersize=5, label=name)
    for axes in (left, right):
        axes.axhline(NOISE, color=Light.BOUND, linestyle=":")
    left.set_ylim(0.0, 8.0)
    left.set_xlim(0, ROWS)
    left.set_ylabel(f"rms error in minutes, last {WINDOW} rows")
    right.set_xticks(range(len(VISITS)), ["0", "1", "2", "3–4", "5–9", "10–19", "20–39", "40+"], size="small")
    right.set_xlabel("times the street was seen before")
    right.legend(loc="lower left", bbox_to_anchor=(0.0, 0.02))
    along_rows(left)
    first, last = by_visits["with the street"][0], by_visits["with the street"][-1]
    headline(figure, f"A new street is off by {first:.1f} minutes, a known one by {last:.1f}")
