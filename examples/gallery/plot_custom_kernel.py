"""
Can I say what is near to what?
===============================

A kernel says which rows resemble each other, and nobody knows that better than you: directions of the wind of 359° and
1° are two degrees apart, not 358. With a kernel of your own every learner that needs only kernel values believes you.
"""

# %%
# A wind turbine's power by the direction of the wind, with noise. Rows come from all directions, but few from the
# north, where the numbers jump.

import matplotlib.pyplot as plt
import numpy as np

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, looks

ROWS, NOISE = 400, 0.5
rng = np.random.default_rng(0)
direction = np.degrees(rng.vonmises(np.pi, 0.8, ROWS)) % 360.0


def power(degrees):
    radians = np.radians(degrees)
    return 3.0 + 2.0 * np.cos(radians - 0.6) + np.cos(2.0 * radians)


y = power(direction) + NOISE * rng.normal(size=ROWS)

# %%
# The kernel is a function of two blocks of rows: the exponential of the cosine of the angle between two directions,
# which is a positive definite kernel on the circle. The other learner uses a Gaussian kernel of the numbers, about as
# wide.

WIDTH = 0.6  # radians


def on_the_circle(X, Z):
    angle = np.radians(X - Z.T)
    return np.exp((np.cos(angle) - 1.0) / WIDTH**2)


learners = {
    "CustomKernel(on_the_circle)": onkel.KernelRidge(onkel.CustomKernel(on_the_circle), lam=0.5),
    "Gaussian": onkel.KernelRidge(onkel.Gaussian(width=np.degrees(WIDTH)), lam=0.5),
}
degrees = np.arange(0.0, 360.5, 1.5)
north = np.minimum(degrees, 360.0 - degrees) <= 30.0
fits, error = {}, {}
for name, learner in learners.items():
    state = learner.init(dim=1)
    learner.learn(state, direction[:, None], y)
    fits[name] = learner.predict(state, degrees[:, None])
    off = fits[name] - power(degrees)
    error[name], elsewhere = (np.sqrt(np.mean(off[part] ** 2)) for part in (north, ~north))
    jump = abs(fits[name][0] - fits[name][-1])
    print(f"{name:28} rms error in the north {error[name]:.2f}, elsewhere {elsewhere:.2f}; jump at 0° {jump:.2f}")

# %%
# The axis is cut at the south, so that the north is in the middle. For the Gaussian kernel 0° and 360° are
# far apart, so it learns the north twice, each time from one side only.

turned = np.where(degrees > 180.0, degrees - 360.0, degrees)
order = np.argsort(turned, kind="stable")
with looks():
    figure, axes = plt.subplots()
    axes.plot(np.where(direction > 180.0, direction - 360.0, direction), y, ".", color=Light.MUTED, alpha=0.5, markersize=5)
    axes.plot(turned[order], power(degrees)[order], color=Light.INK, linestyle="--", linewidth=1.3, label="truth")
    for name, colour in zip(learners, (Light.LEARNER, Light.OTHERS[0]), strict=True):
        for side, label in ((degrees <= 180.0, name), (degrees > 180.0, f"_{name}")):
            axes.plot(
                np.where(degrees > 180.0, degrees - 360.0, degrees)[side],
                fits[name][side],
                color=colour,
                label=label,
                linewidth=2.2,
            )
    axes.axvline(0.0, color=Light.MUTED, linestyle=":")
    axes.set_xticks([-180, -90, 0, 90, 180], ["south", "west", "north", "east", "south"])
    axes.set_xlim(-180, 180)
    axes.set_xlabel("direction of the wind")
    axes.set_ylabel("power, in MW")
    axes.legend(loc="upper left")
    mine, theirs = error.values()
    headline(figure, f"On the circle, the error around north is {mine:.2f} MW instead of {theirs:.2f}")
