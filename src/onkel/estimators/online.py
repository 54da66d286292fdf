"""What both estimators share: the methods of scikit-learn and River on top of a `Model`, rows whose labels come later, and
files."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from onkel._inputs import check_weight
from onkel._types import Vector
from onkel.combine.assembly import DEFAULT
from onkel.combine.settings import changed, inside
from onkel.data.labels import is_missing
from onkel.data.records import of_rows
from onkel.data.table import Labels, Origin, Table
from onkel.errors import InputError
from onkel.estimators import files, tables
from onkel.estimators.settings import described, refuse_names
from onkel.estimators.tables import is_table
from onkel.model import Model, State
from onkel.model import waiting as later
from onkel.state import filled, leaves, nbytes

_PLACE = "X, row {} (counted from 0)".format

Row = Mapping[Any, Any] | ArrayLike


class Online(BaseEstimator):
    """An estimator that can always continue to learn. `model_` is the `Model` that turns rows into answers, `state_` its state."""

    task: str
    learner: Any
    columns: Sequence[str] | None
    waiting: int
    shuffle: bool
    seed: int
    epochs: int
    feature_names_in_: Any
    model_: Model
    state_: State

    # --- settings

    def __new__(cls, *given: Any, **settings: Any) -> Self:
        """A new estimator; if River was imported before, its metrics and its evaluation take it as a model."""
        if "river.base" in sys.modules:
            from onkel.estimators.river_models import register

            register()
        made: Self = super().__new__(cls)
        return made

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings; with `deep` also those of the learner, by long names such as learner__lam."""
        params: dict[str, Any] = super().get_params(deep=False)
        return params | inside(self._learner, "learner") if deep else params

    def set_params(self, **params: Any) -> Self:
        """Change settings, including those of the learner. They take effect at the next `fit`."""
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

    def _model(self) -> Model:
        """The model that the settings describe."""
        return described(self)

    # --- what it has learnt

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    # --- what River asks of every model

    _supervised = True

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """River's word for `sklearn.base.clone`: a new estimator with these settings; with `include_attributes` also what was
        learnt."""
        made: Self = copy.deepcopy(self) if include_attributes else clone(self)
        return made.set_params(**new_params or {})

    @property
    def _raw_memory_usage(self) -> int:
        """The bytes of what was learnt; River asks for this."""
        return nbytes(self.state_) if hasattr(self, "state_") else 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    @property
    def notes_(self) -> list[str]:
        """What the user should know, one sentence each: inputs that were limited, keys that were ignored, labels that came too
        late."""
        check_is_fitted(self)
        notes = self.model_.notes(self.state_)
        if self.too_late_:
            notes.append(f"{self.too_late_} labels came for rows that were no longer stored (a larger waiting=… stores more)")
        return notes

    @property
    def too_late_(self) -> int:
        """Labels that came for rows that were no longer kept."""
        return self._waiting_rows.too_late

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copy the arrays of an unpickled state. They may be mapped from a file (joblib's mmap_mode), which compiled code cannot
        use."""
        super().__setstate__(state)
        if "state_" in state:
            inner = self.state_.inner
            values = {name: np.array(value) if isinstance(value, np.ndarray) else value for name, value, _ in leaves(inner)}
            self.state_.inner = filled(inner, values)

    def _forget(self) -> None:
        for name in ("state_", "model_", "n_features_in_", "feature_names_in_", "waiting_"):
            self.__dict__.pop(name, None)

    def _describe(self) -> None:
        """The columns, for scikit-learn."""
        if len(names := self._names()) != self.__dict__.get("n_features_in_"):
            self.n_features_in_ = len(names)
            if self.state_.encoder.grows or self.columns is not None or hasattr(self, "feature_names_in_"):
                self.feature_names_in_ = np.array(names, dtype=object)

    def _names(self) -> list[str]:
        """The names of all columns so far, also of those of a data frame that are not inputs; those that came late at the end."""
        encoder, known = self.state_.encoder, self.__dict__.get("feature_names_in_", ())
        columns = [column.name for column in encoder.columns]
        return list(dict.fromkeys([*(columns if encoder.grows else [*known, *columns]), *self.state_.encoded.late]))

    # --- many rows

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn these rows: scaled by the mean and deviation of all of them (dicts: of the rows so far),
        and in a random order if `shuffle`."""
        with self._whole():
            self._forget()
            model = self._model()
            rows, weight = self._given_rows(X, y, sample_weight, first=True)
            self.model_, self.state_ = model, model.fit(rows, weight, self.seed if self.shuffle else None, self.epochs)
            self._describe()
        return self

    def _learn(self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: Sequence[Any] | None = None) -> Self:
        with self._whole():
            model, first = self._model(), not hasattr(self, "state_")
            rows, weight = self._given_rows(X, y, sample_weight, first)
            if first:
                self.model_, self.state_ = model, model.init(rows)
            if classes is not None:
                self.model_.add_classes(self.state_, [one.item() if isinstance(one, np.generic) else one for one in classes])
            self.model_.update(self.state_, rows, weight)
            self._describe()
        return self

    def _given_rows(self, X: Any, y: Any, sample_weight: ArrayLike | None, first: bool) -> tuple[Any, Vector | None]:
        """The checked rows with their labels in the form that `Model` takes, and the checked weights."""
        X = self._checked(X, first)
        y = self._checked_labels(X, y)
        weight = None if sample_weight is None else check_weight(sample_weight, len(y))
        if first and weight is not None and not weight.any():
            raise InputError("all weights are zero: there is nothing to learn")
        return self._as_rows(X, y), weight

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """If the call fails, the estimator's attributes are restored. The state itself is always sound (see `onkel.turns`)."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            if hasattr(self, "state_"):
                self._describe()
            raise

    def _checked(self, X: Any, first: bool = False) -> Any:
        """The rows after scikit-learn's checks: a table stays a table, anything else becomes an array of numbers."""
        if is_table(X):
            return tables.checked(self, X, first)
        if isinstance(X, Mapping) and not scipy.sparse.issparse(X):  # SciPy's DOK matrix is a dict too
            raise InputError("X is a dict, which is one row: give it to learn_one or predict_one, or a list of rows here, [row]")
        refuse_names(self)
        try:
            return validate_data(self, X, reset=first, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise InputError(f"X holds text ({error}); an array holds numbers only, give a DataFrame or a list of dicts") from None

    def _checked_labels(self, X: Any, y: Any) -> Any:
        """The labels after scikit-learn's checks, one for each row."""
        example = "fit(table.drop(columns='price'), table['price'])"
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None; for example: {example}")
        if isinstance(y, str):
            raise InputError(f"y must be the labels, not the name of a column; for example: {example.replace('price', y)}")
        numbers = {"multi_output": self._learner.multi_output, "y_numeric": True} if self.task == "regression" else {}
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        return check_X_y(np.zeros((rows, 1)), y, estimator=self, **numbers)[1]

    def _as_rows(self, X: Any, y: Any = None) -> Any:
        """Checked rows, with their labels if these are given, in the form that `Model` takes."""
        if is_table(X):
            return X if y is None else (X, self._labels(y))
        return self._table(X, y)

    def _table(self, X: Any, y: Any = None, origin: Origin | None = None) -> Table:
        """A `Table` of rows of numbers, with their labels if these are given."""
        if hasattr(self, "state_"):
            late = self.state_.encoded.late
            names = tuple(name for name in self._names() if name not in late)
            if len(self.state_.encoder.names_of_numbers) < len(self.state_.encoder.columns):
                raise InputError(
                    "some columns of this estimator are strings or dates, which an array cannot hold; give a DataFrame or dicts"
                )
        else:
            names, late = tuple(self.__dict__.get("feature_names_in_", [f"x{j}" for j in range(X.shape[1])])), []
        X = scipy.sparse.csr_array(X) if scipy.sparse.issparse(X) else X
        took = {name: X[:, len(names) + k] for k, name in enumerate(late)}
        labels, origin = None if y is None else self._labels(y), origin or Origin(X.shape[0], 0, _PLACE)
        return Table(names, X[:, : len(names)] if late else X, {}, {}, (origin,), took, labels)

    def _labels(self, y: Any) -> Labels:
        """Labels in the form that `Model` takes."""
        raise NotImplementedError

    def _scores(self, X: Any) -> Vector:
        """The scores of rows that may come at any time."""
        check_is_fitted(self)
        return self.model_.scores_any(self.state_, self._as_rows(self._checked(X)))[0]

    # --- single rows

    def learn_one(self, x: Row, y: Any, w: float = 1.0) -> None:
        """Learn one row, a dict or an array, with the weight `w`. New keys become new columns; for missing keys the mean of their
        column is filled in."""
        if w == 1.0 and self._is_known(x) and self.model_.update_usual(self.state_, (x, y)):
            return
        self._learn_one(self._given(x), y, w)

    def _is_known(self, x: Row) -> bool:
        """Whether rows were learnt before that were like this one: dicts with names, or arrays without."""
        known = self.__dict__
        return "state_" in known and (type(x) is not dict or "feature_names_in_" in known)

    def _scores_one(self, x: Row) -> Vector | None:
        """The scores of one row by the quick way (`model/single.py`); None if the row needs the long way."""
        return self.model_.scores_usual(self.state_, x) if self._is_known(x) else None

    def _learn_one(self, x: later.Row, y: Any, weight: float, lagged: tuple[float, ...] | None = None) -> None:
        y = y.item() if isinstance(y, np.generic) and y.ndim == 0 else y
        if is_missing(y):
            raise InputError(f"y is {y}, which is no label; a row without a label can wait for it: predict_one(x, id=...)")
        rows = self._rows(x, y)
        if weight == 0.0:
            return
        if hasattr(self, "state_"):
            self.model_.update(self.state_, rows, None if weight == 1.0 else [weight], lagged)
        else:
            if not len(x):
                raise InputError("the first row has no keys; give at least one")
            model = self._model()
            state = model.init(rows)
            model.update(state, rows, None if weight == 1.0 else [weight], lagged)
            self.model_, self.state_ = model, state
        self._describe()

    def _rows(self, x: later.Row, y: Any = None) -> Any:
        """One row, with its label if there is one, in the form that `Model` takes."""
        if isinstance(x, dict):
            return x if y is None else (x, y)
        first = self.state_.rows if hasattr(self, "state_") else 0
        return self._table(x.reshape(1, -1), None if y is None else [y], Origin(1, first, of_rows))

    def _given(self, x: Row) -> later.Row:
        """A checked copy of one row, which the caller may change afterwards."""
        fitted = hasattr(self, "state_")
        if isinstance(x, Mapping):
            if fitted and not hasattr(self, "feature_names_in_"):
                raise InputError(
                    "the rows before this one were arrays without names; give arrays, or make a new estimator for dicts"
                )
            row = {name if isinstance(name, str) else str(name): value for name, value in x.items()}
            if len(row) < len(x):
                raise InputError("two keys of x are the same when written as strings; rename one")
            return row
        refuse_names(self)
        if (values := np.array(x, dtype=np.float64)).ndim != 1:
            raise InputError(f"a row is a dict or an array of one dimension, got shape {values.shape}; partial_fit takes many rows")
        if fitted and len(values) != self.n_features_in_:
            raise InputError(f"x has {len(values)} values, the rows before it had {self.n_features_in_}")
        return values

    # --- labels that come later

    @property
    def _waiting_rows(self) -> later.WaitingRows:
        rows: later.WaitingRows = self.__dict__.setdefault("waiting_", later.WaitingRows())
        return rows

    def _wait(self, id: Hashable, x: later.Row) -> None:
        if id is not None:
            known = self.model_.remember(self.state_).tolist() if hasattr(self, "state_") else ()
            self._waiting_rows.keep(id, later.Waiting(x, tuple(known)), self.waiting)

    def learn_late(self, id: Hashable, y: Any, w: float = 1.0) -> bool:
        """Learn the row that was predicted under this id, with the weight `w`, now that its label has come; each id is learnt once.

        Returns False, and learns nothing, if no row waits under this id. At most `waiting` rows wait; if there are more, the oldest
        is dropped. A learner with lags is given the labels that were known when the row was predicted.
        """
        rows = self._waiting_rows
        if id not in rows:
            rows.too_late += 1
            return False
        self._learn_one(self._given(rows[id].row), y, w, rows[id].lagged)
        del rows[id]
        return True

    # --- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one `.onkel` file. `load` of the same class reads it; the estimator then continues to the same
        bits."""
        check_is_fitted(self)
        files.write(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        kernels: dict[str, Callable[..., Any]] | None = None,
        bases: dict[str, Callable[..., Any]] | None = None,
    ) -> Self:
        """The estimator that `save` wrote. The user's own kernels and bases must be passed by name."""
        return files.loaded(cls, path, kernels, bases)
