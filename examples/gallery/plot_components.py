"""
Which inputs matter, and how?
=============================

A prediction that must be defended, before a customer or a regulator, needs more than a number. An additive model is a
sum of one curve for each input: the whole model can be looked at. It is learnt from the stream like any other.
"""

# %%
# Friedman's function has ten inputs, of which five matter: one has a parabola, two have straight lines, two act only
# together, through a product in a sine, and five are irrelevant. The true curves are known. For x0, which acts
# only together with x1, it is the mean of their common term over x1, and vice versa.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, looks

X, y = onkel.data.friedman(100_000, seed=0)
learner = onkel.NORMA(onkel.Additive(onkel.Spline(domain=(0.0, 1.0))), loss=onkel.Square(), step=0.02, lam=0.0)
state = learner.init(dim=10)
scores = learner.learn(state, X, y)
parts = onkel.components(learner, state)


def of_the_sine(u):
    """The mean of 10 sin(π u v) over v uniform on [0, 1]."""
    u = np.maximum(u, 1e-9)
    return 10.0 * (1.0 - np.cos(np.pi * u)) / (np.pi * u)


truth = [of_the_sine, of_the_sine, lambda u: 20.0 * (u - 0.5) ** 2, lambda u: 10.0 * u, lambda u: 5.0 * u]
truth += [lambda u: 0.0 * u] * 5

# %%
# How far each curve is from the true one, and how far it moves the prediction:

for curve, true in zip(parts.curves, truth, strict=True):
    wanted = true(curve.x) - true(curve.x).mean()
    print(f"{curve.name}: deviation of the curve {curve.y.std():.2f}, of its error {np.std(curve.y - wanted):.2f}")

# %%
# All curves have one scale. The five that matter are found, and the five others are flat.

largest = max(abs(curve.y).max() for curve in parts.curves[5:])
with looks():
    figure, panels = plt.subplots(2, 5, figsize=(8.0, 4.4), sharex=True, sharey=True)
    for axes, curve, true in zip(panels.flat, parts.curves, truth, strict=True):
        axes.plot(curve.x, true(curve.x) - true(curve.x).mean(), color=Light.INK, linewidth=4.5, alpha=0.25, label="truth")
        axes.plot(curve.x, curve.y, color=Light.LEARNER, label="learnt")
        axes.set_title(curve.name, color=Light.INK)
        axes.set_xticks([0.0, 0.5, 1.0], ["0", "½", "1"])
    figure.supylabel("effect on the prediction", size="medium")
    figure.supxlabel("value of the input", size="medium")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower right", ncols=2)
    headline(figure, f"The five irrelevant inputs stay within ±{largest:.2f}, the others are found")
