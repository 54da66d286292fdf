"""
Do I still need a grid search?
==============================

Scikit-learn's tools work with onkel: estimators stand in pipelines, and ``GridSearchCV`` finds their settings by long
names. Such a search learns the data many times, and a stream passes once. How much of its gain does a mixture keep that
has no settings?
"""

# %%
# The diabetes set has few rows and much noise: the worst case for a flexible model, and the case in which a careful
# choice of the ridge pays most.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel
from onkel.report.palette import Light
from onkel.report.style import headline, ink, looks

X, y = load_diabetes(return_X_y=True)
features = onkel.Fourier(count=100, seed=0)
pipeline = make_pipeline(StandardScaler(), onkel.Regressor(onkel.PKAWV(features, awv=False)))
RIDGES, WIDTHS = np.logspace(-2, 3, 11), (1.0, 2.0, 4.0, 8.0, 16.0)
grid = {"regressor__learner__lam": RIDGES, "regressor__learner__features__width": WIDTHS}
search = GridSearchCV(pipeline, grid, scoring="r2", cv=5).fit(X, y)
found = search.cv_results_["mean_test_score"].reshape(len(WIDTHS), len(RIDGES))
print(f"best of {found.size} settings: R² {search.best_score_:.3f} with {search.best_params_}")

# %%
# ``Auto`` has nothing to search. It sees the same folds.

auto = cross_val_score(onkel.Regressor(), X, y, scoring="r2", cv=5).mean()
worse = np.mean(found < auto)
print(f"Auto: R² {auto:.3f}, better than {worse:.0%} of the grid, {search.best_score_ - auto:.3f} below its best")

# %%
# One line for each width, from narrow to wide. What is right for one is wrong for the next; the best setting lies at
# the edge of the grid, as it often does.

shades = plt.get_cmap("cividis")(np.linspace(0.75, 0.0, len(WIDTHS)))
with looks():
    figure, axes = plt.subplots()
    for width, colour, scores in zip(WIDTHS, shades, found, strict=True):
        axes.plot(RIDGES, scores, "o-", color=colour, markersize=4, linewidth=1.4, label=f"width {width:g}")
    axes.axhline(auto, color=Light.LEARNER, linewidth=2.6)
    axes.text(RIDGES[-1], auto + 0.008, "Auto, no search", color=ink(Light.LEARNER), va="bottom", ha="right")
    axes.set_xscale("log")
    axes.set_xlim(RIDGES[0] / 1.3, RIDGES[-1] * 1.3)
    axes.set_ylim(0.0, 0.6)
    axes.set_xlabel("ridge λ")
    axes.set_ylabel("R² in five-fold cross-validation")
    axes.legend(loc="upper right", bbox_to_anchor=(1.0, 0.75))
    headline(
        figure,
        f"Auto beats {worse:.0%} of {found.size} settings; the search gains {search.best_score_ - auto:.3f} in R²",
        "settings with an R² below 0 are not shown",
    )
