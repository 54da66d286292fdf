"""
How does it compare with River's forest?
========================================

River's adaptive random forest is what many people take for a stream of tables: it needs no scaling, bends as it must,
and forgets. Here both run in River's own pipeline, one row at a time, and are scored by River's own metric.
"""

# %%
# Patches of outdoor pictures: brick, sky, foliage, cement, window, path or grass? ``onkel.to_river`` makes a River
# model of an estimator; it stands in pipelines like any other.

import time

import matplotlib.pyplot as plt
import numpy as np
from river import datasets, forest, linear_model, metrics, multiclass, preprocessing

import onkel
from onkel.measure.row_losses import windowed
from onkel.report.palette import Light
from onkel.report.style import along_rows, headline, looks, name_ends

pipelines = {
    "Auto": onkel.to_river(onkel.Classifier()),
    "PKAWV": onkel.to_river(onkel.Classifier(onkel.PKAWV())),
    "forest of ten trees": forest.ARFClassifier(n_models=10, seed=0),
    "logistic regression": preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
}
stream = list(datasets.ImageSegments())
wrong, seconds = {}, {}
for name, model in pipelines.items():
    metric, wrong[name], began = metrics.Accuracy(), np.empty(len(stream)), time.process_time()
    for t, (row, label) in enumerate(stream):
        answer = model.predict_one(row)
        model.learn_one(row, label)
        metric.update(label, answer)
        wrong[name][t] = answer != label
    seconds[name] = time.process_time() - began
    print(f"{name:28} {metric}, {1000 * seconds[name] / len(stream):.2f} ms a row")

# %%
# The share of mistakes among the last rows, and beside the names the time of a row, prediction and learning together.
# Called with many rows at a time, as by ``onkel.prequential``, onkel's learners cost a fraction of that.

WINDOW = 300
colours = dict(zip(pipelines, (Light.LEARNER, *Light.OTHERS), strict=False))
with looks():
    figure, axes = plt.subplots()
    for name in pipelines:
        shown = np.arange(50, len(stream), 5)
        label = f"{name}: {1000 * seconds[name] / len(stream):.1f} ms"
        axes.plot(shown + 1, windowed(wrong[name], WINDOW)[shown], color=colours[name], label=label)
    axes.set_ylim(0.0, 0.5)
    axes.set_xlim(0, len(stream))
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_ylabel(f"mistakes in the last {WINDOW} rows")
    along_rows(axes)
    name_ends(axes)
    share = wrong["Auto"].mean() / wrong["forest of ten trees"].mean()
    headline(
        figure,
        f"Auto makes {share:.0%} of the mistakes of River's forest",
        f"{len(stream):,} image segments of seven classes, no model tuned; ms: processor time of a row",
    )
