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
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel._validate import flag, whole
from onkel.combine import Auto, Intervals, Scaled
from onkel.combine.assembly import assembled, bare, lags_of, part, scoring
from onkel.combine.inner import predict_any
from onkel.combine.probabilities import are_probabilities, probabilities
from onkel.data.columns import NoColumn, listed
from onkel.data.reading import AS_DETECTED, Reading
from onkel.data.records import Records
from onkel.data.table import Kind, Table, rows_at_once
from onkel.errors import InputError
from onkel.model import stream
from onkel.model.encoder import Encoder, Missing, policy
from onkel.model.encoder import State as EncoderState
from onkel.model.stream import Stream
from onkel.model.target import Classes, Label, Mask, Signs, Target, Value, cell, met_before, numbered, two_labels
from onkel.protocol import is_learner, suited, tasks_of
from onkel.state import copied, owned
from onkel.turns import Call, turn

TASKS = ("regression", "classification")
MOST_NUMBERED = 50  # different whole numbers that a learner of classes alone takes as classes


@dataclass
class State:
    """What the first rows have decided, and what all rows have taught."""

    encoder: Encoder  # how columns become X
    target: Target  # what kind of thing is predicted
    learner: Any  # for this target, in its wrappers
    inner: Any  # its state
    encoded: EncoderState
    labels: list[Label] = field(default_factory=list)  # of classes, in the order in which they came
    rows: int = 0  # learnt or dropped


@dataclass(frozen=True)
class Answers:
    """What a model said of the rows of a table before it learnt each of them, beside their labels; both as codes (`Target`)."""

    predicted: Vector  # -1 where no class was known yet
    probabilities: Matrix | None  # of each class; None for numbers
    actual: Vector
    kept: Mask  # which rows of the table these are: others lack a label, or a value where such rows are dropped


@dataclass(frozen=True)
class Model:
    """How rows become numbers, what is predicted, and by which learner."""

    target: str | None = None  # the column to predict; npz and libsvm files know theirs
    learner: Any = Auto()
    task: str | None = None  # "regression" or "classification"; None: as the first rows and the learner suggest
    labels: tuple[Label, Label] | None = None  # two classes, low and high, and no others: learners of two classes then cost half
    lags: int | None = None  # how many of the last labels are inputs of the next row; None: as the learner itself is set
    standardize: bool = True  # inputs, by the rows so far
    scale_target: bool = True  # a number to predict, by its first 256
    missing: Missing = Missing.MEAN  # what becomes of a missing value: refuse it, the mean of its column so far, drop its row
    columns: tuple[str, ...] | None = None  # the inputs; None: all but the target
    without: tuple[str, ...] = ()  # columns that are no inputs
    text: tuple[str, ...] = ()  # columns of strings though they look like numbers
    dates: tuple[str, ...] = ()  # columns of dates; those that look like dates are found
    hashed: tuple[str, ...] = ()  # strings that go into 64 columns by a hash: for values of which most come later
    spare: int = 0  # columns kept free for keys that first come after the first rows

    def __post_init__(self) -> None:
        if not is_learner(self.learner):
            raise InputError(f"learner must be one of onkel's learners, such as onkel.PKAWV(), got {self.learner!r:.200}")
        if self.task not in (None, *TASKS):
            raise InputError(f"task must be {' or '.join(map(repr, TASKS))}, or None: as the rows suggest; got {self.task!r:.60}")
        for name in ("standardize", "scale_target"):
            flag(self, name)
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
        if self.target is not None and not isinstance(self.target, str):
            raise InputError(f"target must be the name of a column, got {self.target!r:.60}")
        if self.labels is not None:
            object.__setattr__(self, "labels", _two(self.labels))

    # --- rows as tables

    def open(self, rows: Any, reading: Reading = AS_DETECTED) -> Stream:
        """The rows of a file, a table in memory, dicts, or (X, y): columns planned and target recognised by the first of them."""
        rows, target = rows if _is_pair(rows) else (rows, self.target)
        opened = stream.read(
            rows,
            target,
            missing=self.missing,
            labels=self.labels,
            hashed=self.hashed,
            spare=self.spare,
            reading=dataclasses.replace(reading, columns=self.columns, without=self.without, text=self.text, dates=self.dates),
        )
        return dataclasses.replace(opened, target=self._recognised(opened))

    def open_again(self, state: State, rows: Any, reading: Reading = AS_DETECTED, labelled: bool = True) -> Stream:
        """Other rows, or the same, encoded as they were before; where they are only to be predicted they need no label."""
        target = state.target if labelled else None
        rows, y = rows if _is_pair(rows) else (rows, None)
        try:
            return stream.read_again(rows, state.encoder, target, y=y if labelled else None, reading=reading)
        except NoColumn as error:
            needed = [column.name for column in state.encoder.columns] + ([] if target is None else [target.name])
            both = f"the model needs {listed(needed)}, the file has {listed(error.known)}"
            remedy = f"add the column, or rename the one that is meant{error.hints}"
            raise InputError(f"{error.source} has no column {error.column!r}: {both}; {remedy}") from None

    def _recognised(self, opened: Stream) -> Target:
        """Numbers or classes: as the user says, else as the first rows and the learner suggest."""
        name, sample = opened.target.name, opened.sample
        is_text = name in sample.strings
        if self.task == "regression" and (is_text or self.labels is not None):
            raise InputError(f"{opened.name}: the target {name!r} has labels, not numbers; predict another column")
        if self.labels is not None:
            return opened.target
        if is_text or self.task == "classification":
            return Classes(name, is_text)
        two = two_labels(sample, name)
        if self.task is None and two is not None:
            return Signs(name, *two)
        only_classes = tasks_of(self.learner) == {"classification"}
        may_be_classes = self.task is None and only_classes and numbered(sample, name, MOST_NUMBERED)
        return Classes(name, text=False) if may_be_classes else Value(name)

    def _tables(self, state: State, rows: Any, labelled: bool = True) -> Iterator[Table]:
        if isinstance(rows, Table):
            return iter([rows])
        if isinstance(rows, Mapping):
            return self._records(state, labelled).tables([rows])
        if isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows):
            step, records = rows_at_once(state.encoder.width + 1), self._records(state, labelled)
            return (table for start in range(0, len(rows), step) for table in records.tables(rows[start : start + step]))
        return self.open_again(state, rows, labelled=labelled).tables()

    def _records(self, state: State, labelled: bool) -> Records:
        """Dicts need not be looked at first: what they hold is known, and a key that is absent is a missing value."""
        encoder, target = state.encoder, state.target
        kinds = {column.name: column.kind for column in encoder.columns} | ({target.name: target.kind} if labelled else {})
        return Records(kinds, (*encoder.passed, *self.without, target.name), room=encoder.grows or encoder.spare > 0)

    # --- the verbs

    def init(self, rows: Any) -> State:
        """A state that has learnt nothing: the rows say which columns there are and of which type, no more."""
        return self.begin(self.open(rows))

    def begin(self, opened: Stream) -> State:
        """A state for the rows of a stream that `open` has opened."""
        target, encoder = opened.target, opened.encoder
        learner = self.assembled(target, encoder.grows)
        inner = learner.init(encoder.width, target.outputs)
        return owned(self, State(encoder, target, learner, inner, encoder.init()))

    def again(self, state: State) -> State:
        """A state that has learnt nothing, for the same columns and target."""
        inner = state.learner.init(state.encoder.width, state.target.outputs)
        return owned(self, State(state.encoder, state.target, state.learner, inner, state.encoder.init()))

    def assembled(self, target: Target, late: bool = False) -> Any:
        """The learner as it meets this target; `late`: columns may still come during the first rows."""
        learner = suited(self.learner, target.task)
        return assembled(learner, target.task, target.several, self.standardize, self.scale_target, self.lags, late)

    def learn(self, state: State, rows: Any) -> NDArray[Any]:
        """The answer for each row before it was learnt: a number, or a label. A row that is dropped has none (NaN, None)."""
        parts = []
        for table in self._tables(state, rows):
            answers = self.answer(state, table)
            parts.append(self._shown(state, answers.predicted, answers.kept))
        return _joined(parts)

    def answer(self, state: State, table: Table) -> Answers:
        """Learn the rows of a table; what was said of each before, and what its label was."""
        call = turn(self, state, True)
        try:
            answers = [self._take(call, state, part) for part in self._parts(state, table)]
        except BaseException:
            call.fail()
            raise
        call.end()
        return answers[0] if len(answers) == 1 else _put_together(answers)

    def predict(self, state: State, rows: Any) -> NDArray[Any]:
        """The answer for each row as if it came next: a number, or a label; changes nothing."""
        return self._predicted(state, rows, self.decided, _next)

    def predict_any(self, state: State, rows: Any) -> NDArray[Any]:
        """The answer for rows that may come at any time: where the last labels are inputs, it does without them."""
        return self._predicted(state, rows, self.decided, predict_any)

    def predict_proba(self, state: State, rows: Any) -> Matrix:
        """The probability of each class (n, classes), in the order of `classes`, of rows as if each came next."""
        self._check_task(state, "classification")
        return self._predicted(state, rows, self.probabilities, _next)

    def predict_interval(self, state: State, rows: Any, level: float = 0.9) -> Matrix:
        """Lower and upper end (n, 2) of an interval in which a share `level` of the labels has been of late."""
        self._check_task(state, "regression")
        ends = lambda learner, inner, X: learner.predict_interval(inner, X, level)  # noqa: E731
        return self._predicted(state, rows, lambda state, found: found, ends)

    def scores(self, state: State, table: Table) -> tuple[Vector, Mask]:
        """Of rows that may come at any time: numbers, or a column for each class; and which rows of the table have them."""
        with turn(self, state):
            X, kept = state.encoder.predict(state.encoded, state.encoder.taking_late(table))
            return state.target.scores(predict_any(state.learner, state.inner, X), state.labels), kept

    def classes(self, state: State) -> list[Any]:
        """The labels of the classes, in the order of their probabilities."""
        return [cell(label) for label in state.target.classes(state.labels)]

    def probabilities(self, state: State, scores: Matrix) -> Matrix:
        """Of the classes, by their scores."""
        if not scores.size:
            return scores
        return probabilities(scoring(state.learner), scores, self._are_signs(state))

    def has_probabilities(self, state: State) -> bool:
        """Whether its scores say how likely a class is, and not only which."""
        return are_probabilities(scoring(state.learner))

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        with turn(self, state):
            state.encoder.check(state.encoded)
            possible = [self.assembled(state.target, late) for late in (False, True)]
            outputs = max(state.target.outputs, len(state.labels))
            fits = isinstance(state.target, Target) and state.learner in possible and type(state.rows) is int and state.rows >= 0
            kinds, wanted = {type(label) for label in state.labels}, str if state.target.kind is Kind.TEXT else float
            fits = fits and kinds <= ({wanted} if state.target.several else set()) and len(set(state.labels)) == len(state.labels)
            fits = fits and all(label == label for label in state.labels) and state.encoder.missing is self.missing
            fits = fits and self.target in (None, state.target.name) and self.task in (None, state.target.task)
            if not fits or (state.inner.dim, state.inner.outputs) != (state.encoder.width, outputs):
                raise InputError("its learner and its encoder do not fit together")
            state.learner.check(state.inner)

    def notes(self, state: State) -> list[str]:
        """What a person should know of this state, one sentence each."""
        with turn(self, state):
            return [*state.encoder.notes(state.encoded), *map(str, state.learner.notes(state.inner))]

    # --- what a state is made for

    @staticmethod
    def own(learner: Any) -> Any:
        """The user's learner, inside its wrappers."""
        return bare(learner)

    def lags_of(self, state: State) -> int:
        """How many earlier labels are inputs."""
        return lags_of(state.learner)

    def standardises(self, state: State) -> dict[str, bool]:
        """Whether inputs and target are standardised around the learner, which may do so itself."""
        scaled: Scaled = part(state.learner, Scaled)
        return {"inputs": scaled.inputs, "target": scaled.targets}

    def coverage(self, state: State) -> dict[str, float]:
        """The share of labels within their interval, by level; of classes there are none."""
        if not isinstance(state.learner, Intervals):
            return {}
        return {str(level): share for level, share in state.learner.coverage(state.inner).items()}

    # --- how a table is learnt

    def _take(self, call: Call, state: State, table: Table) -> Answers:
        """Encode on copies, learn, and then commit what the encoder has learnt, up to the same row (`onkel.turns`)."""
        table, encoder, inner, encoded = self._with_columns(state, table)
        labels, met = list(state.labels), len(state.labels)
        X, codes, kept = stream.encoded(encoder, encoded, state.target, labels, table)
        after = {"encoder": encoder, "encoded": encoded, "labels": labels, "rows": state.rows + len(table)}
        if len(labels) > inner.outputs:  # on a copy: a class that nobody has learnt is none
            inner = copied(inner) if inner is state.inner else inner
            state.learner.widen(inner, len(labels))
        scores = np.empty((0, inner.outputs) if state.target.several else 0)
        if len(codes):
            coded = state.target.coded(codes, inner.outputs, state.learner.absent)
            coded = coded if state.target.several else coded[:, 0]
            if inner is state.inner:
                call.defer(partial(self._follow, state, table, state.learner._hooks._learnt(inner), len(codes), after))
                scores = state.learner.learn(inner, X, coded)
                call.complete()
                return self._answers(state, scores, codes, kept, met)
            scores = state.learner.learn(inner, X, coded)
        vars(state).update(after, inner=inner)  # as one step
        return self._answers(state, scores, codes, kept, met)

    def _follow(self, state: State, table: Table, before: int, rows: int, after: dict[str, Any]) -> None:
        """Bring the encoder up to the rows that the learner has learnt: all of the table's, or the first ones."""
        learnt = state.learner._hooks._learnt(state.inner) - before
        if state.rows + len(table) != after["rows"] or not learnt:  # done before, or nothing to do
            return
        if learnt < rows:
            after = {**after, "encoded": state.encoded.copy(), "labels": list(state.labels)}
            kept = stream.encoded(state.encoder, state.encoded.copy(), state.target, list(state.labels), table)[2]
            first = table[: int(np.flatnonzero(kept)[learnt - 1]) + 1]
            stream.encoded(state.encoder, after["encoded"], state.target, after["labels"], first)
            after["rows"] = state.rows + len(first)
        vars(state).update(after)

    @property
    def _hooks(self) -> Model:
        return self  # a model does its own work; of a learner `onkel.turns` asks this

    def _settle(self, state: State) -> None:
        return  # what the learner owes, its own turn has paid

    def _with_columns(self, state: State, table: Table) -> tuple[Table, Encoder, Any, EncoderState]:
        """The table, the encoder, the learner's state and the encoder's own, a copy, with room for numbers under new names.

        As long as the learner keeps its first rows, a new column begins as if it had been there, and missing, from the start.
        """
        found = self._new_keys(state, table) if state.encoder.grows and table.late and len(table) else {}
        new = sorted(name for name, row in found.items() if row == 0)
        if not new or not state.learner.keeps_rows(state.inner):
            return state.encoder.taking_late(table), state.encoder, state.inner, state.encoded.copy()
        encoder, encoded = state.encoder.extended(state.encoded, new)
        inner, old = copied(state.inner), state.encoder.width - state.encoder.spare
        places = [*range(old), *range(old + len(new), encoder.width)]
        state.learner.rearrange(inner, encoder.width, places)
        return encoder.taking_late(table), encoder, inner, encoded

    def _parts(self, state: State, table: Table) -> Iterator[Table]:
        """Cut before each row that brings a new key, so that how rows are handed over makes no difference."""
        if not (state.encoder.grows and table.late):
            yield table
            return
        cuts = sorted({0, *self._new_keys(state, table).values(), len(table)})
        yield from (table[start:stop] for start, stop in itertools.pairwise(cuts))

    def _new_keys(self, state: State, table: Table) -> dict[str, int]:
        """Names of numbers that have no column, and the first row with a label that has each."""
        labelled = ~state.target.missing(table)
        there = {
            name: ~np.isnan(column) & labelled for name, column in table.late.items() if name not in state.encoder.names_of_numbers
        }
        return {name: int(np.argmax(rows)) for name, rows in there.items() if rows.any()}

    def _answers(self, state: State, scores: Vector, codes: Vector, kept: Mask, met: int) -> Answers:
        """`met` classes were known before the table: what came in it was unknown until its own row."""
        target, labels = state.target, state.labels
        if target.task == "regression":
            return Answers(np.asarray(scores).reshape(-1), None, codes, kept)
        if not target.several:
            columns = target.scores(scores, labels)
            return Answers(target.decided(columns), self.probabilities(state, columns), codes, kept)
        known = met_before(codes, met, scores.shape[1])
        found, counts = np.zeros(scores.shape), known.sum(axis=1)
        for count in np.unique(counts[counts > 0]).tolist():  # classes come in the order of their columns
            rows = np.flatnonzero(counts == count)
            found[rows, :count] = self.probabilities(state, scores[rows, :count])
        return Answers(target.decided(scores, known), found, codes, kept)

    def _predicted(
        self, state: State, rows: Any, answer: Callable[[State, Any], Any], score: Callable[[Any, Any, Matrix], Any]
    ) -> NDArray[Any]:  # fmt: skip
        parts = []
        for table in self._tables(state, rows, labelled=False):
            with turn(self, state):
                X, kept = state.encoder.predict(state.encoded, state.encoder.taking_late(table))
                found = state.target.scores(score(state.learner, state.inner, X), state.labels)
                parts.append(_spread(answer(state, found), kept))
        return _joined(parts)

    def decided(self, state: State, scores: Vector) -> NDArray[Any]:
        """The answers that scores stand for: numbers, or labels."""
        codes = state.target.decided(scores)
        return self._shown(state, codes, np.ones(len(codes), dtype=bool))

    def _shown(self, state: State, codes: Vector, kept: Mask) -> NDArray[Any]:
        """Codes of answers as numbers or labels, one for each row; NaN and None for rows that have none."""
        if state.target.task == "regression":
            return _spread(codes, kept)
        labels = self.classes(state)
        return _spread(np.array([None if code < 0 else labels[int(code)] for code in codes.tolist()], dtype=object), kept)

    def _are_signs(self, state: State) -> bool:
        """Whether a class that a row is not of was learnt as -1, not as 0."""
        return not state.target.several or state.learner.absent < 0.0

    def _check_task(self, state: State, task: str) -> None:
        if state.target.task != task:
            remedy = "predict gives its numbers, predict_interval their range" if task == "classification" else "see predict_proba"
            raise InputError(f"this model was made for {state.target.task} of {state.target.name!r}: {remedy}")


def _is_pair(rows: Any) -> bool:
    """Whether it is (X, y), an array or a table and the labels of its rows."""
    return isinstance(rows, tuple) and len(rows) == 2 and hasattr(rows[0], "shape")


def _next(learner: Any, inner: Any, X: Matrix) -> Vector:
    scores: Vector = learner.predict(inner, X)
    return scores


def _spread(answers: NDArray[Any], kept: Mask) -> NDArray[Any]:
    """One answer a row, nothing for rows that were not kept."""
    if kept.all():
        return answers
    spread = np.full((len(kept), *answers.shape[1:]), None if answers.dtype == object else np.nan, dtype=answers.dtype)
    spread[kept] = answers
    return spread


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One below the other; where a class came between two of them, 0 for it before."""
    if len(parts) == 1 or not parts:
        return parts[0] if parts else np.empty(0)
    if parts[0].ndim == 2:
        width = max(part.shape[1] for part in parts)
        parts = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts]
    return np.concatenate(parts)


def _put_together(answers: Sequence[Answers]) -> Answers:
    found = [answer.probabilities for answer in answers if answer.probabilities is not None]
    return Answers(
        np.concatenate([answer.predicted for answer in answers]),
        _joined(found) if found else None,
        np.concatenate([answer.actual for answer in answers]),
        np.concatenate([answer.kept for answer in answers]),
    )


def _two(labels: Any) -> tuple[Label, Label]:
    """Two labels, as a file can hold them: strings, or numbers."""
    given = labels if isinstance(labels, list | tuple) else ()
    plain = [label.item() if isinstance(label, np.generic) else label for label in given]
    of_one_kind = any(all(isinstance(label, kind) for label in plain) for kind in (str, int | float))
    if len(plain) != 2 or not of_one_kind or plain[0] == plain[1]:
        raise InputError(f"labels must be two, low and high, both strings or both numbers, got {labels!r:.60}")
    low, high = (label if isinstance(label, str) else float(label) for label in plain)
    return low, high


def called(learner: Any) -> str:
    """A learner's name, and the settings that are not the usual ones."""
    usual = type(learner)()
    other = [field.name for field in dataclasses.fields(learner) if getattr(learner, field.name) != getattr(usual, field.name)]
    settings = ", ".join(f"{name}={getattr(learner, name)!r}" for name in other)
    return f"{type(learner).__name__}({settings})" if settings else type(learner).__name__
