"""What both estimators share: settings, columns by name, rows whose labels come later, files."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from onkel._inputs import check_weight
from onkel._types import Matrix, Vector
from onkel._validate import flag, whole
from onkel.combine.assembly import DEFAULT, bare
from onkel.combine.inner import takes_sparse
from onkel.combine.scaled import FIRST_ROWS, There
from onkel.errors import FileError, InputError
from onkel.estimators.params import changed, inside
from onkel.estimators.waiting import Given, Waiting, packed, plain, unpacked
from onkel.persist.checkpoint import Extra, read, save
from onkel.protocol import is_learner, suited
from onkel.state import filled, leaves

ROWS_AT_ONCE = 4096  # of a sparse matrix
MOST_REPEATS = 1000  # of a row, for a learner that has no weights

Row = Mapping[Any, Any] | ArrayLike


class Online(BaseEstimator):
    """An estimator that goes on learning. `state_` is what it has learnt, `model_` the learner whose state that is."""

    task: str
    learner: Any
    standardize: bool
    spare: int
    waiting: int
    model_: Any
    state_: Any

    # --- settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings; with `deep` also those of the learner, by long names such as learner__lam."""
        params: dict[str, Any] = super().get_params(deep=False)
        return params | inside(self._learner, "learner") if deep else params

    def set_params(self, **params: Any) -> Self:
        """Change settings, the learner's too; they are heeded by the next `fit`."""
        own = {name: value for name, value in params.items() if "__" not in name}
        theirs = {name.removeprefix("learner__"): value for name, value in params.items() if name not in own}
        if wrong := [name for name in params if name not in own and not name.startswith("learner__")]:
            raise InputError(f"{type(self).__name__} has no setting {wrong[0]!r}; those inside the learner begin with learner__")
        super().set_params(**own)
        if theirs:
            self.learner = changed(self._learner, theirs)
        return self

    @property
    def _learner(self) -> Any:
        return DEFAULT if self.learner is None else self.learner

    @property
    def _own_learner(self) -> Any:
        """A copy for this task: a config remembers what it has worked out, and the user's object is not to change."""
        return suited(copy.deepcopy(self._learner), self.task)

    def _model(self, named: bool) -> Any:
        """The learner in its wrappers, for rows whose columns have names or have none."""
        raise NotImplementedError

    def _check_settings(self) -> None:
        if not is_learner(self._learner):
            raise InputError(f"learner must be one of onkel's learners, such as onkel.PKAWV(), or None, got {self.learner!r:.200}")
        suited(self._learner, self.task)  # which refuses what it cannot do
        flag(self, "standardize")
        whole(self, "spare", least=0, most=2**20)
        whole(self, "waiting", least=0)

    # --- what it has learnt

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def notes_(self) -> list[str]:
        """What a person should know: guards that fired, keys that were passed over, labels that came too late."""
        check_is_fitted(self)
        notes: list[str] = self.model_.notes(self.state_)
        if self._passed_over:
            notes.append(
                f"{self._passed_over} values had keys that first came after {FIRST_ROWS} rows and were passed over "
                "(spare=… keeps columns free for such keys)"
            )
        if self._too_late:
            notes.append(f"{self._too_late} labels came for rows that were no longer kept (waiting=… keeps more)")
        return notes

    def __setstate__(self, state: dict[str, Any]) -> None:
        """An unpickled state may lie in a file (joblib's mmap_mode): compiled code wants arrays of its own."""
        super().__setstate__(state)
        if "state_" in state:
            values = {name: np.array(value) if isinstance(value, np.ndarray) else value for name, value, _ in leaves(self.state_)}
            self.state_ = filled(self.state_, values)

    def _forget(self) -> None:
        for name in ("state_", "model_", "n_features_in_", "feature_names_in_", "waiting_", "_names", "_passed_over", "_too_late"):
            self.__dict__.pop(name, None)

    def _begin(self, model: Any, names: list[Hashable] | None, dim: int, outputs: int) -> None:
        self.model_, self.state_ = model, model.init(dim if names is None else dim + self.spare, outputs)
        self._names = None if names is None else {name: k for k, name in enumerate(names)}
        self._passed_over = self._too_late = 0
        self._tell_columns(dim)

    def _tell_columns(self, count: int) -> None:
        self.n_features_in_ = count
        if self._names is not None and all(isinstance(name, str) for name in self._names):
            self.feature_names_in_ = np.array(list(self._names), dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    # --- blocks

    def _checked(self, X: Any, y: Any = "no_validation", first: bool = False, **how: Any) -> Any:
        """X (and y) as scikit-learn wants them."""
        try:
            return validate_data(self, X, y, reset=first, accept_sparse="csr", dtype=np.float64, **how)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            strings = [name for name in getattr(X, "columns", ()) if not _are_numbers(X[name])]
            where = f"column {strings[0]!r} of X" if strings else "X or y"
            raise InputError(
                f"{where} holds text ({error}); encode it first, as scikit-learn's OneHotEncoder does, or let "
                "onkel.Model(target=…) encode the table"
            ) from None

    def _blocks(self, X: Any) -> Iterator[tuple[slice, Any, There | None]]:
        """X in pieces as wide as the state, dense unless the learner takes sparse ones. Columns that nobody has had are missing."""
        width, is_sparse = self.state_.dim, scipy.sparse.issparse(X)
        stays_sparse = is_sparse and takes_sparse(self.model_) and X.shape[1] == width
        step = ROWS_AT_ONCE if is_sparse else max(1, X.shape[0])
        for start in range(0, X.shape[0], step):
            now = slice(start, start + step)
            if stays_sparse:
                yield now, X[now], None
                continue
            rows = X[now].toarray() if is_sparse else X[now]
            there = None
            if rows.shape[1] < width:
                there = np.zeros((len(rows), width), dtype=bool)
                there[:, : rows.shape[1]] = True
                rows = np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
            yield now, rows, there

    def _learn_blocks(self, X: Any, Y: Matrix, weight: Vector) -> None:
        for now, rows, there in self._blocks(X):
            self.model_.learn(self.state_, rows, Y[now], weight[now], there=there)

    def _scores(self, X: Any) -> Matrix:
        """(n, outputs), for rows that may come at any time."""
        parts = [self.model_.predict_any(self.state_, rows, there=there) for _, rows, there in self._blocks(X)]
        return np.concatenate(parts).reshape(X.shape[0], self.state_.outputs)

    def _weighed(self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None) -> tuple[Any, NDArray[Any], Vector]:
        """Rows to learn: those of weight 0 left out; for a learner without weights, those of weight 3 three times."""
        if sample_weight is None:
            return X, y, np.ones(len(y))
        weight = check_weight(sample_weight, len(y))
        times = np.where(weight > 0.0, 1, 0)
        if not self._learner.multi_output and np.all(weight == np.floor(weight)) and np.all(weight <= MOST_REPEATS):
            times, weight = weight.astype(int), np.minimum(weight, 1.0)
        which = np.repeat(np.arange(len(y)), times)
        return X[which], y[which], weight[which]

    def _weights(self, weight: float) -> list[Vector | None]:
        """The weights of one row, as often as it is to be learnt."""
        if weight == 1.0:
            return [None]
        _, _, weights = self._weighed(np.zeros((1, 1)), np.zeros(1), np.array([weight]))
        return list(weights.reshape(-1, 1))

    # --- single rows

    def _row(self, x: Given) -> tuple[Matrix, There | None]:
        """One row as wide as the state; keys that it does not know are passed over."""
        if not isinstance(x, dict):
            rows = x.reshape(1, -1)
            if rows.shape[1] != self.n_features_in_:
                raise InputError(f"x has {rows.shape[1]} values, the rows before it had {self.n_features_in_}")
            ((_, block, there),) = self._blocks(rows)
            return block, there
        if self._names is None:
            raise InputError("the rows before this one were arrays without names; give arrays, or begin again with dicts")
        row, there = np.zeros((1, self.state_.dim)), np.zeros((1, self.state_.dim), dtype=bool)
        for name, value in x.items():
            if (column := self._names.get(name)) is not None:
                row[0, column], there[0, column] = value, True
        return row, there

    def _admit(self, x: Given) -> None:
        """Make room for the keys of a row that is to be learnt."""
        if not isinstance(x, dict) or self._names is None or self._names.keys() >= x.keys():
            return
        if self.model_.keeps_rows(self.state_):
            names = sorted({*self._names, *x}, key=_order)
            at = {name: k for k, name in enumerate(names)}
            spare = self.state_.dim - len(self._names)
            places = [at[name] for name in self._names] + list(range(len(names), len(names) + spare))
            self.model_.rearrange(self.state_, len(names) + spare, places)
            self._names = at
        else:
            new = sorted(x.keys() - self._names.keys(), key=_order)
            for name in new[: self.state_.dim - len(self._names)]:
                self._names[name] = len(self._names)
            self._passed_over += sum(name not in self._names for name in new)
        self._tell_columns(len(self._names))

    def _first_columns(self, x: Given) -> tuple[list[Hashable] | None, int]:
        """The names and the number of columns that a stream with this first row begins with."""
        if not isinstance(x, dict):
            return None, len(x)
        if not x:
            raise InputError("the first row has no keys; give at least one")
        return sorted(x, key=_order), len(x)

    # --- labels that come later

    def _wait(self, id: Hashable, x: Given) -> None:
        if id is None:
            return
        rows = self.__dict__.setdefault("waiting_", {})
        rows.pop(id, None)
        rows[id] = Waiting(x.copy(), tuple(self._remembered().tolist()))
        while len(rows) > self.waiting:
            del rows[next(iter(rows))]

    def _remembered(self) -> Vector:
        """What the next row would know of earlier labels."""
        return self.model_.remember(self.state_) if hasattr(self, "state_") else np.empty(0)

    def _known_then(self, lagged: tuple[float, ...]) -> dict[str, Matrix]:
        """What a row is learnt with that has waited: 0 where nothing was known yet."""
        known = np.zeros((1, len(self._remembered())))
        known[0, : len(lagged)] = lagged
        return {"lagged": known} if known.size else {}

    def learn_late(self, id: Hashable, y: Any, weight: float = 1.0) -> bool:
        """Learn the row that was predicted under this id, now that its label has come; each id is learnt once.

        At most `waiting` rows wait, then the oldest gives way. False: there is no such row (any more), and nothing was learnt.
        A learner with lags is given the labels that were known when the row was predicted.
        """
        rows = self.__dict__.get("waiting_", {})
        if id not in rows:
            self._too_late = self.__dict__.get("_too_late", 0) + 1
            return False
        self._learn_one(rows[id].row, y, weight, rows[id].lagged)
        del rows[id]
        return True

    def learn_one(self, x: Row, y: Any, weight: float = 1.0) -> None:
        """Learn one row, a dict of numbers or an array. New keys become new columns; missing ones are taken as their mean."""
        self._learn_one(x, y, weight)

    def _learn_one(self, x: Row, y: Any, weight: float, lagged: tuple[float, ...] | None = None) -> None:
        raise NotImplementedError

    # --- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one `.onkel` file; the class's own `load` reads it, and goes on bit for bit."""
        check_is_fitted(self)
        about: dict[str, Any] = {
            "type": type(self).__name__,
            "default": self.learner is None,
            "settings": {name: value for name, value in self.get_params(deep=False).items() if name != "learner"},
            "names": None if self._names is None else plain("key", list(self._names)),
            "passed_over": self._passed_over,
            "too_late": self._too_late,
            **self._about(),
        }
        about["waiting"], arrays = packed(self.__dict__.get("waiting_", {}), len(self._remembered()))
        save(path, self.model_, self.state_, Extra(about, arrays))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        kernels: dict[str, Callable[..., Any]] | None = None,
        bases: dict[str, Callable[..., Any]] | None = None,
    ) -> Self:
        """The estimator that `save` wrote; a user's own kernels and bases are handed in by name."""
        model, state, extra = read(path, kernels, bases)
        if extra is None or extra.about.get("type") != cls.__name__:
            held = "a bare learner; onkel.load reads it" if extra is None else f"a {extra.about.get('type')!r:.60}"
            if extra is not None and "run" in extra.about:
                held = "a model of the command line, for onkel predict (onkel.load reads its learner and state)"
            raise FileError(f"cannot load {path}: it holds {held}, not a {cls.__name__}")
        try:
            return cls._loaded(model, state, extra)
        except Exception as error:  # whatever a hostile file can provoke
            raise FileError(
                f"cannot load {path}: its contents do not describe a {cls.__name__} ({type(error).__name__}: {error})"
            ) from error

    @classmethod
    def _loaded(cls, model: Any, state: Any, extra: Extra) -> Self:
        about = extra.about
        estimator = cls(**about["settings"])
        if "learner" in about["settings"]:
            raise InputError("its settings speak of another learner")
        estimator.learner = None if about["default"] else bare(model)
        estimator._check_settings()
        names = about["names"]
        if model != estimator._model(names is not None):
            raise InputError("its learner is another than its settings say")
        estimator.model_, estimator.state_ = model, state
        estimator._names = None if names is None else {name: k for k, name in enumerate(plain("key", names))}
        if names is not None and not len(set(names)) == len(names) <= state.dim:
            raise InputError("its columns have other names than it has columns")
        estimator._passed_over, estimator._too_late = int(about["passed_over"]), int(about["too_late"])
        estimator._tell_columns(state.dim if names is None else len(names))
        estimator.waiting_ = unpacked(about["waiting"], extra.arrays, len(estimator._remembered()))
        estimator._recall(about)
        return estimator

    def _about(self) -> dict[str, Any]:
        """What else a file must say."""
        return {}

    def _recall(self, about: dict[str, Any]) -> None: ...


def given(x: Row) -> Given:
    """One row as numbers. A key whose value is None is missing."""
    if isinstance(x, Mapping):
        return {name: _number(name, value) for name, value in x.items() if value is not None}
    if (values := np.asarray(x, dtype=np.float64)).ndim != 1:
        raise InputError(
            f"a row is a dict or an array of one dimension, got shape {values.shape}; for many rows there is partial_fit"
        )
    return values


def _number(name: Hashable, value: Any) -> float:
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(
            f"x[{name!r}] is {value!r:.60}, not a number; encode it, or leave the key out where it is missing"
        ) from None
    if not math.isfinite(number):
        raise InputError(f"x[{name!r}] is {number}; leave the key out, or give None, where a value is missing")
    return number


def _are_numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _order(name: Hashable) -> tuple[str, str]:
    """Columns lie in this order, whatever order the keys came in."""
    return type(name).__name__, str(name)
