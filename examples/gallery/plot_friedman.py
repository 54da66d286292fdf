"""
Which inputs matter, and how?
=============================

Ten columns, one number to predict. Five of the columns say nothing at all, one acts through a parabola, two act only together. An
additive model learns one curve for each column in a single pass, so its answer can be looked at.
"""

# %%
# Friedman's first function: 10 sin(π x₁x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅, with noise of deviation 1. The kernel is a sum of
# splines, one for each column; every row is scored before it is learnt.

import matplotlib.pyplot as plt
import numpy as np

import onkel

X, y = onkel.data.friedman(20_000, seed=0)
learner = onkel.NORMA(onkel.Additive(onkel.Spline()), loss=onkel.Square(), step=0.02, lam=0.0)
state = learner.init(dim=10)
scores = learner.learn(state, X, y)
error, spread = np.mean((scores - y)[-5000:] ** 2), np.var(y)
print(f"of the variance of y, {1 - error / spread:.0%} are explained in the last 5,000 rows")

# %%
# Each curve says by how much its column moves the prediction, and is centred. The product x₁x₂ is the part that a sum of curves
# cannot represent: give its column pair as ``products=((0, 1),)`` and the error falls.

curves = onkel.components(learner, state).curves
truth = {2: lambda x: 20 * (x - 0.5) ** 2, 3: lambda x: 10 * x, 4: lambda x: 5 * x}
figure, axes = plt.subplots(2, 5, figsize=(8, 4), dpi=100, sharex=True, sharey=True, layout="constrained")
for column, (panel, curve) in enumerate(zip(axes.flat, curves, strict=True)):
    if column in truth:
        exact = truth[column](curve.x)
        panel.plot(curve.x, exact - exact.mean(), color="0.55", linewidth=3, label="true")
    panel.plot(curve.x, curve.y - curve.y.mean(), color="#0072B2", linewidth=1.6, label="learnt")
    panel.set_title(f"x{column + 1}")
axes[0, 2].legend(frameon=False)
figure.supxlabel("value of the column")
figure.supylabel("effect on y")
figure.suptitle("Five columns matter, five do not")
plt.show()
