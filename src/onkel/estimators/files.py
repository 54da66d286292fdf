"""Estimators as `.onkel` files: their model and state, with their settings and the rows that wait for labels beside them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from onkel.errors import FileError, InputError
from onkel.model import Model, State
from onkel.model import waiting as later
from onkel.persist.checkpoint import Extra, read, save

if TYPE_CHECKING:
    from onkel.estimators.online import Online

T = TypeVar("T", bound="Online")
Functions = dict[str, Callable[..., Any]]


def write(estimator: Online, path: str | os.PathLike[str]) -> None:
    later.plain("label", estimator.state_.labels)
    about = {
        "type": type(estimator).__name__,
        "default": estimator.learner is None,
        "settings": {name: value for name, value in estimator.get_params(deep=False).items() if name != "learner"},
        "named": hasattr(estimator, "feature_names_in_"),
        "names": list(getattr(estimator, "feature_names_in_", ())),
        "too_late": estimator.too_late_,
        "waiting": estimator._waiting_rows.packed(),
    }
    save(path, estimator.model_, estimator.state_, Extra(about, {}))


def loaded(kind: type[T], path: str | os.PathLike[str], kernels: Functions | None, bases: Functions | None) -> T:
    """The estimator of this class that `write` wrote."""
    model, state, extra = read(path, kernels, bases)
    if extra is None or extra.about.get("type") != kind.__name__:
        held = "a bare learner, or a model; onkel.load reads it" if extra is None else f"a {extra.about.get('type')!r:.60}"
        if extra is not None and "run" in extra.about:
            held = "a model of the command line, for onkel predict (onkel.load reads it)"
        raise FileError(f"cannot load {path}: it holds {held}, not a {kind.__name__}")
    try:
        return _estimator(kind, model, state, extra.about)
    except Exception as error:  # whatever a hostile file can provoke
        raise FileError(
            f"cannot load {path}: its contents do not describe a {kind.__name__} ({type(error).__name__}: {error})"
        ) from error


def _estimator(kind: type[T], model: Model, state: State, about: dict[str, Any]) -> T:
    if "learner" in about["settings"]:
        raise InputError("its settings name a learner, but the learner is stored with the model")
    estimator = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in about["settings"].items()})
    estimator.learner = None if about["default"] else model.learner
    if model != estimator._model():
        raise InputError("its model does not fit its settings")
    estimator.model_, estimator.state_ = model, state
    if about["named"] is True:
        estimator.feature_names_in_ = np.array(about.get("names") or estimator._names(), dtype=object)
        if not {column.name for column in state.encoder.columns} <= {*estimator.feature_names_in_}:
            raise InputError("the names of its columns do not fit its model")
    estimator._describe()
    estimator.waiting_ = later.WaitingRows.unpacked(about["waiting"], len(model.remember(state)), int(about["too_late"]))
    return estimator
