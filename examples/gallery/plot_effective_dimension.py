"""
How many features does my stream need?
======================================

Kernel models are approximated by features, and each feature costs time in every row. The number needed is not that of
the inputs, nor that of the rows: it is the *effective dimension*, how many directions of the kernel's space the rows
really use. It can be computed from a sample before anything is learnt.
"""

# %%
# The same function of five inputs, with kernels from rough to smooth. ``effective_dimension`` looks at a sample of the
# inputs only.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.measure import square
from onkel.report.palette import Light
from onkel.report.style import headline, looks

LAM, WIDTHS, SHARES = 1.0, (2.0, 3.0, 4.0, 8.0), (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0)
X, y = onkel.data.smooth(6_000, dim=5, seed=0)
needed = {width: onkel.effective_dimension(onkel.Gaussian(width), X[:1500], LAM) for width in WIDTHS}

# %%
# Then the features: the span of some rows, fewer and more than the effective dimension. The loss is that of the
# following rows, each predicted before it is learnt.

POINTS = 600


def loss(width, count):
    features = onkel.Nystroem(onkel.Gaussian(width), X[:count])
    trace = onkel.prequential(onkel.PKAWV(features, lam=LAM), X[POINTS:], y[POINTS:], metrics={"square": square})
    return trace.mean("square")


counts = {width: [max(1, round(share * needed[width])) for share in SHARES] for width in WIDTHS}
losses = {width: [loss(width, count) for count in counts[width]] for width in WIDTHS}
limit = {width: loss(width, POINTS) for width in WIDTHS}
for width in WIDTHS:
    said = "  ".join(f"{count}: {one:.3f}" for count, one in zip(counts[width], losses[width], strict=True))
    print(f"width {width:g}, effective dimension {needed[width]:4.1f}; loss by features: {said}  {POINTS}: {limit[width]:.3f}")

# %%
# On the left four different curves. On the right the same, with the features counted in effective dimensions: from two
# on nearly one curve.

THRICE = SHARES.index(3.0)
above = max(losses[width][THRICE] / limit[width] - 1.0 for width in WIDTHS)
with looks():
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 4.4))
    for width, colour in zip(WIDTHS, plt.get_cmap("cividis")(np.linspace(0.75, 0.0, len(WIDTHS))), strict=True):
        name = f"width {width:g}: dimension {needed[width]:.0f}"
        left.plot(counts[width], losses[width], "o-", color=colour, markersize=4, label=name)
        right.plot(SHARES, np.array(losses[width]) / limit[width] - 1.0, "o-", color=colour, markersize=4)
    left.set_xlabel("features")
    left.set_ylabel("mean square loss")
    left.set_ylim(0.0, None)
    right.axvline(3.0, color=Light.INK, linestyle=":")
    right.set_xlabel("features ÷ effective dimension")
    right.set_ylabel(f"loss above that of {POINTS} features")
    right.set_ylim(0.0, None)
    right.yaxis.set_major_formatter("{x:.0%}")
    figure.legend(loc="outside lower center", ncols=2)
    headline(figure, f"Three features per effective dimension: within {above:.0%} of {POINTS} features")
