"""The settings of an estimator that are settings of its `Model`."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from onkel._validate import flag, whole
from onkel.errors import InputError
from onkel.model import Missing, Model
from onkel.protocol import suited

OF_COLUMNS = ("columns", "without", "text", "dates", "hashed")  # settings that name columns


def described(estimator: Any) -> Model:
    """The model that the settings of an estimator describe. It gets a copy of the learner, since configs cache results and the
    user's object must not change."""
    own = estimator.get_params(deep=False)
    shared = {field.name: own[field.name] for field in dataclasses.fields(Model) if field.name in own}
    model = Model(**{**shared, "task": estimator.task, "learner": copy.deepcopy(estimator._learner)})
    if model.missing is Missing.DROP:
        raise InputError("missing='drop' would leave rows without an answer; drop them before, as in table.dropna()")
    suited(model.learner, estimator.task)  # refuses a learner of the other task
    for name, least in (("waiting", 0), ("seed", 0), ("epochs", 1)):
        whole(estimator, name, least=least)
    flag(estimator, "shuffle")
    return model


def refuse_names(estimator: Any) -> None:
    """Refuse settings that name columns, for rows without names."""
    if named := [name for name in OF_COLUMNS if getattr(estimator, name)]:
        raise InputError(f"{named[0]} names columns, and an array has no names; give a DataFrame or a list of dicts")
