"""The systems that bench/peers.py compares with onkel. Each is run over a stream, and every row is scored before it is learnt.

River         one row a call, from dicts made before the clock runs
scikit-learn  one row a call, the features of 1,024 rows at a time; numeric targets are standardised by the targets so far, and
              clipped too; Nystroem takes its 100 points from the first 500 rows, whose inputs it thus sees before they come
CapyMOA       where it and Java are installed: one row a call (peer_capymoa.py)
onkel         blocks of 1,024 rows, compiled before the clock runs; raw inputs, which it standardises itself within its time;
              learners of classes inside `Calibrated`

The others get inputs that are standardised by the rows so far and clipped at ±8 deviations, before the clock runs. Raw or unclipped
inputs make River's linear models, and its forests, whose leaves have such models, worse by orders of magnitude on some streams.
Settings are the defaults of each, one seed, unless the name says otherwise. Time is the CPU time of this one thread, so that other
work on the machine counts less. Bytes are those of onkel's state, and of the others' pickled models, after the last row.
"""

from __future__ import annotations

import io
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import river
import sklearn
from river import forest, linear_model, neighbors, tree
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier, SGDRegressor
from streams import Array, Rows

import onkel
from onkel.combine import Lagged
from onkel.combine.lagged import lag
from onkel.measure import running_mean

START = 1000  # rows that are timed by themselves
WINDOW = 1000  # rows among which neighbours are sought
POINTS, COMPONENTS = 500, 100  # rows from which Nystroem takes its points; features
AT_ONCE, TO_WARM_UP = 1024, 4096
FAR = 8.0  # deviations


@dataclass(frozen=True)
class Outcome:
    """The predictions of a system for each row before it learnt the row, and their cost."""

    said: Array  # numbers, or the probability of +1
    seconds: float
    start: float | None  # seconds for the first START rows
    nbytes: int | None


Run = Callable[[Array, Array, bool], Outcome]


@dataclass(frozen=True)
class Peer:
    name: str
    version: str
    run: Run
    widest: int = 1_000_000  # with more columns than this the system takes hours
    lags: bool = False  # also run with earlier labels as inputs


def clocked(step: Callable[[int], float], rows: int, model: Any) -> Outcome:
    """Time `step`, which predicts a row and then learns it, on one row after the other."""
    said, times = np.empty(rows), [time.process_time()]
    for first, last in ((0, min(START, rows)), (min(START, rows), rows)):
        for t in range(first, last):
            said[t] = step(t)
        times.append(time.process_time())
    return Outcome(said, times[2] - times[0], times[1] - times[0], pickled(model))


def pickled(model: Any) -> int | None:
    counter = io.BytesIO()
    try:
        pickle.dump(model, counter)
    except (RecursionError, TypeError, AttributeError, pickle.PicklingError):
        return None
    return counter.tell()


def of_river(make: Callable[[bool], Any]) -> Run:
    def run(X: Array, y: Array, classify: bool) -> Outcome:
        model = make(classify)
        rows, labels = [dict(enumerate(row)) for row in X.tolist()], (y > 0.0).tolist() if classify else y.tolist()

        def chance(t: int) -> float:
            votes = model.predict_proba_one(rows[t])
            total = sum(votes.values())
            model.learn_one(rows[t], labels[t])
            return votes.get(True, 0.0) / total if total > 0.0 else 0.5

        def number(t: int) -> float:
            said = model.predict_one(rows[t])
            model.learn_one(rows[t], labels[t])
            return 0.0 if said is None else said

        return clocked(chance if classify else number, len(y), model)

    return run


def linear(classify: bool) -> Any:
    return linear_model.LogisticRegression() if classify else linear_model.LinearRegression()


def random_forest(classify: bool) -> Any:
    return forest.ARFClassifier(n_models=10, seed=0) if classify else forest.ARFRegressor(n_models=10, seed=0)


def adaptive_tree(classify: bool) -> Any:
    return tree.HoeffdingAdaptiveTreeClassifier(seed=0) if classify else tree.HoeffdingAdaptiveTreeRegressor(seed=0)


def nearest(classify: bool) -> Any:
    engine = neighbors.LazySearch(window_size=WINDOW)
    return neighbors.KNNClassifier(engine=engine) if classify else neighbors.KNNRegressor(engine=engine)


def of_sklearn(make_features: Callable[[int], Any]) -> Run:
    def run(X: Array, y: Array, classify: bool) -> Outcome:
        began = time.process_time()
        features, model = make_features(X.shape[1]), _sgd(classify)
        features.fit(X[:POINTS])
        Z = np.concatenate([features.transform(X[t : t + AT_ONCE]) for t in range(0, len(X), AT_ONCE)])
        centre, scale = (np.zeros(len(y)), np.ones(len(y))) if classify else _so_far(y)
        u = np.clip((y - centre) / np.where(scale > 0.0, scale, 1.0), -FAR, FAR)
        making = time.process_time() - began
        known = {"classes": [-1.0, 1.0]} if classify else {}

        def step(t: int) -> float:
            row = Z[t : t + 1]
            if t == 0:
                said = 0.5 if classify else 0.0
            else:
                said = model.predict_proba(row)[0, 1] if classify else centre[t] + scale[t] * model.predict(row)[0]
            model.partial_fit(row, u[t : t + 1], **known)
            return float(said)

        done = clocked(step, len(y), (features, model))
        return replace(done, seconds=done.seconds + making)

    return run


def _sgd(classify: bool) -> Any:
    return SGDClassifier(loss="log_loss", random_state=0) if classify else SGDRegressor(random_state=0)


def standardised(X: Array) -> Array:
    """X standardised by the mean and deviation of the rows up to and including each row, and clipped at FAR deviations."""
    scale, Z = onkel.Standardize(), np.empty_like(X)
    scale.write(scale.init(X.shape[1]), X, np.ones(len(X)), Z, 0)
    return np.clip(Z, -FAR, FAR)


def _so_far(y: Array) -> tuple[Array, Array]:
    """The mean and deviation of the labels before each row; 0 before the first."""
    mean, shifted = running_mean(y), y - y[0]  # y is shifted, because rounding spoils the deviation if the mean is large
    return mean, np.sqrt(np.maximum(running_mean(shifted**2) - running_mean(shifted) ** 2, 0.0))


def of_onkel(make: Callable[[bool], Any]) -> Run:
    """A learner of onkel as a peer: `make` makes it for classes or for numbers. The scores of classes are 2p − 1."""

    def run(X: Array, y: Array, classify: bool) -> Outcome:
        learner = make(classify)
        blocks = [slice(t, t + AT_ONCE) for t in range(0, len(y), AT_ONCE)]
        learner.learn(learner.init(X.shape[1]), X[:TO_WARM_UP], y[:TO_WARM_UP])  # loads the compiled code
        state = learner.init(X.shape[1])
        began = time.process_time()
        scores = np.concatenate([learner.learn(state, X[now], y[now]) for now in blocks])
        seconds = time.process_time() - began
        said = (1.0 + scores) / 2.0 if classify else scores
        return Outcome(said, seconds, None, onkel.nbytes(state))

    return run


def with_lags(rows: Rows, lags: int) -> Rows:
    """The rows with the columns that `combine.Lagged` makes: the last labels and two running means of them."""
    lagged = Lagged(lags=lags)
    state, more = lagged.init(1), np.empty((len(rows.y), lagged.columns))
    lag(state.first, state.last, state.means, 0, rows.y[:, None], np.ones(len(rows.y)), more)
    return replace(rows, X=np.column_stack([rows.X, more]))


def nystroem(dim: int) -> Any:
    return Nystroem(gamma=1.0 / dim, n_components=COMPONENTS, random_state=0)


def rbf_sampler(dim: int) -> Any:
    return RBFSampler(gamma=1.0 / dim, n_components=COMPONENTS, random_state=0)


RIVER, SKLEARN = f"River {river.__version__}", f"scikit-learn {sklearn.__version__}"
FOREST = Peer("River forest of 10", RIVER, of_river(random_forest), lags=True)
LINEAR = Peer("River linear or logistic", RIVER, of_river(linear), lags=True)
PEERS = [
    FOREST,
    LINEAR,
    Peer("River adaptive tree", RIVER, of_river(adaptive_tree), lags=True),
    Peer("River neighbours", RIVER, of_river(nearest), widest=60),
    Peer("scikit-learn SGD on Nystroem", SKLEARN, of_sklearn(nystroem), lags=True),
    Peer("scikit-learn SGD on RBFSampler", SKLEARN, of_sklearn(rbf_sampler)),
]
