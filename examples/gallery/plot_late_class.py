"""
What happens when a class appears that nobody knew?
===================================================

A new kind of fault, a new product, a new attack: in a stream the list of classes is never complete. A classifier whose
classes are fixed at the start has to be trained again. Here a class is added when its first row arrives; how many rows
until it is recognised?
"""

# %%
# Handwritten digits from scikit-learn. The first part of the stream has no nines.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, looks, name_ends

NEW, WITHOUT, STREAMS, WINDOW, SHOWN = 9, 600, 8, 5, 80
X, digits = load_digits(return_X_y=True)


def stream(seed):
    """The rows in random order, but the new class only after `WITHOUT` rows."""
    order = np.random.default_rng(seed).permutation(len(X))
    early = order[digits[order] != NEW][:WITHOUT]
    order = np.concatenate([early, order[~np.isin(order, early)]])
    return X[order], digits[order]


# %%
# ``learn`` returns the answer for each row before it was learnt, so the first nine cannot be right. Several orders are
# averaged.

model = onkel.Model(task="classification")
right, others = [], []
for seed in range(STREAMS):
    rows, labels = stream(seed)
    state = model.init((rows[:100], labels[:100].tolist()))
    correct = np.array(model.learn(state, (rows, labels.tolist()))) == labels
    new = np.flatnonzero(labels == NEW)
    right.append(correct[new])
    others.append([correct[max(0, t - 200) : t][labels[max(0, t - 200) : t] != NEW].mean() for t in new])
print("classes at the end:", model.classes(state))
right, others = np.mean(right, axis=0), np.mean(others, axis=0)
recognised = np.convolve(right, np.ones(WINDOW) / WINDOW, mode="valid")
print(f"the first nine: {right[0]:.0%} right; the next ten: {right[1:11].mean():.0%}; the last hundred: {right[-100:].mean():.0%}")
print(f"other digits: {others[0]:.0%} right before the first nine, {others[-1]:.0%} at the end")

# %%
# The new class starts from nothing, between nine classes that are already well known, and catches up within some dozens
# of its rows. The others hardly notice.

with looks():
    figure, axes = plt.subplots()
    seen = np.arange(len(right))
    axes.plot(seen[:SHOWN], right[:SHOWN], ".", color=Light.LEARNER, alpha=0.35, markersize=6)
    axes.plot(
        (seen[WINDOW - 1 :] - WINDOW // 2)[:SHOWN], recognised[:SHOWN], color=Light.LEARNER, label="nines recognised", linewidth=2.6
    )
    axes.plot(seen[:SHOWN], others[:SHOWN], color=Light.OTHERS[0], label="other digits")
    axes.set_ylim(0.0, 1.02)
    axes.set_xlim(0, SHOWN)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_xlabel("nines seen so far")
    axes.set_ylabel("share of right answers")
    name_ends(axes)
    headline(
        figure,
        f"Seen once, a new digit is recognised in {right[1:11].mean():.0%} of its next ten rows",
        f"dots: one row in {STREAMS} orders of the stream; blue: mean of {WINDOW} dots",
    )
