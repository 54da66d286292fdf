"""Model: a raw row in, an answer out.

    rows ──encoder──> X ──> the learner in its wrappers ──> scores ──target──> answers
         ──target───> labels ────────^

>>> rows = [{"size": 20.0 + k, "town": ("Bonn", "Ulm")[k % 2], "price": 3.0 * k + 50.0 * (k % 2)} for k in range(300)]
>>> model = onkel.Model(target="price")
>>> state = model.init(rows[:100])                      # columns and their types; nothing is learnt
>>> answers = model.learn(state, rows[:299])            # of each row, before it was learnt
>>> bool(abs(model.predict(state, rows[299])[0] - rows[299]["price"]) < 10.0)
True
>>> answers = model.learn(state, {"size": 60.0, "town": None, "garden": 1.0, "price": 130.0})  # gaps, and keys never met before
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import ArrayLike, NDArray

from onkel._inputs import check_weight
from onkel._types import Matrix, Vector
from onkel._validate import config, flag, whole
from onkel.combine import Auto, Intervals, Scaled
from onkel.combine.assembly import assembled, part, scoring
from onkel.combine.probabilities import are_probabilities
from onkel.combine.unscaled import standard_error
from onkel.data.columns import NoColumn, listed
from onkel.data.reading import AS_DETECTED, Reading
from onkel.data.table import Kind, Table
from onkel.errors import InputError
from onkel.model import learning, stream
from onkel.model.answers import (
    Answers,
    answers,
    are_signs,
    class_probabilities,
    labels_of,
    next_scores,
    predicted_codes,
    scored,
    scored_usual,
    spread,
)  # fmt: skip
from onkel.model.encoder import Missing, policy
from onkel.model.fitting import fitted
from onkel.model.learning import Scored, State, joined
from onkel.model.plan import periods_given
from onkel.model.rows import is_vector, separate_labels, tables_of
from onkel.model.stream import Stream
from onkel.model.target import MOST_CLASSES, Classes, Label, Mask, Target, recognised, two_given
from onkel.protocol import is_learner
from onkel.state import owned
from onkel.turns import turn

TASKS = ("regression", "classification")
LABEL_KINDS = str, float, int, bool  # that a file can hold


@config
class Model:
    """How rows become numbers, what is predicted, and by which learner.

    target        The column to predict; npz and libsvm files know theirs. Default: None.
    learner       What learns; Auto() needs no tuning. Default: Auto().
    task          "regression" or "classification"; None: as the first rows and the learner suggest. Default: None.
    labels        Two classes, low and high, and no others: learners of two classes then cost half; None: any number of
                  classes. Default: None.
    lags          How many of the last labels are inputs of the next row; None: as the learner itself is set. Default: None.
    standardize   Whether inputs are standardised by the rows so far. Default: True.
    scale_target  Whether a number to predict is standardised by its first 256 values. Default: True.
    missing       What is done with a missing value: "refuse" it, fill in the "mean" of its column so far, or "drop" its row.
                  Default: 'mean'.
    columns       The inputs; None: all columns but the target. Default: None.
    without       Columns that are not inputs. Default: ().
    text          Columns of strings although they look like numbers, such as postcodes. Default: ().
    dates         Columns of dates; those that look like dates are found without this. Default: ().
    hashed        Columns of strings of which no value gets a column of its own: for values most of which come later. Default: ().
    cycles        Columns of numbers that begin again, and their periods, as in (("hour", 24.0),); None: by name and range.
                  Default: None.
    spare         The number of columns reserved for keys that first appear after the first rows: one for a number, one for each
                  value of a string. Default: 0.
    """

    target: str | None = None
    learner: Any = Auto()
    task: str | None = None
    labels: tuple[Label, Label] | None = None
    lags: int | None = None
    standardize: bool = True
    scale_target: bool = True
    missing: Missing = Missing.MEAN
    columns: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    hashed: tuple[str, ...] = ()
    cycles: tuple[tuple[str, float], ...] | None = None
    spare: int = 0

    def __post_init__(self) -> None:
        if not is_learner(self.learner):
            raise InputError(f"learner must be one of onkel's learners, such as onkel.PKAWV(), got {self.learner!r:.200}")
        if self.task not in (None, *TASKS):
            raise InputError(f"task must be {' or '.join(map(repr, TASKS))}, or None: as the rows suggest; got {self.task!r:.60}")
        flag(self, "standardize", "scale_target")
        whole(self, "spare", least=0, most=2**20)
        if self.lags is not None:
            whole(self, "lags", least=0, most=2**10)
        object.__setattr__(self, "missing", policy(self.missing))
        for name in ("columns", "without", "text", "dates", "hashed"):
            given = getattr(self, name)
            if (given is None and name == "columns") or (
                isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)
            ):
                object.__setattr__(self, name, given if given is None else tuple(given))
            else:
                raise InputError(f"{name} must be a list of names, got {given!r:.60}")
        if self.cycles is not None:
            object.__setattr__(self, "cycles", periods_given(self.cycles))
        if self.target is not None and not isinstance(self.target, str):
            raise InputError(f"target must be the name of a column, got {self.target!r:.60}")
        if self.labels is not None:
            object.__setattr__(self, "labels", two_given(self.labels))

    # --- rows as tables

    def open(self, rows: Any, reading: Reading = AS_DETECTED) -> Stream:
        """A stream of rows: a file, a table in memory, dicts, or (X, y). Its first rows decide encodings and kind of target."""
        given = separate_labels(self.task, rows)
        rows, target = given or (rows, self.target)

        def decided(found: Target, sample: Table, source: str) -> Target:
            named = found if given is None or self.target is None else dataclasses.replace(found, name=self.target)  # type: ignore[type-var]
            return recognised(named, sample, source, self.task, self.labels, self.learner)

        return stream.opened(
            rows,
            target,
            decided,
            missing=self.missing,
            labels=self.labels,
            hashed=self.hashed,
            cycles=None if self.cycles is None else dict(self.cycles),
            spare=self.spare,
            reading=dataclasses.replace(reading, columns=self.columns, without=self.without, text=self.text, dates=self.dates),
        )

    def open_again(
        self, state: State, rows: Any, reading: Reading = AS_DETECTED, labelled: bool = True, keep: Sequence[str] = ()
    ) -> Stream:
        """A stream of other rows, or the same again, encoded as the state says. With `labelled=False` they need no label.

        `keep` names further columns, which its tables hold as strings.
        """
        target = state.target if labelled else None
        rows, y = separate_labels(self.task, rows) or (rows, None)
        try:
            return stream.read_again(rows, state.encoder, target, y=y if labelled else None, keep=keep, reading=reading)
        except NoColumn as error:
            if error.column in keep:
                raise
            needed = [column.name for column in state.encoder.columns] + ([] if target is None else [target.name])
            both = f"the model needs {listed(needed)}, the file has {listed(error.known)}"
            remedy = f"add the column, or rename the one that is meant{error.hints}"
            raise InputError(f"{error.source} has no column {error.column!r}: {both}; {remedy}") from None

    # --- the verbs

    def init(self, rows: Any) -> State:
        """A state before the first row. `rows` only determine the columns and their types; nothing is learnt."""
        return self.begin(self.open(rows))

    def begin(self, opened: Stream) -> State:
        """A state for the rows of a stream that `open` has opened."""
        target, encoder = opened.target, opened.encoder
        learner = self.assembled(target, encoder.grows)
        inner = learner.init(encoder.width, target.outputs)
        return owned(self, State(encoder, target, learner, inner, encoder.init()))

    def fresh(self, state: State) -> State:
        """A state before the first row, with the same columns and target."""
        inner = state.learner.init(state.encoder.width, state.target.outputs)
        return owned(self, State(state.encoder, state.target, state.learner, inner, state.encoder.init()))

    def assembled(self, target: Target, late: bool = False) -> Any:
        """The learner in its wrappers, for this target; `late`: columns may be added during the first rows."""
        return assembled(self.learner, target.task, target.one_hot, self.standardize, self.scale_target, self.lags, late)

    def learn(self, state: State, rows: Any, weight: ArrayLike | None = None) -> NDArray[Any]:
        """The answer for each row before it was learnt: a number, or a label. A row that is dropped has none (NaN, None).

        `weight`: one for each row, at least 0; a row of weight 0 leaves no trace, and has no answer. A learner whose mathematics
        has no weights learns a row of weight 3 three times.
        """
        return joined([labels_of(state, predicted_codes(state, one), one.kept) for one in self._learnt(state, rows, weight)])

    def update(self, state: State, rows: Any, weight: ArrayLike | None = None, lagged: ArrayLike | None = None) -> None:
        """Learn rows without computing answers. `lagged`: for one row, what `remember` returned when it was predicted."""
        if weight is None and lagged is None and self.update_usual(state, rows):
            return
        for _ in self._learnt(state, rows, weight, lagged):
            pass

    def fit(self, rows: Any, weight: ArrayLike | None = None, seed: int | None = 0, epochs: int = 1) -> State:
        """A state that has learnt these rows in a random order, scaled by mean and deviation of all of them (dicts: of the rows so
        far). They must fit into memory.

        `seed`: of the random order; None: the order in which they are given, which is always kept if earlier labels are inputs.
        `epochs`: how often each row is learnt; only the first time counts for intervals and probabilities.
        """
        return fitted(self, rows, weight, seed, epochs)

    def answer(self, state: State, table: Table, lagged: ArrayLike | None = None) -> Answers:
        """Learn the rows of a table. Returns the answer for each row before it was learnt, and its label. `lagged`: see
        `update`."""
        return answers(state, self._learn(state, table, None, lagged))

    def add_classes(self, state: State, labels: Sequence[Any]) -> None:
        """Add classes before their first rows."""
        if not isinstance(state.target, Classes):
            raise InputError(f"{state.target.name!r} has no classes that could be added: it is {state.target!r}")
        known = list(dict.fromkeys([*state.labels, *map(state.target.label, labels)]))
        if len(known) > MOST_CLASSES:
            raise InputError(f"these are {len(known):,} classes; a model has at most {MOST_CLASSES}")
        with turn(self, state, True):
            vars(state).update(labels=known, inner=learning.widened(state, state.inner, len(known)))

    def remember(self, state: State) -> Vector:
        """The earlier labels that are inputs of a row predicted now; pass them to `update` if its label comes late."""
        known: Vector = state.learner.remember(state.inner)
        return known

    def predict(self, state: State, rows: Any) -> NDArray[Any]:
        """The answer for each row as if it came next: a number, or a label; changes nothing."""
        return self.answers_for(state, *self.scores(state, rows))

    def predict_any(self, state: State, rows: Any) -> NDArray[Any]:
        """The answer for rows that may come at any time, without earlier labels as inputs."""
        return self.answers_for(state, *self.scores_any(state, rows))

    def predict_proba(self, state: State, rows: Any) -> Matrix:
        """The probability of each class for each row as if it came next, (n, classes), in the order of `classes`."""
        self._check_task(state, "classification")
        scores, kept = self.scores(state, rows)
        return spread(self.probabilities(state, scores), kept)

    def predict_interval(self, state: State, rows: Any, level: float = 0.9) -> Matrix:
        """Lower and upper end of an interval for each row, (n, 2): a share `level` of recent labels was within theirs.

        With several targets (n, targets, 2).
        """
        self._check_task(state, "regression")
        ends, kept = scored(self, state, rows, lambda learner, *given, **gaps: learner.predict_interval(*given, level, **gaps))
        return spread(ends.reshape(len(ends), *state.target.shape, 2), kept)  # type: ignore[attr-defined]  # it is a Value

    def standard_error(self, state: State, rows: Any) -> Vector:
        """The standard error of the curve at each row, if the learner has it, as `MercerProjection` does."""
        self._check_task(state, "regression")
        return spread(*scored(self, state, rows, standard_error, state.target.scores))

    def interval_around(self, state: State, answers: Vector, level: float = 0.9) -> Matrix:
        """The ends of an interval around each number that `predict_any` has answered, (n, 2).

        They are as wide as those of `predict_interval`: too narrow for a model that uses earlier labels, which `predict_any` lacks.
        """
        self._check_task(state, "regression")
        ends: Matrix = state.learner.around(state.inner, answers, level)
        return ends

    def scores(self, state: State, rows: Any) -> tuple[Vector, Mask]:
        """The scores of each row as if it came next, a number or a column for each class; and which rows have scores."""
        return scored(self, state, rows, next_scores, state.target.scores)

    def scores_any(self, state: State, rows: Any) -> tuple[Vector, Mask]:
        """The same for rows that may come at any time, without earlier labels as inputs."""
        return scored(self, state, rows, lambda learner, *given, **gaps: learner.predict_any(*given, **gaps), state.target.scores)

    def classes(self, state: State) -> list[Any]:
        """The labels of the classes, in the order of their probabilities."""
        return state.target.classes(state.labels)

    def probabilities(self, state: State, scores: Matrix) -> Matrix:
        """The probabilities of the classes, computed from their scores."""
        return class_probabilities(state, scores)

    def has_probabilities(self, state: State) -> bool:
        """Whether the learner's scores can be converted to probabilities, not only to a decision."""
        return are_probabilities(scoring(state.learner))

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        with turn(self, state):
            state.encoder.check(state.encoded)
            possible = [self.assembled(state.target, late) for late in (False, True)]
            outputs = max(state.target.outputs, len(state.labels))
            fits = isinstance(state.target, Target) and state.learner in possible
            kinds = set(LABEL_KINDS if state.target.kind is Kind.TEXT else (float,)) if state.target.one_hot else set()
            fits = fits and {*map(type, state.labels)} <= kinds and len(set(state.labels)) == len(state.labels)
            fits = fits and all(label == label for label in state.labels) and state.encoder.missing is self.missing
            fits = fits and self.target in (None, state.target.name) and self.task in (None, state.target.task)
            if not fits or (state.inner.dim, state.inner.outputs) != (state.encoder.width, outputs):
                raise InputError("its learner and its encoder do not fit together")
            state.learner.check(state.inner)

    def notes(self, state: State) -> list[str]:
        """What the user should know about this state, one sentence each."""
        with turn(self, state):
            of_rows = [*state.encoder.notes(state.encoded), *state.encoder.notes_on_keys()]
            return [*of_rows, *map(str, state.learner.notes(state.inner))]

    # --- what a state is made for

    def standardises(self, state: State) -> dict[str, bool]:
        """Whether `Scaled` standardises inputs and target; a learner may do so itself."""
        scaled: Scaled = part(state.learner, Scaled)
        return {"inputs": scaled.inputs, "target": scaled.targets}

    def coverage(self, state: State) -> dict[str, float]:
        """The share of labels within their interval, by level; empty for classes."""
        if not isinstance(state.learner, Intervals):
            return {}
        return {str(level): share for level, share in state.learner.coverage(state.inner).items()}

    # --- one row, the quick way: see `single.py`

    def update_usual(self, state: State, row: Any) -> bool:
        """Learn a single row, (row, label) or a dict with its label. False, with nothing learnt, if row or label is not usual."""
        pair = type(row) is tuple and len(row) == 2
        given = row[0] if pair else row
        if type(given) is not dict and not is_vector(given):
            return False
        call = turn(self, state, True)
        try:
            learnt = learning.learn_usual(call, state, given, row[1] if pair else given.get(state.target.name), pair)
        except BaseException:
            call.fail()
            raise
        call.end()
        return learnt

    def scores_usual(self, state: State, row: Any) -> Vector | None:
        """The scores of a single row as if it came next; None if it is not usual."""
        return scored_usual(self, state, row, next_scores, state.target.scores)

    # --- how rows are learnt: see `learning.py`

    def _learnt(
        self, state: State, rows: Any, weight: ArrayLike | None, lagged: ArrayLike | None = None
    ) -> Iterator[Scored]:  # fmt: skip
        """Learn rows, table by table."""
        if weight is None:
            for table in tables_of(self, state, rows):
                yield self._learn(state, table, None, lagged)
            return
        tables = list(tables_of(self, state, rows))
        weights, start = check_weight(weight, sum(map(len, tables))), 0
        for table in tables:
            yield self._learn(state, table, weights[start : start + len(table)], lagged)
            start += len(table)

    def _learn(self, state: State, table: Table, weight: Vector | None = None, lagged: ArrayLike | None = None) -> Scored:
        call = turn(self, state, True)
        try:
            if weight is None:
                scored = learning.learn(call, state, table, None, lagged)
            else:
                scored = learning.learn_weighted(call, state, table, weight, lagged)
        except BaseException:
            call.fail()
            raise
        call.end()
        return scored

    @property
    def _hooks(self) -> Model:
        return self  # `onkel.turns` asks for this: the object with `_settle`, here the model itself

    def _settle(self, state: State) -> None:
        return  # nothing to do: the learner completes its own pending steps

    # --- answers

    def answers_for(self, state: State, scores: Vector, kept: Mask) -> NDArray[Any]:
        """The answer for each row, a number or a label; NaN or None for rows that have no scores."""
        return labels_of(state, state.target.predicted_codes(scores), kept)

    def are_signs(self, state: State) -> bool:
        """Whether the learner's labels of two classes are -1 and 1, not 0 and 1."""
        return are_signs(state)

    def _check_task(self, state: State, task: str) -> None:
        if state.target.task != task:
            remedy = "predict gives its numbers, predict_interval their range" if task == "classification" else "see predict_proba"
            raise InputError(f"this model was made for {state.target.task} of {state.target.name!r}: {remedy}")
