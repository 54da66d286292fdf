"""
Can a kernel model keep two million points?
===========================================

A kernel model is a sum over the rows that it has seen, so a row costs more the longer the stream is. That is why
budgets exist. For sums of curves there is another way: the sums over all points on the left, and on the right, of a
value are kept in a tree, and a row costs the logarithm of the number of points.
"""

# %%
# The same learner, gradient descent, with two kernels: a Gaussian, whose sum is computed term by term, and cubic
# splines, one for each input. Every row becomes a point.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, looks, name_ends

SPLINES, GAUSSIAN = 2_000_000, 32_000  # rows


def stream(rows, block):
    """Blocks of rows: a sine of one input, with noise."""
    rng = np.random.default_rng(0)
    for _ in range(rows // block):
        X = rng.random((block, 1))
        yield X, np.sin(6.0 * X[:, 0]) + 0.1 * rng.normal(size=block)


def learner(kernel):
    return onkel.NORMA(kernel, loss=onkel.Square(), step=0.02, lam=0.0)


splines = onkel.prequential(learner(onkel.Additive(onkel.Spline(domain=(0.0, 1.0)))), stream(SPLINES, 4_000))
gaussian = onkel.prequential(learner(onkel.Gaussian(width=0.1)), stream(GAUSSIAN, 1_000))


def cost(trace):
    """The number of points, and the microseconds of a row: medians of blocks, in bins that double."""
    rows, seconds = np.array(trace.rows_at), np.array(trace.seconds_at)
    middle, each = 0.5 * (rows[1:] + rows[:-1]), 1e6 * np.diff(seconds) / np.diff(rows)
    bins = np.floor(2.0 * np.log2(middle)).astype(int)
    return np.array([[np.median(part[bins == k]) for k in np.unique(bins)] for part in (middle, each)])


for name, trace in (("splines", splines), ("Gaussian", gaussian)):
    points, each = cost(trace)
    print(
        f"{name:8} {trace.rows:9,} points in {trace.seconds:4.1f} s, {trace.nbytes / 1e6:2.0f} MB; the last {each[-1]:.2f} µs a row"
    )

# %%
# The dashed line goes on as the sum does, in proportion to the number of points.

with looks():
    figure, axes = plt.subplots()
    (points, each), (few, slow) = cost(splines), cost(gaussian)
    per_point = slow[-1] / few[-1]
    axes.plot(few, slow, color=Light.OTHERS[0])
    axes.plot([few[-1], SPLINES], [slow[-1], per_point * SPLINES], "--", color=Light.OTHERS[0], label="Gaussian: term by term")
    axes.plot(points, each, color=Light.LEARNER, label="splines: in trees")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(2_000, SPLINES)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.set_xlabel("points kept")
    axes.set_ylabel("microseconds a row")
    name_ends(axes)
    headline(
        figure,
        f"{SPLINES:,} points, all kept, and a row takes {each[-1]:.1f} µs",
        f"a term-by-term sum of as many points would take {per_point * SPLINES / 1000:.1f} ms",
    )
