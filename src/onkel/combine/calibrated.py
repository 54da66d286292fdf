"""Calibrated: a classifier whose scores are turned into calibrated probabilities, by the labels so far.

Four maps turn a score into a probability. One is the identity, clipped to [0.001, 0.999]. Each of the others is piecewise linear.
For each class and knot it stores the share of rows of that class among the rows with a score near the knot:

    q(u) = (1 − h) m_i + h m_{i+1},    h = (u − x_i)/(x_{i+1} − x_i),    x_i = sin²(πi/2d),  i = 0 … d
    m_i ← m_i + (y − m_i) a/(n_i + a),    n_i ← min(n_i + a, memory),    a = weight · (1 − h)

where u is the score as an estimate of a probability, the x_i are the d + 1 knots, m_i is the share stored for knot i, n_i the
number of rows that it stands for, and y is 1 for rows of this class and 0 for other rows. Knot i + 1 is updated in the same way,
with h instead of 1 − h. m_i starts at x_i, clipped to [0.01, 0.99], and n_i at 10. One map has 17 knots and a memory of 1,000 rows
at each knot; two have 9 knots and memories of 100 and 20, for scores whose meaning changes. Knots are denser near 0 and 1, where
the logarithms of probabilities differ most. For each map the q of all classes are divided by their sum.

The maps are mixed by Bayes' rule with fixed shares. Let v_j be the weight of map j, which starts at 1/4, and t the number of rows
up to and including this one:

    p(class) = Σ_j v_j q_j(class),    v_j ∝ v_j q_j(the row's class),    then v_j ← (1 − 1/(t+1)) v_j + 1/(4(t+1))

After few rows the maps are inaccurate, and for probabilities near 1/2 that would change decisions. So the class c with the largest
score, among the classes seen, stays the most likely one until the labels are evidence against it. If p gives some classes a larger
probability than c, then c and these classes all get the mean g of their probabilities:

    p°(class) = g  for c and all classes with p > g;    p°(class) = p(class)  for the others
    E ← E + ln p(the row's class) − ln p°(the row's class),    from 0

1.  p° is the projection of p, in relative entropy, onto the distributions in which no class is more likely than c.
2.  E is the log loss of p° minus that of p. When E > ln 5, p is used from then on instead of p°, and E no longer changes.
3.  If the class with the largest score is always the most likely one, e^E is a supermartingale that starts at 1. By Ville's
    inequality the probability that p° is ever given up is then at most 1/5, however long the stream is.

Compare with any sequence of maps, one for each row, that consists of K pieces with one map each. On every stream of T rows the log
loss is at most that of this sequence plus K ln(4T) for the mixture, plus ln(5 · classes) for the rows in which p° is used. In
particular it is at most that of the best single map, such as the identity, plus ln(4T) + ln(5 · classes). In these bounds each row
counts once, whatever its weight is.

After n rows a class not seen yet gets the probability 1/(n + classes), by Laplace's rule of succession; the others share the rest.
The maps learn nothing about it until its first row, so a late class starts exactly as if it had been known from the start. If there
is one output, the classes are +1 and −1, and the score is 2p − 1, where p is the probability of +1. If there are several, the
scores are probabilities that sum to 1 for labels 0 and 1, and 2p − 1 for labels ±1.

Vovk (1990), Aggregating strategies, COLT: for the log loss the aggregating algorithm is Bayes' rule. Herbster & Warmuth (1998),
Tracking the best expert. Ville (1939), Étude critique de la notion de collectif.

>>> X, y = onkel.data.rings(3000, seed=0)
>>> y = np.where(np.random.default_rng(0).random(3000) < 0.1, -y, y)
>>> for learner in onkel.PKAWV(), onkel.combine.Calibrated(onkel.PKAWV()):
...     scores = learner.learn(learner.init(dim=2), X, y)
...     print(f"{onkel.measure.log_loss((1 + scores) / 2, y > 0):.3f}")
0.409
0.350
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np

from onkel._inputs import check_signs, no_weight, place
from onkel._jit import hot, hot_inline, hot_lean
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config
from onkel.combine.one_vs_rest import OneVsRest
from onkel.combine.probabilities import estimates
from onkel.combine.wrapper import Wrapper
from onkel.errors import InputError
from onkel.learners import PKAWV
from onkel.losses import Square
from onkel.one_row import Row, RowSteps
from onkel.protocol import is_learner, tasks_of
from onkel.state import memory
from onkel.turns import Call

CELLS = 16, 8, 8  # intervals between knots, for each map; each divides FINEST
MEMORY = 1000.0, 100.0, 20.0  # largest n_i, for each map
FINEST = 16  # intervals of the map with the most knots
STARTS = 0, 17, 26  # index of each map's first knot
KNOTS = 35  # number of knots of all maps together
MAPS = 1 + len(CELLS)  # the identity comes first
PRIOR = 10.0  # weight of the initial value of a knot, in rows
CUT = 1e-3  # the identity is clipped to [CUT, 1 − CUT]
START = 1e-2  # smallest initial value of a knot
LEAST = 1e-6  # smallest probability that a map gives
ENOUGH = math.log(5.0)  # if E is larger, p is used
AHEAD = 1e-12  # how much more, relatively, the class with the largest score gets in p° than the classes that share its mean

PLACES = np.sin(0.5 * np.pi * np.arange(FINEST + 1) / FINEST) ** 2  # the finest knots, which include those of the other maps


@memory
class State:
    inner: Any
    means: Matrix  # (classes, KNOTS)  m of all maps, one map after the other
    counts: Matrix  # (classes, KNOTS)  n
    shares: Vector  # (MAPS,)  v
    seen: Counts  # (classes,)  rows of each class so far; one output has two classes
    evidence: Vector  # (1,)  E
    dim: int
    outputs: int


@config
class Calibrated(Wrapper):
    """A classifier, and maps that turn its scores into probabilities.

    learner  The learner inside, for classes.
    """

    learner: Any = PKAWV()

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    loss: ClassVar[Square] = Square()  # its scores are estimates of probabilities, in the coding of the labels

    def __post_init__(self) -> None:
        if not is_learner(self.learner) or "classification" not in tasks_of(self.learner):
            raise InputError(f"Calibrated: learner must be a classifier, such as PKAWV(), got {self.learner!r:.200}")

    def _init(self, dim: int, outputs: int) -> State:
        classes = max(2, outputs)
        maps = np.tile(_identity(), (classes, 1)), np.full((classes, KNOTS), PRIOR), np.full(MAPS, 1.0 / MAPS)
        inner = self._begun(dim, outputs)
        return State(inner, *maps, np.zeros(classes, dtype=np.int64), np.zeros(1), dim, outputs)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        self._classes(Y)
        self._inside._admit(state.inner, Y, weight)

    def _take(
        self, call: Call, state: State, X: Any, Y: Matrix, weight: Vector, scores: Matrix, **more: Any
    ) -> None:  # fmt: skip
        own, inner = self._classes(Y), np.empty(scores.shape)
        before = int(state.seen.sum()), self._inside._learnt(state.inner)
        call.defer(partial(self._follow, state, *before, inner, own, weight, scores))
        self._inside._take(call, state.inner, X, Y, weight, inner, **more)
        call.complete()
        rest = place(weight, int(np.count_nonzero(weight)))  # the rows from this index on all have weight 0
        self._calibrate(state, inner[rest:], own[rest:], weight[rest:], scores[rest:])

    def _follow(
        self, state: State, known: int, before: int, inner: Matrix, own: Counts, weight: Vector, scores: Matrix
    ) -> None:  # fmt: skip
        done, upto = place(weight, int(state.seen.sum()) - known), place(weight, self._inside._learnt(state.inner) - before)
        self._calibrate(state, inner[done:upto], own[done:upto], weight[done:upto], scores[done:upto])

    def _single(self, state: State) -> RowSteps | None:
        inner: RowSteps | None = self._inside._single(state.inner)
        if inner is None or state.outputs == 1 or self.absent < 0.0:  # the scores must be estimates of probabilities
            return None
        X, Y, weight, guesses = inner.row
        row, own = Row(X, Y, weight, np.empty(guesses.shape)), np.zeros(1, np.int64)
        maps = PLACES, state.means, state.counts, state.shares, state.seen, state.evidence
        looked, learnt = (partial(track, *maps, guesses, own, each, row.scores) for each in (no_weight(1), weight))
        return inner.around(row, before=[], score=[looked], learn=[partial(_find_class, Y, own, weight)], after=[learnt])

    def _score(self, state: State, X: Any, scores: Matrix, **more: Any) -> None:
        self._only_calibrated(self._inside._score, state, X, scores, **more)

    def _score_any(self, state: State, X: Any, scores: Matrix, **more: Any) -> None:
        """Score rows that need not come next. Their scores are calibrated by the same maps as those of next rows, from which the
        maps were learnt."""
        self._only_calibrated(self._inside._score_any, state, X, scores, **more)

    def _only_calibrated(self, score: Any, state: State, X: Any, scores: Matrix, **more: Any) -> None:
        inner = np.empty(scores.shape)
        score(state.inner, X, inner, **more)
        self._calibrate(state, inner, np.zeros(len(inner), dtype=np.int64), np.zeros(len(inner)), scores)

    def _widen(self, state: State, outputs: int) -> None:
        """Add classes. Each new class starts exactly as if it had been known from the start, but had no row yet."""
        self._inside._widen(state.inner, outputs)
        more = max(2, outputs) - len(state.seen)
        state.means = np.concatenate([state.means, np.tile(_identity(), (more, 1))])
        state.counts = np.concatenate([state.counts, np.full((more, KNOTS), PRIOR)])
        state.seen = np.concatenate([state.seen, np.zeros(more, dtype=np.int64)])
        state.outputs = outputs

    def _footprint(self, dim: int, outputs: int) -> int:
        return int(self._inside._footprint(dim, outputs) + 8 * (max(2, outputs) * (2 * KNOTS + 1) + MAPS + 3))

    def _check(self, state: State) -> None:
        if state.seen.sum() > self._inside._learnt(state.inner):
            raise InputError("its counts of classes sum to more than its number of rows")
        if (state.inner.dim, state.inner.outputs) != (state.dim, state.outputs) or len(state.seen) != max(2, state.outputs):
            raise InputError("the columns or outputs of its parts differ in number")
        if np.any(state.means < 0.0) or np.any(state.means > 1.0) or np.any(state.counts < PRIOR) or np.any(state.seen < 0):
            raise InputError("its shares or counts of rows are impossible")
        if np.any(state.shares < 0.0) or not math.isclose(float(state.shares.sum()), 1.0, rel_tol=1e-6):
            raise InputError("the shares of its maps do not sum to 1")
        if state.evidence.shape != (1,) or not state.evidence[0] <= ENOUGH + math.log(len(state.seen)):
            raise InputError("its evidence E is too large to come from rows")
        self._inside._check(state.inner)

    def _classes(self, labels: Matrix) -> Counts:
        """The index of each row's class."""
        if labels.shape[1] == 1:
            check_signs(labels)
            return np.where(labels[:, 0] > 0.0, 0, 1)
        own = labels == 1.0
        if (wrong := np.flatnonzero((own.sum(axis=1) != 1) | np.any(~own & (labels != self.absent), axis=1))).size:
            raise InputError(
                f"the label of row {wrong[0]} must be 1 in one column, that of its class, and {self.absent:g} in all others"
            )
        return np.asarray(own.argmax(axis=1), dtype=np.int64)

    def _calibrate(self, state: State, inner: Matrix, own: Counts, weight: Vector, scores: Matrix) -> None:
        """Write the probabilities of the classes, in the coding of the labels; learn rows of positive weight."""
        signs = state.outputs == 1 or self.absent < 0.0
        part = self.learner.learner if isinstance(self.learner, OneVsRest) else self.learner
        guesses = estimates(part, inner, signs)
        if state.outputs == 1:
            guesses = np.hstack([guesses, 1.0 - guesses])
        probabilities = np.empty(guesses.shape)
        track(
            PLACES, state.means, state.counts, state.shares, state.seen, state.evidence,
            np.ascontiguousarray(guesses), own, weight, probabilities,
        )  # fmt: skip
        scores[:] = (2.0 * probabilities - 1.0 if signs else probabilities)[:, : state.outputs]


def _identity() -> Vector:
    """The initial values m of all knots: their places x_i, clipped."""
    return np.asarray(np.concatenate([PLACES[:: FINEST // cells] for cells in CELLS]).clip(START, 1.0 - START))


@hot_lean
def _find_class(Y: Matrix, own: Counts, weight: Vector) -> None:
    """The index of a row's class. If Y is not 1 in one column and 0 in the others, the weight becomes 0."""
    ones = 0
    for k in range(Y.shape[1]):
        if Y[0, k] == 1.0:
            own[0] = k
            ones += 1
        elif Y[0, k] != 0.0:
            weight[0] = 0.0
    if ones != 1:
        weight[0] = 0.0


@hot
def track(
    places: Vector, means: Matrix, counts: Matrix, shares: Vector, seen: Counts, evidence: Vector,
    guesses: Matrix, own: Counts, weight: Vector, probabilities: Matrix,
) -> None:  # fmt: skip
    """Write each row's probabilities, then learn its class."""
    classes, mapped, rows = seen.size, np.empty((MAPS, seen.size)), 0
    for k in range(classes):
        rows += seen[k]
    for t in range(guesses.shape[0]):
        evaluate(places, means, seen, guesses[t], mapped)
        mix(mapped, shares, seen, rows, probabilities[t])
        lost = hold(guesses[t], seen, own[t], probabilities[t]) if evidence[0] <= ENOUGH else 0.0
        if weight[t] == 0.0:
            continue
        rows += 1
        evidence[0] += lost
        if seen[own[t]] > 0:
            reward(mapped, shares, own[t], rows)
        seen[own[t]] += 1
        if seen[own[t]] < rows:  # the maps learn nothing as long as all rows are of one class
            for k in range(classes):
                if seen[k] > 0:
                    update(places, means[k], counts[k], guesses[t, k], 1.0 if k == own[t] else 0.0, weight[t])


@hot_inline
def evaluate(places: Vector, means: Matrix, seen: Counts, guesses: Vector, mapped: Matrix) -> None:
    """mapped ← each map's probabilities of the classes seen, which sum to 1."""
    for k in range(seen.size):
        guess = min(max(guesses[k], 0.0), 1.0)
        cell = cell_of(guess)
        mapped[0, k] = min(max(guess, CUT), 1.0 - CUT)
        for j in range(1, MAPS):
            left, h = near(places, guess, cell, j - 1)
            mapped[j, k] = min(max((1.0 - h) * means[k, left] + h * means[k, left + 1], LEAST), 1.0 - LEAST)
    for j in range(MAPS):
        total = 0.0
        for k in range(seen.size):
            mapped[j, k] = mapped[j, k] if seen[k] > 0 else 0.0
            total += mapped[j, k]
        for k in range(seen.size):
            mapped[j, k] /= max(total, LEAST)


@hot_inline
def cell_of(guess: float) -> int:
    """The interval of the finest knots that contains the guess."""
    return min(int(math.acos(1.0 - 2.0 * guess) * (FINEST / math.pi)), FINEST - 1)


@hot_inline
def near(places: Vector, guess: float, cell: int, j: int) -> tuple[int, float]:
    """The index, among the knots of all maps, of the knot to the left of the guess in map j; and h, the relative distance to it."""
    step = FINEST // CELLS[j]
    left = cell // step
    low, high = places[left * step], places[left * step + step]
    return STARTS[j] + left, min(max((guess - low) / (high - low), 0.0), 1.0)


@hot_inline
def mix(mapped: Matrix, shares: Vector, seen: Counts, rows: int, probabilities: Vector) -> None:
    """The mixture of the maps; classes not seen yet get their probability by Laplace's rule."""
    rare, rest = 1.0 / (rows + seen.size), 1.0
    for k in range(seen.size):
        rest -= 0.0 if seen[k] > 0 else rare
    for k in range(seen.size):
        mixed = 0.0
        for j in range(MAPS):
            mixed += shares[j] * mapped[j, k]
        probabilities[k] = rest * mixed if seen[k] > 0 else rare


@hot_inline
def hold(guesses: Vector, seen: Counts, own: int, probabilities: Vector) -> float:
    """Turn `probabilities` from p into p°, in which no class is more likely than the one with the largest score.

    Returns ln p − ln p° of the row's class. Only classes seen so far count. If several of them share the largest score, or none has
    been seen, p stays as it is.
    """
    first, tied = -1, True
    for k in range(seen.size):
        if seen[k] > 0 and (first < 0 or guesses[k] >= guesses[first]):
            tied = first >= 0 and guesses[k] == guesses[first]
            first = k
    if tied:
        return 0.0
    level, mean, above = -1.0, probabilities[first], 0
    while mean > level:  # each time the mean rises, and fewer classes are above it
        level, total, above = mean, probabilities[first], 0
        for k in range(seen.size):
            if seen[k] > 0 and probabilities[k] > level:
                total += probabilities[k]
                above += 1
        mean = total / (above + 1)
    if above == 0:
        return 0.0
    moved = own == first or (seen[own] > 0 and probabilities[own] > level)
    lost = math.log(probabilities[own] / level) if moved else 0.0
    for k in range(seen.size):
        if seen[k] > 0 and probabilities[k] > level:
            probabilities[k] = level * (1.0 - AHEAD)
    probabilities[first] = level * (1.0 + above * AHEAD)
    return lost


@hot_inline
def reward(mapped: Matrix, shares: Vector, own: int, rows: int) -> None:
    """Update the shares of the maps by Bayes' rule, then redistribute a part of them (fixed shares)."""
    total, back = 0.0, 1.0 / (rows + 1.0)
    for j in range(MAPS):
        shares[j] *= mapped[j, own]
        total += shares[j]
    for j in range(MAPS):
        shares[j] = (1.0 - back) * shares[j] / total + back / MAPS


@hot_inline
def update(places: Vector, means: Vector, counts: Vector, guess: float, label: float, weight: float) -> None:
    """Update the running means at the two nearest knots of each map."""
    guess = min(max(guess, 0.0), 1.0)
    cell = cell_of(guess)
    for j in range(len(CELLS)):
        left, h = near(places, guess, cell, j)
        for at, part in ((left, weight * (1.0 - h)), (left + 1, weight * h)):
            means[at] += (label - means[at]) * part / (counts[at] + part)
            counts[at] = min(counts[at] + part, MEMORY[j])
