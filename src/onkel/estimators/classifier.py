"""Classifier: a scikit-learn and River classifier made of any learner that learns classes.

`Auto` and the ridge family learn one 0/1 output for each class, with matrices that all outputs share. Every other learner is put
into `OneVsRest`. A class may appear at any time; its output is then exactly what it would be if the class had been known from the
start.

`combine/probabilities.py` says how scores become probabilities, and for which learners this makes sense.

>>> X, y = onkel.data.rings(1000, seed=0)
>>> names = np.where(y > 0, "outer", "inner")
>>> model = onkel.Classifier().fit(X[:500], names[:500])
>>> model.score(X[500:], names[500:]) > 0.95
True
>>> model = onkel.Classifier(onkel.Perceptron())
>>> for row, name in zip(X, names):
...     model.learn_one({"x": row[0], "y": row[1]}, str(name))
>>> model.predict_one({"x": 0.0, "y": 0.0})
'inner'
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from onkel._types import Matrix, Vector
from onkel._validate import spell_checked
from onkel.combine.probabilities import are_probabilities
from onkel.data.labels import classes_of
from onkel.data.table import Labels
from onkel.estimators.online import Online, Row
from onkel.model.target import in_order
from onkel.protocol import is_learner, suited, tasks_of


def _has_probabilities(estimator: Classifier) -> bool:
    """Whether the learner's scores say how likely a class is. Margins, such as those of a perceptron, only say which class it
    is."""
    learner = estimator._learner
    if not is_learner(learner) or "classification" not in tasks_of(learner) or are_probabilities(suited(learner, "classification")):
        return True
    raise AttributeError(f"the scores of {type(learner).__name__} are no probabilities; see decision_function")


@spell_checked
class Classifier(ClassifierMixin, Online):
    """Online classification.

    learner       The learner; None: Auto(), which needs no tuning and accepts inputs of any size even if `standardize` is False.
                  Default: None.
    standardize   Whether inputs are standardised by the rows so far. Default: True.
    labels        Two classes, low and high, and no others: learners of two classes then cost half; None: any number of classes.
                  Default: None.
    columns       The inputs, by name; None: all columns. Default: None.
    without       Columns that are not inputs. Default: ().
    text          Columns of strings although they look like numbers, such as postcodes. Default: ().
    dates         Columns of dates; those that look like dates are found without this. Default: ().
    hashed        Columns of strings of which no value gets a column of its own: for values most of which come later. Default: ().
    cycles        Columns of numbers that begin again, and their periods, as in {"hour": 24}; None: by name and range.
                  Default: None.
    missing       What is done with a missing value: fill in the "mean" of its column so far, or "refuse" it. Default: 'mean'.
    lags          How many of the last labels are inputs of the next row; None: as the learner itself is set. Default: None.
    spare         The number of columns reserved for keys that first appear after 256 rows: one for a number, one for each value of
                  a string. Those that find none are not used, and `notes_` says so. Default: 0.
    waiting       The largest number of rows that wait for their labels (`predict_one(x, id=…)`, then `learn_late(id, y)`).
                  Default: 10_000.
    shuffle       Whether `fit` learns rows in a random order; a learner with lags always learns them in the given order.
                  Default: True.
    seed          The seed of that random order. Default: 0.
    epochs        How often `fit` learns each row; more than once helps simple learners such as `Perceptron`, but not `Auto`.
                  Default: 1.
    """

    task = "classification"
    _multiclass = True  # River asks this

    def __init__(
        self,
        learner: Any = None,
        *,
        standardize: bool = True,
        labels: tuple[Any, Any] | None = None,
        columns: Sequence[str] | None = None,
        without: Sequence[str] = (),
        text: Sequence[str] = (),
        dates: Sequence[str] = (),
        hashed: Sequence[str] = (),
        cycles: Mapping[str, float] | None = None,
        missing: str = "mean",
        lags: int | None = None,
        spare: int = 0,
        waiting: int = 10_000,
        shuffle: bool = True,
        seed: int = 0,
        epochs: int = 1,
    ) -> None:
        self.learner = learner
        self.standardize = standardize
        self.labels = labels
        self.columns = columns
        self.without = without
        self.text = text
        self.dates = dates
        self.hashed = hashed
        self.cycles = cycles
        self.missing = missing
        self.lags = lags
        self.spare = spare
        self.waiting = waiting
        self.shuffle = shuffle
        self.seed = seed
        self.epochs = epochs

    def partial_fit(self, X: Any, y: Any, classes: Sequence[Any] | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn these rows, in order, in addition to all rows before them. `classes` may name classes that have not appeared
        yet."""
        return self._learn(X, y, sample_weight, classes)

    def decision_function(self, X: Any) -> Vector:
        """The scores of the classes in the order of `classes_`; for two classes a single score, which is positive for the second
        class."""
        scores = self._scores(X)
        if scores.shape[1] != 2:
            return scores
        return np.asarray(scores[:, 1] - scores[:, 0]) / (2.0 if self.model_.are_signs(self.state_) else 1.0)  # scale of labels ±1

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row. Rows may come at any time, so a learner with lags does not use the last labels."""
        scores = super()._scores(X)
        codes = self.state_.target.predicted_codes(scores)
        return np.asarray(self.classes_[self._places[codes.astype(int)]])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class, in the order of `classes_`, for each row. Rows may come at any time (see `predict`)."""
        scores = self._scores(X)
        return self.model_.probabilities(self.state_, scores)

    @available_if(_has_probabilities)
    def predict_proba_one(self, x: Row, id: Hashable = None) -> dict[Any, float]:
        """The probability of each class for one row; with an `id` the row waits for `learn_late(id, y)`."""
        scores = self._waiting_scores(x, id)
        if scores is None:
            return {}
        return dict(zip(self._sorted, self.model_.probabilities(self.state_, scores[:, self._order])[0].tolist(), strict=True))

    def predict_one(self, x: Row, id: Hashable = None) -> Any:
        """The class of one row (None before the first row was learnt); with an `id` the row waits for `learn_late(id, y)`."""
        scores = self._waiting_scores(x, id)
        return None if scores is None else self._known[int(self.state_.target.predicted_codes(scores)[0])]

    def _waiting_scores(self, x: Row, id: Hashable) -> Matrix | None:
        """The scores of one row in the model's order of classes; None before the first row was learnt. With an `id` the row
        waits."""
        scores = self._scores_one(x)
        if scores is None or id is not None:
            row = self._given(x)
            if scores is None and hasattr(self, "state_"):
                scores = self.model_.scores(self.state_, self._rows(row))[0]
            self._wait(id, row)
        return None if scores is None else np.asarray(scores)

    def _scores(self, X: Any) -> Matrix:
        scores = super()._scores(X)
        return scores[:, self._order]

    def _checked_labels(self, X: Any, y: Any) -> Any:
        labels = super()._checked_labels(X, y)
        check_classification_targets(labels)
        return labels

    def _forget(self) -> None:
        super()._forget()
        for name in ("classes_", "_known", "_sorted", "_order", "_places"):
            self.__dict__.pop(name, None)

    def _labels(self, y: Any) -> Labels:
        return classes_of(y)

    def _describe(self) -> None:
        """Set the attributes about columns and classes. The model has the classes in the order in which they came; `classes_` is
        sorted."""
        super()._describe()
        known = self.model_.classes(self.state_)
        if self.__dict__.get("_known") != known:
            self._known = known
            self._sorted = in_order(known)
            self._order = [known.index(label) for label in self._sorted]
            self._places = np.argsort(self._order)  # the index in `classes_` of each class of the model
            plain = len(kinds := {type(label) for label in known}) == 1 and kinds <= {str, int, float, bool}
            self.classes_ = np.array(self._sorted) if plain else np.empty(len(known), dtype=object)
            self.classes_[:] = self._sorted
