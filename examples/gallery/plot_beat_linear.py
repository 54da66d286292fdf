"""
Will a nonlinear model beat my linear one on this stream?
=========================================================

A linear model is quick, and easy to explain. Before you replace it you want to know what a curved function gains on
*your* rows. One pass is enough: let both models predict each row before they learn it, and compare the sums of their
losses.
"""

# %%
# Seven streams that everybody has: three from River, two from scikit-learn, two synthetic. Classes are coded as one
# column of 0 and 1 for each class; the class with the largest score is the answer. The rows of scikit-learn's sets are
# shuffled.

import matplotlib.pyplot as plt
import numpy as np
from river import datasets
from sklearn.datasets import load_diabetes, load_digits

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, ink, looks


def of_river(rows):
    X, y = zip(*rows, strict=True)
    return np.array([[float(value) for value in x.values()] for x in X]), np.array(y)


def shuffled(X, y):
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def one_column_a_class(X, labels):
    return X, (labels[:, None] == np.unique(labels)).astype(float)


streams = {
    "bananas: two classes in the plane": one_column_a_class(*of_river(datasets.Bananas())),
    "image segments: seven classes": one_column_a_class(*of_river(datasets.ImageSegments())),
    "phishing: fraud or not": one_column_a_class(*of_river(datasets.Phishing())),
    "digits: ten classes": one_column_a_class(*shuffled(*load_digits(return_X_y=True))),
    "diabetes: progression": shuffled(*load_diabetes(return_X_y=True)),
    "Friedman's function": onkel.data.friedman(5_000, seed=0),
    "smooth function of five inputs": onkel.data.smooth(5_000, seed=0),
}

# %%
# The two models differ in their features only: the inputs and a constant, or in addition a hundred random waves.
# ``Scaled`` standardises inputs, and targets that are numbers, by the rows so far. ``Auto`` has no settings.


def loss(learner, X, y):
    """The mean loss of the stream, each row predicted before it is learnt: mistakes for classes, squares for numbers."""
    classes = y.ndim == 2
    metric = {"loss": onkel.measure.mistakes if classes else onkel.measure.square}
    if not isinstance(learner, onkel.Auto):
        learner = onkel.combine.Scaled(learner, targets=not classes)
    return onkel.prequential(learner, X, y, metrics=metric).mean("loss")


linear = onkel.PKAWV(features=onkel.Identity() + onkel.Constant())
found = {
    name: [loss(learner, X, y) / loss(linear, X, y) for learner in (onkel.PKAWV(), onkel.Auto())]
    for name, (X, y) in streams.items()
}
found = dict(sorted(found.items(), key=lambda pair: -pair[1][1]))
for name, (curved, auto) in found.items():
    print(f"{name:35}  PKAWV {curved:4.2f}  Auto {auto:4.2f}  of the linear model's loss")
better = sum(auto < 0.95 for _, auto in found.values())

# %%
# A point left of the black line is a stream on which a curved function pays.

with looks():
    figure, axes = plt.subplots(figsize=(8.0, 4.6))
    for place, (curved, auto) in enumerate(found.values()):
        axes.plot([auto, 1.0], [place, place], color=Light.GRID, linewidth=5, zorder=1)
        axes.plot(curved, place, "D", color=Light.OTHERS[0], markersize=7)
        axes.plot(auto, place, "o", color=Light.LEARNER, markersize=10)
        axes.annotate(
            f"{auto:.0%}", (auto, place), (-9, 0), textcoords="offset points", ha="right", va="center", color=ink(Light.LEARNER)
        )
    axes.axvline(1.0, color=Light.INK)
    axes.annotate("linear model", (1.0, -0.75), (-6, 0), textcoords="offset points", ha="right", va="center")
    axes.plot([], [], "o", color=Light.LEARNER, markersize=10, label="Auto")
    axes.plot([], [], "D", color=Light.OTHERS[0], markersize=7, label="PKAWV: the same ridge regression on random waves")
    axes.set_yticks(range(len(found)), list(found), color=Light.INK)
    axes.set_ylim(-1.0, len(found) - 0.4)
    axes.set_xlim(0.0, None)
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.set_xlabel("loss, in per cent of the linear model's")
    axes.grid(axis="y", visible=False)
    figure.legend(loc="outside lower center", ncols=2)
    headline(figure, f"Auto beats the linear model by more than 5% on {better} of {len(found)} streams")
