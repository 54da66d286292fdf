"""Classifier: any learner of classes, as scikit-learn and River know one.

`Auto` and the ridge family learn one 0/1 output a class on shared matrices; every other learner becomes `OneVsRest`. A class may
appear at any time: each then starts exactly where it would be had it been known.

Where probabilities come from, and of which learners they deserve the name, `combine/probabilities.py` says.

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

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from onkel._types import Matrix, Vector
from onkel.combine import OneVsRest
from onkel.combine.assembly import LEAST_CLASSES, assembled, part, scoring
from onkel.combine.probabilities import probabilities
from onkel.errors import InputError
from onkel.estimators.online import Online, Row, given
from onkel.estimators.waiting import Given, plain


class Classifier(ClassifierMixin, Online):
    """Online classification.

    learner       what learns; None: Auto(), which needs no tuning and takes inputs of any size, whatever the next setting says
    standardize   whether inputs are standardised as they come
    spare         columns kept free for keys that appear only after 256 rows; others that come so late are passed over
    waiting       the most rows that wait for their labels (`predict_one(x, id=…)`, then `learn_late(id, y)`)
    """

    task = "classification"

    def __init__(self, learner: Any = None, *, standardize: bool = True, spare: int = 0, waiting: int = 10_000) -> None:
        self.learner = learner
        self.standardize = standardize
        self.spare = spare
        self.waiting = waiting

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn these rows once, in order."""
        self._check_settings()
        self._forget()
        return self.partial_fit(X, y, sample_weight=sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn these rows, in order, besides all rows before them. Classes need not be told; those told need not have come."""
        self._check_settings()
        first = not hasattr(self, "state_")
        rows, labels = self._checked(X, y, first)
        check_classification_targets(labels)
        rows, labels, weight = self._weighed(rows, labels, sample_weight)
        values, codes = np.unique(labels, return_inverse=True)
        classes_now = [*np.asarray([] if classes is None else classes).tolist(), *values.tolist()]
        if first:
            self._begin_with(list(dict.fromkeys(classes_now)), self.__dict__.get("feature_names_in_"), rows.shape[1])
        self._meet(classes_now)
        columns = np.array([self._labels.index(label) for label in values.tolist()], dtype=int)[codes]
        self._learn_blocks(rows, self._coded(columns), weight)
        return self

    def decision_function(self, X: Any) -> Vector:
        """The scores in the order of `classes_`; for two classes one of them, positive for the second class."""
        check_is_fitted(self)
        scores = self._scores(self._checked(X))
        if scores.shape[1] != 2:
            return scores
        return np.asarray(scores[:, 1] - scores[:, 0]) / (2.0 if self._one_vs_rest else 1.0)  # as of labels ±1

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, which may come at any time: a learner with lags does without them."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self._scores(self._checked(X)).argmax(axis=1)])

    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class in the order of `classes_`, for rows that may come at any time."""
        check_is_fitted(self)
        return self._probabilities(self._scores(self._checked(X)))

    def _learn_one(self, x: Row, y: Any, weight: float, lagged: tuple[float, ...] | None = None) -> None:
        label = y.item() if isinstance(y, np.generic) else y
        if label is None or label != label:
            raise InputError(f"y is {label}, which is no class; a row without a label can wait for it: predict_one(x, id=...)")
        if not (weights := self._weights(weight)):
            return
        row = given(x)
        if not hasattr(self, "state_"):
            self._check_settings()
            self._begin_with([label], *self._first_columns(row))
        self._admit(row)
        rows, there = self._row(row)
        self._meet([label])
        coded, more = self._coded(np.array([self._labels.index(label)])), {} if lagged is None else self._known_then(lagged)
        for each in weights:
            self.model_.learn(self.state_, rows, coded, each, there=there, **more)

    def predict_proba_one(self, x: Row, id: Hashable = None) -> dict[Any, float]:
        """The probability of each class for one row; with an `id` the row waits for `learn_late(id, y)`."""
        row = given(x)
        found = self._probabilities(self._scores_one(row))[0].tolist() if hasattr(self, "state_") else []
        self._wait(id, row)
        return dict(zip(self._known, found, strict=True)) if found else {}

    def predict_one(self, x: Row, id: Hashable = None) -> Any:
        """The class of one row (None before the first was learnt); with an `id` the row waits for `learn_late(id, y)`."""
        row = given(x)
        prediction = self._known[int(self._scores_one(row)[0].argmax())] if hasattr(self, "state_") else None
        self._wait(id, row)
        return prediction

    # --- classes: `_labels` in the order of their columns, `classes_` and `_known` in their own

    def _begin_with(self, labels: list[Any], names: Any, dim: int) -> None:
        if not labels:
            raise InputError("all weights are zero: there is nothing to learn")
        self._labels = labels
        outputs = max(LEAST_CLASSES, len(labels))
        self._begin(self._model(names is not None), None if names is None else list(names), dim, outputs)
        self._tell_classes()

    def _meet(self, labels: list[Any]) -> None:
        """Make room for classes that were not known."""
        if new := [label for label in dict.fromkeys(labels) if label not in self._labels]:
            outputs = len(self._labels) + len(new)
            if outputs > self.state_.outputs:
                self.model_.widen(self.state_, outputs)
            self._labels += new
            self._tell_classes()

    def _tell_classes(self) -> None:
        self._known = _sorted(self._labels)
        self._places = [self._labels.index(label) for label in self._known]
        of_one_kind = len({type(label) for label in self._known}) == 1
        self.classes_ = np.array(self._known, dtype=None if of_one_kind else object)

    @property
    def _one_vs_rest(self) -> bool:
        return part(self.model_, OneVsRest) is not None

    def _coded(self, columns: NDArray[np.int64]) -> Matrix:
        own = columns[:, None] == np.arange(self.state_.outputs)
        return np.where(own, 1.0, OneVsRest.absent if self._one_vs_rest else 0.0)

    def _scores(self, X: Any) -> Matrix:
        return super()._scores(X)[:, self._places]

    def _scores_one(self, x: Given) -> Matrix:
        rows, there = self._row(x)
        scores: Matrix = self.model_.predict(self.state_, rows, there=there)
        return scores[:, self._places]

    def _probabilities(self, scores: Matrix) -> Matrix:
        return probabilities(scoring(self.model_), scores, self._one_vs_rest)

    # --- for `Online`

    def _model(self, named: bool) -> Any:
        return assembled(self._own_learner, self.task, several=True, inputs=self.standardize, late=named)

    def _about(self) -> dict[str, Any]:
        return {"labels": plain("label", self._labels)}

    def _recall(self, about: dict[str, Any]) -> None:
        self._labels = plain("label", about["labels"])
        if len(set(self._labels)) != len(self._labels) or max(LEAST_CLASSES, len(self._labels)) != self.state_.outputs:
            raise InputError("it has other labels than outputs")
        self._tell_classes()


def _sorted(labels: list[Any]) -> list[Any]:
    """Each label once, in order; in that of arrival where they have none."""
    distinct = list(dict.fromkeys(labels))
    try:
        return sorted(distinct)
    except TypeError:
        return distinct
