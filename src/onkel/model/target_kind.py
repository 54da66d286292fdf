"""Decides what is predicted: numbers, two classes, or any number of classes. The user's settings, the first rows and the learner
decide."""

from __future__ import annotations

from typing import Any

from onkel.data.table import Strings
from onkel.errors import InputError
from onkel.model.stream import Stream
from onkel.model.target import Classes, Label, Signs, Target, numbered, two_labels
from onkel.protocol import tasks_of

MOST_NUMBERED = 50  # a learner that knows only classes takes at most this many different whole numbers as classes


def recognised(opened: Stream, task: str | None, labels: tuple[Label, Label] | None, learner: Any) -> Target:
    """The target of a stream. `task` and `labels` are the user's settings, None if the user has given none."""
    name, sample = opened.target.name, opened.sample
    is_text = isinstance(sample.cells(name), Strings)
    if task == "regression" and (is_text or labels is not None):
        raise InputError(f"{opened.name}: the target {name!r} has labels, not numbers; predict another column")
    if labels is not None:
        return opened.target
    if is_text or task == "classification":
        return Classes(name, is_text)
    if task == "regression" or opened.target.outputs > 1:
        return opened.target
    if (two := two_labels(sample, name)) is not None:
        return Signs(name, *two)
    only_classes = tasks_of(learner) == {"classification"}
    return Classes(name, text=False) if only_classes and numbered(sample, name, MOST_NUMBERED) else opened.target
