"""
Is the regret below its bound, and how close?
=============================================

A theorem says: on every stream, whoever chooses it, the loss of this learner exceeds that of the best function in
hindsight by at most so much. That is worth something where rows are not drawn from any distribution: prices, attacks, users who
react to the model. But is the bound near what can happen, or only a number?
"""

# %%
# An adversary knows the learner. In each round it searches for the row and the label, −1 or 1, that add most to the
# regret.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.measure import adversaries, bounds
from onkel.report.palette import Light
from onkel.report.style import headline, looks, name_ends

ROUNDS, LAM = 150, 0.2
kernel = onkel.Gaussian(width=0.5)
learner = onkel.KernelAWV(kernel, lam=LAM)

X, y, scores = adversaries.greedy(learner, ROUNDS, dim=1, kernel=kernel, lam=LAM)
attacked = onkel.regret(scores, X, y, kernel, LAM).curve

# %%
# For comparison, the same rows with other labels: those of a coin, and those of a smooth function. The bound depends on
# the rows and on the largest label, so it holds for them too.

coin = onkel.regret(learner, X, np.random.default_rng(0).choice([-1.0, 1.0], ROUNDS)).curve
smooth = onkel.regret(learner, X, np.sin(4.0 * X[:, 0])).curve

allowed = np.array([bounds.kernel_awv(kernel, X[:t], y[:t], LAM) for t in range(1, ROUNDS + 1)])
worst = np.max(attacked / allowed)
print(f"after {ROUNDS} rounds the bound allows a regret of {allowed[-1]:.2f}; the adversary forced {attacked[-1]:.2f}")
print(f"labels by a coin: {coin[-1]:.2f}; labels of a smooth function: {smooth[-1]:.2f}")
print(f"largest share of the bound in any round: {worst:.0%}")

# %%
# No stream can cross the bound. A greedy search finds one that comes near it, and labels by chance are not much better.

rounds = np.arange(1, ROUNDS + 1)
lines = {
    "the theorem's bound": (allowed, Light.BOUND, "--"),
    "an adversary": (attacked, Light.LEARNER, "-"),
    "labels by a coin": (coin, Light.OTHERS[0], "-"),
    "a smooth function": (smooth, Light.OTHERS[1], "-"),
}
with looks():
    figure, axes = plt.subplots()
    for name, (curve, colour, dashes) in lines.items():
        axes.plot(rounds, curve, dashes, color=colour, label=name)
    axes.fill_between(rounds, allowed, 1.1 * allowed[-1], color=Light.BOUND, alpha=0.06, linewidth=0)
    axes.text(4, 1.03 * allowed[-1], "impossible", color=Light.MUTED, va="center")
    axes.set_xlim(0, ROUNDS)
    axes.set_ylim(0.0, 1.1 * allowed[-1])
    axes.set_xlabel("rounds")
    axes.set_ylabel("regret against the best function")
    name_ends(axes)
    headline(
        figure,
        f"The worst stream we find costs {worst:.0%} of what the theorem allows",
        "square loss of labels −1 and 1, summed; Azoury-Warmuth-Vovk forecaster, one input",
    )
