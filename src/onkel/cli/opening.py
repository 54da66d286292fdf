"""From what the user said to a stream, and what kind of target it has."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from onkel import data
from onkel.cli.options import Inputs, split
from onkel.data.columns import NoColumn, listed
from onkel.data.files import read_again
from onkel.data.target import Classes, Signs, Target, Value, labels_in, two_labels
from onkel.errors import InputError
from onkel.learners.protocol import tasks_of

BLOCK: int | None = None  # rows, as many as suit their width; a run that goes on repeats the same cuts, at its multiples
MOST_NUMBERED = 50  # different whole numbers that a learner of classes alone takes as classes


def opened(inputs: Inputs, learners: Sequence[Any]) -> data.Stream:
    columns, target, written = inputs.columns, inputs.target, inputs.format
    stream = data.read(
        inputs.path,
        target.target,
        BLOCK,
        split(columns.columns),
        target.missing or data.Missing.REFUSE,
        split(columns.text) or (),
        split(columns.dates) or (),
        target.pair(),
        inputs.follow,
        written.format,
        written.header,
        split(columns.without) or (),
        split(columns.hash) or (),
        columns.spare,
        inputs.order,
    )
    return dataclasses.replace(stream, target=_decided(stream, inputs, learners))


def opened_again(inputs: Inputs, encoder: data.Encoder, target: Target | None) -> data.Stream:
    written = inputs.format
    try:
        return read_again(inputs.path, encoder, target, BLOCK, inputs.follow, written.format, written.header, inputs.order)
    except NoColumn as error:
        needed = [column.name for column in encoder.columns] + ([] if target is None else [target.name])
        both = f"the model needs {listed(needed)}, the file has {listed(error.known)}"
        remedy = f"add the column, or rename the one that is meant{error.beside}"
        raise InputError(f"{error.source} has no column {error.column!r}: {both}; {remedy}") from None


def _decided(stream: data.Stream, inputs: Inputs, learners: Sequence[Any]) -> Target:
    """Numbers or classes: as the user says, else as the first rows and the learners suggest."""
    name, task = stream.target.name, inputs.target.task
    is_text = name in stream.sample.texts
    if task == "regression" and (is_text or inputs.target.labels is not None):
        raise InputError(f"{stream.name}: the target {name!r} has labels, not numbers; predict another column")
    if inputs.target.labels is not None:
        return stream.target
    if is_text or task == "classification":
        return Classes(name, is_text)
    two = two_labels(stream.sample, name)
    if task == "auto" and two is not None:
        return Signs(name, *two)
    only_classes = any(tasks_of(learner) == {"classification"} for learner in learners)
    return Classes(name, text=False) if task == "auto" and only_classes and numbered(stream, MOST_NUMBERED) else Value(name)


def numbered(stream: data.Stream, most: int) -> list[float]:
    """The numbers in the target of the first rows, where they are whole and few, as numbers of classes are."""
    found: list[float] = labels_in(stream.sample, stream.target.name)
    return found if len(found) <= min(most, len(stream.sample) // 5) and all(value.is_integer() for value in found) else []
