"""
What does the next hour look like?
==================================

Demand has a shape of the day, another one at the weekend, and a level that wanders. The rows are a date and a number,
nothing else. A ``Model`` turns the date into cycles and a trend by itself, and with ``lags`` the last labels become
inputs: an hour that was busier than usual says something about the next. How much is each of the two worth?
"""

# %%
# Sixteen weeks of hourly demand: two peaks on working days, one at the weekend, a wandering level, and disturbances
# that last some hours. Each hour brings news of the disturbance and of the level that nothing could have foretold: no
# forecast can have an error smaller than the deviation of this news.

import datetime

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, ink, looks

HOURS, HOURLY, WANDERING = 24 * 7 * 16, 3.0, 0.5
NEWS = np.hypot(HOURLY, WANDERING)
rng = np.random.default_rng(0)
t = np.arange(HOURS)
hour, weekend = t % 24, t // 24 % 7 >= 5
working = 30.0 * np.exp(-(((hour - 8) / 2.0) ** 2)) + 40.0 * np.exp(-(((hour - 19) / 3.0) ** 2))
disturbance = HOURLY * rng.normal(size=HOURS)
for i in range(1, HOURS):
    disturbance[i] += 0.8 * disturbance[i - 1]
demand = 100.0 + np.where(weekend, 35.0 * np.exp(-(((hour - 14) / 4.0) ** 2)), working) + disturbance
demand += WANDERING * np.cumsum(rng.normal(size=HOURS))
times = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=int(i)) for i in t]
rows = [{"time": time, "demand": float(value)} for time, value in zip(times, demand, strict=True)]
print(rows[0])

# %%
# All forecasts are for the next hour. The first two need no model: the last value, and the last value plus the change
# between the same two hours a week ago. The errors are those after the first two weeks.

week_ago = np.concatenate([np.zeros(168), demand[:-168]])
before, before_then = onkel.measure.last_label(demand), onkel.measure.last_label(week_ago)
forecasts = {"the last hour": before, "last hour + last week's change": before + week_ago - before_then}
for lags in (0, 3, 24):
    model = onkel.Model(target="demand", lags=lags)
    state = model.init(rows[:100])
    forecasts[f"Auto, the last {lags} hours" if lags else "Auto, dates only"] = model.learn(state, rows)
errors = {name: np.sqrt(np.mean((one - demand)[24 * 14 :] ** 2)) for name, one in forecasts.items()}
for name, error in errors.items():
    print(f"{name:32} rms error {error:.2f}")

# %%
# Intervals come from the same model: the last days of the stream, each hour asked for before its value is known.

SHOWN = slice(HOURS - 24 * 6, HOURS)
model = onkel.Model(target="demand", lags=24)
state = model.init(rows[:100])
model.learn(state, rows[: SHOWN.start])
ends = np.empty((24 * 6, 2))
for i, row in enumerate(rows[SHOWN]):
    ends[i] = model.predict_interval(state, row, level=0.9)
    model.learn(state, row)
inside = np.mean((ends[:, 0] <= demand[SHOWN]) & (demand[SHOWN] <= ends[:, 1]))
print(f"{inside:.0%} of these hours lie in their 90% interval")

# %%
# The dates alone know the shape. Three lags add the level and the disturbance, and more lags hardly anything.

with looks():
    figure, (above, below) = plt.subplots(2, 1, figsize=(8.0, 6.4), height_ratios=(3, 2))
    above.fill_between(times[SHOWN], *ends.T, color=Light.LEARNER, alpha=0.25, linewidth=0, label="90% interval, an hour ahead")
    above.plot(times[SHOWN], demand[SHOWN], color=Light.INK, linewidth=1.3, label="demand")
    above.xaxis.set_major_locator(mdates.DayLocator())
    above.xaxis.set_major_formatter(mdates.DateFormatter("%a %d"))
    above.set_ylabel("demand")
    above.legend(loc="upper left", ncols=2)
    above.set_ylim(None, 1.25 * demand[SHOWN].max() - 0.25 * demand[SHOWN].min())
    above.set_xlim(times[SHOWN.start], times[SHOWN.stop - 1])
    places = np.arange(len(errors))[::-1]
    colours = [Light.LEARNER if name.startswith("Auto") else Light.LAST for name in errors]
    below.barh(places, errors.values(), color=colours, height=0.75)
    for place, (name, error), colour in zip(places, errors.items(), colours, strict=True):
        letters = Light.PAPER if colour == Light.LEARNER else Light.INK
        below.annotate(name, (0.0, place), (6, 0), textcoords="offset points", va="center", color=letters)
        below.annotate(f"{error:.1f}", (error, place), (5, 0), textcoords="offset points", va="center", color=ink(colour))
    below.axvline(NEWS, color=Light.BOUND, linestyle="--", linewidth=1.2)
    below.text(NEWS, 4.65, "no forecast can be better", ha="center", color=Light.INK, size="small")
    below.set_yticks([])
    below.set_xlim(0.0, 1.1 * max(errors.values()))
    below.set_ylim(-0.6, 4.5)
    below.set_xlabel("rms error of the next hour's demand")
    below.grid(axis="y", visible=False)
    best = min(errors.values())
    headline(figure, f"Dates and lags together: error {best:.1f}, where the last hour has {errors['the last hour']:.1f}")
