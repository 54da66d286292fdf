"""
Do the probabilities mean what they say?
========================================

A probability is used to decide: call the customer or not, stop the machine or not. That is only sound if, of all rows
with a predicted probability of 0.8, eight in ten come true. Many classifiers rank rows well, but their
probabilities are too close to 0 and 1.
"""

# %%
# Phishing or not: the pages that come with River, and River's naive Bayes as an example of a classifier that multiplies
# evidence that is not independent. Each row is predicted before it is learnt.

import matplotlib.pyplot as plt
import numpy as np
from river import datasets, naive_bayes

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, ink, looks

rows, labels = (list(part) for part in zip(*datasets.Phishing(), strict=True))
models = {"Auto": onkel.Classifier(), "naive Bayes": naive_bayes.GaussianNB()}
believed = {}
for name, model in models.items():
    probabilities = np.empty(len(rows))
    for t, (row, label) in enumerate(zip(rows, labels, strict=True)):
        probabilities[t] = model.predict_proba_one(row).get(True, 0.5)
        model.learn_one(row, label)
    believed[name] = onkel.measure.reliability(probabilities, labels)
    found = believed[name]
    wrong = np.mean((probabilities > 0.5) != np.array(labels))
    print(f"{name:12} {wrong:.1%} mistakes, off by {found.calibration_error:.1%} on average, log loss {found.log_loss:.2f}")

# %%
# Rows in bins of predicted probability; the area of a dot is the number of its rows. On the diagonal, probabilities
# mean what they say.

with looks():
    figure, panels = plt.subplots(1, 2, figsize=(8.0, 4.4), sharey=True)
    for axes, (name, one), colour in zip(panels, believed.items(), (Light.LEARNER, Light.OTHERS[0]), strict=True):
        axes.plot([0.0, 1.0], [0.0, 1.0], color=Light.BOUND, linestyle="--", linewidth=1.0)
        axes.vlines(one.predicted, one.predicted, one.observed, color=colour, linewidth=1.5, alpha=0.6)
        axes.scatter(one.predicted, one.observed, s=1.2 * one.count, color=colour, alpha=0.75, linewidth=0)
        axes.text(
            0.03, 0.97, f"off by {one.calibration_error:.1%} on average", color=ink(colour), va="top", transform=axes.transAxes
        )
        axes.set_title(name, color=Light.INK)
        axes.set_xlabel("predicted probability of phishing")
        axes.set_xlim(-0.05, 1.05)
        axes.set_ylim(-0.05, 1.05)
        axes.set_aspect("equal")
        axes.set_xticks([0.0, 0.5, 1.0])
        axes.xaxis.set_major_formatter("{x:.0%}")
        axes.yaxis.set_major_formatter("{x:.0%}")
    panels[0].set_ylabel("share that was phishing")
    mine, theirs = (one.calibration_error for one in believed.values())
    headline(figure, f"Auto's probabilities are off by {mine:.1%}, those of naive Bayes by {theirs:.1%}")
