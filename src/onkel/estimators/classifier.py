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

from collections.abc import Hashable, Sequence
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
    """Whether scores of its learner say how likely a class is. Margins, as of a perceptron, only say which class it is."""
    learner = estimator._learner
    return (
        not is_learner(learner) or "classification" not in tasks_of(learner) or are_probabilities(suited(learner, "classification"))
    )


@spell_checked
class Classifier(ClassifierMixin, Online):
    """Online classification.

    learner       what learns; None: Auto(), which needs no tuning and takes inputs of any size, whatever the next setting says
    standardize   whether inputs are standardised as they come
    spare         columns kept free for keys that appear only after 256 rows; others that come so late are passed over
    waiting       the most rows that wait for their labels (`predict_one(x, id=…)`, then `learn_late(id, y)`)
    shuffle       whether `fit` learns rows in a random order; a learner with lags always gets them in their own
    seed          of that order
    epochs        how often `fit` learns each row: simple learners such as `Perceptron` gain by more than once, `Auto` does not
    """

    task = "classification"

    def __init__(
        self,
        learner: Any = None,
        *,
        standardize: bool = True,
        spare: int = 0,
        waiting: int = 10_000,
        shuffle: bool = True,
        seed: int = 0,
        epochs: int = 1,
    ) -> None:
        self.learner = learner
        self.standardize = standardize
        self.spare = spare
        self.waiting = waiting
        self.shuffle = shuffle
        self.seed = seed
        self.epochs = epochs

    def partial_fit(self, X: Any, y: Any, classes: Sequence[Any] | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn these rows, in order, besides all rows before them. `classes` may name some that have not come; it need not."""
        return self._learn(X, y, sample_weight, classes)

    def decision_function(self, X: Any) -> Vector:
        """The scores in the order of `classes_`; for two classes one of them, positive for the second class."""
        scores = self._scores(X)
        if scores.shape[1] != 2:
            return scores
        return np.asarray(scores[:, 1] - scores[:, 0]) / (2.0 if self.model_.are_signs(self.state_) else 1.0)  # as of labels ±1

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, which may come at any time: a learner with lags does without them."""
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class in the order of `classes_`, for rows that may come at any time."""
        scores = self._scores(X)
        return self.model_.probabilities(self.state_, scores)

    @available_if(_has_probabilities)
    def predict_proba_one(self, x: Row, id: Hashable = None) -> dict[Any, float]:
        """The probability of each class for one row; with an `id` the row waits for `learn_late(id, y)`."""
        scores = self._ordered_scores(x, id)
        if scores is None:
            return {}
        return dict(zip(self._sorted, self.model_.probabilities(self.state_, scores)[0].tolist(), strict=True))

    def predict_one(self, x: Row, id: Hashable = None) -> Any:
        """The class of one row (None before the first was learnt); with an `id` the row waits for `learn_late(id, y)`."""
        scores = self._ordered_scores(x, id)
        return None if scores is None else self._sorted[int(scores[0].argmax())]

    def _ordered_scores(self, x: Row, id: Hashable) -> Matrix | None:
        """The scores of one row in the order of `classes_`; None before the first row was learnt. With an `id` it waits."""
        scores = self._scores_one(x)
        if scores is None or id is not None:
            row = self._given(x)
            if scores is None and hasattr(self, "state_"):
                scores = self.model_.scores(self.state_, self._rows(row))[0]
            self._wait(id, row)
        return None if scores is None else scores[:, self._order]

    def _scores(self, X: Any) -> Matrix:
        scores = super()._scores(X)
        return scores[:, self._order]

    def _checked_labels(self, X: Any, y: Any) -> Any:
        labels = super()._checked_labels(X, y)
        check_classification_targets(labels)
        return labels

    def _forget(self) -> None:
        super()._forget()
        for name in ("classes_", "_known", "_sorted", "_order"):
            self.__dict__.pop(name, None)

    def _labels(self, y: Any) -> Labels:
        return classes_of(y)

    def _describe(self) -> None:
        """Also the classes: the model has them in the order in which they came."""
        super()._describe()
        known = list(self.state_.labels)
        if self.__dict__.get("_known") != known:
            self._known = known
            self._sorted = in_order(known)
            self._order = [known.index(label) for label in self._sorted]
            plain = len(kinds := {type(label) for label in known}) == 1 and kinds <= {str, int, float, bool}
            self.classes_ = np.array(self._sorted) if plain else np.empty(len(known), dtype=object)
            self.classes_[:] = self._sorted
