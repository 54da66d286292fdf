"""Puts the wrappers around the user's learner; the only place that does.

    Intervals( Lagged( Scaled( Calibrated( OneVsRest( learner ) ) ) ) )

Intervals    regression
Lagged       if earlier labels are inputs, and the learner has no `lags` of its own as `Auto` has
Scaled       always: it also fills in missing values, and adds columns during the first rows
Calibrated   classification by `Auto`: its scores are probabilities. Other learners keep their own decisions, as in their papers
OneVsRest    one-hot labels (`Classes`), and a learner with one output
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
LEAST_CLASSES = 2  # outputs to begin with where labels are classes: one output alone is a number, or ±1
WRAPPERS = Intervals, Lagged, Scaled, Calibrated, OneVsRest  # the outermost first


def assembled(
    learner: Any, task: str, one_hot: bool = False, inputs: bool = True, targets: bool = True,
    lags: int | None = None, late: bool = False,
) -> Any:  # fmt: skip
    """The learner in its wrappers.

    one_hot   the labels are classes, one column each
    inputs    standardise them, and `targets`, where they are numbers; not for a learner that does so itself
    lags      earlier labels that become inputs; None: as the learner itself is set
    late      columns may still come during the first rows, which are kept
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
    """Whose scores these are, by which `probabilities` makes probabilities of them."""
    return part(whole, Calibrated) or bare(whole)


def part(whole: Any, kind: type) -> Any:
    """The wrapper of this kind; None where there is none."""
    for wrapper in WRAPPERS:
        if isinstance(whole, wrapper):
            if wrapper is kind:
                return whole
            whole = whole.learner
    return None


def lags_of(whole: Any) -> int:
    """How many earlier labels are inputs."""
    lagged = part(whole, Lagged) or bare(whole)
    return lagged.lags if isinstance(lagged, Auto | Lagged) else 0


def called(learner: Any) -> str:
    """A learner's name, and the settings that are not the usual ones."""
    usual = type(learner)()
    other = [field.name for field in dataclasses.fields(learner) if getattr(learner, field.name) != getattr(usual, field.name)]
    settings = ", ".join(f"{name}={getattr(learner, name)!r}" for name in other)
    return f"{type(learner).__name__}({settings})" if settings else type(learner).__name__


def _scales_itself(learner: Any) -> bool:
    return bool(getattr(learner, "scales_itself", False))


def _scales_inputs(learner: Any) -> bool:
    """Also where its features begin with the same scales."""
    features = getattr(learner, "features", ())
    first = features[0] if isinstance(features, tuple) and features else features
    return _scales_itself(learner) or isinstance(first, Standardize)
