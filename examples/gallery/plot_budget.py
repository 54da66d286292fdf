"""
How many points does a budget need?
===================================

A kernel model that keeps every row grows for ever. With a budget it keeps a fixed number of points, and a row costs a
fixed time. How many are enough depends on the stream, and, more than one would think, on what is done with the points.
"""

# %%
# Two classes shaped like bananas, from River, with overlap. Each learner gets budgets from ten to three hundred points
# of the same Gaussian kernel. ``PKAWVNystroem`` solves a least-squares problem in the span of its points,
# ``ProjectronPP`` projects what it cannot keep onto them, and ``BPAS`` and ``Forgetron`` take steps and replace points.

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, looks, name_ends

rows, labels = zip(*datasets.Bananas(), strict=True)
X = np.array([[row["1"], row["2"]] for row in rows])
y = np.where(labels, 1.0, -1.0)

BUDGETS, KERNEL = (5, 10, 20, 40, 80, 160, 320), onkel.Gaussian(width=0.5)
learners = {
    "PKAWVNystroem": lambda budget: onkel.PKAWVNystroem(KERNEL, dictionary=onkel.Kors(mu=0.01), budget=budget, keep_history=False),
    "ProjectronPP": lambda budget: onkel.ProjectronPP(KERNEL, budget=budget),
    "BPAS": lambda budget: onkel.BPAS(KERNEL, budget=budget),
    "Forgetron": lambda budget: onkel.Forgetron(KERNEL, budget=budget),
}
found = {}
for name, make in learners.items():
    found[name] = [onkel.prequential(make(budget), X, y).mean("mistakes") for budget in BUDGETS]
    print(f"{name:14}", "  ".join(f"{budget}: {error:.1%}" for budget, error in zip(BUDGETS, found[name], strict=True)))

# %%
# With least squares a few dozen points are enough to represent all others, and more points change nothing. Learners that
# replace points need many more, because their function *is* the points that they happen to hold.

TOLERATED = 0.01
enough = {
    name: next(budget for budget, error in zip(BUDGETS, errors, strict=True) if error < errors[-1] + TOLERATED)
    for name, errors in found.items()
}
print("within one percentage point of the largest budget:", enough)
colours = dict(zip(found, (Light.LEARNER, *Light.OTHERS), strict=False))
with looks():
    figure, axes = plt.subplots()
    for name, errors in found.items():
        axes.plot(BUDGETS, errors, "o-", color=colours[name], label=name, markersize=4)
        axes.plot(enough[name], errors[BUDGETS.index(enough[name])], "o", color=colours[name], markersize=11)
    axes.set_xscale("log", base=2)
    axes.set_xticks(BUDGETS, BUDGETS)
    axes.set_ylim(0.0, 0.48)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_xlabel("budget: points kept (doubled from tick to tick)")
    axes.set_ylabel(f"mistakes in {len(y):,} rows")
    name_ends(axes)
    headline(
        figure,
        f"Least squares needs {enough['PKAWVNystroem']} points; BPAS, which replaces them, {enough['BPAS']}",
        "large dots: the first budget within one percentage point of the largest",
    )
