"""Puts the wrappers around the user's learner. Only this module does so.

    Intervals( Lagged( Scaled( Calibrated( OneVsRest( learner ) ) ) ) )

Intervals    for regression
Lagged       if earlier labels are inputs, and the learner is not `Auto`, which has `lags` of its own
Scaled       always; it also fills in missing values, and can add columns during the first rows
Calibrated   for classification by `Auto`, whose scores are probabilities. Other learners keep the decisions of their papers
OneVsRest    if labels are one-hot and the learner has only one output
"""

from __future__ import annotations

import dataclasses
from typing import Any

from onkel.combine.auto import Auto
from onkel.combine.calibrated import Calibrated
from onkel.combine.intervals import Intervals
from onkel.combine.lagged import Lagged
from onkel.combine.one_vs_rest import OneVsRest
from onkel.combine.scaled import FIRST_ROWS, Scaled
from onkel.features import Standardize
from onkel.protocol import suited

DEFAULT = Auto()
LEAST_CLASSES = 2  # outputs at the start if labels are one-hot classes, because one output alone is a number, or ±1
WRAPPERS = Intervals, Lagged, Scaled, Calibrated, OneVsRest  # the outermost first


def assembled(
    learner: Any, task: str, one_hot: bool = False, inputs: bool = True, targets: bool = True,
    lags: int | None = None, late: bool = False,
) -> Any:  # fmt: skip
    """The learner in its wrappers.

    one_hot   whether the labels are classes with one column for each
    inputs    whether inputs are standardised, unless the learner does so itself
    targets   whether targets of a regression are standardised, unless the learner does so itself
    lags      how many earlier labels become inputs; None: as many as the learner is set to
    late      whether columns may be added during the first rows, which are stored for that
    """
    learner = suited(learner, task)
    inputs, targets = inputs and not _scales_inputs(learner), targets and task == "regression" and not _scales_itself(learner)
    if lags is not None and isinstance(learner, Auto):
        learner, lags = dataclasses.replace(learner, lags=lags), None
    whole: Any = OneVsRest(learner) if one_hot and not learner.multi_output else learner
    if task == "classification" and isinstance(learner, Auto):
        whole = Calibrated(whole)
    whole = Scaled(whole, inputs, targets, FIRST_ROWS if targets or late else 0)
    if lags:
        whole = Lagged(whole, lags, LEAST_CLASSES if one_hot else 1)
    return Intervals(whole) if task == "regression" else whole


def bare(whole: Any) -> Any:
    """The user's learner, without its wrappers."""
    for kind in WRAPPERS:
        if isinstance(whole, kind):
            whole = whole.learner
    return whole


def scoring(whole: Any) -> Any:
    """The learner or wrapper whose kind of score decides how `probabilities` turns scores into probabilities."""
    return part(whole, Calibrated) or bare(whole)


def part(whole: Any, kind: type) -> Any:
    """The wrapper of this kind; None if there is none."""
    for wrapper in WRAPPERS:
        if isinstance(whole, wrapper):
            if wrapper is kind:
                return whole
            whole = whole.learner
    return None


def lags_of(whole: Any) -> int:
    """The number of earlier labels that are inputs."""
    lagged = part(whole, Lagged) or bare(whole)
    return lagged.lags if isinstance(lagged, Auto | Lagged) else 0


def called(learner: Any) -> str:
    """A learner as Python code, with only the settings that differ from the defaults."""
    other = [field.name for field in dataclasses.fields(learner) if getattr(learner, field.name) != field.default]
    settings = ", ".join(f"{name}={getattr(learner, name)!r}" for name in other)
    return f"{type(learner).__name__}({settings})" if settings else type(learner).__name__


def _scales_itself(learner: Any) -> bool:
    return bool(getattr(learner, "scales_itself", False))


def _scales_inputs(learner: Any) -> bool:
    """Whether the learner standardises its inputs: by itself, or because its features begin with `Standardize`."""
    features = getattr(learner, "features", ())
    first = features[0] if isinstance(features, tuple) and features else features
    return _scales_itself(learner) or isinstance(first, Standardize)
