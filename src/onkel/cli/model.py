"""A model of the command line: a learner and all that stands between it and a file, in one `.onkel` file.

file ──encoder──> X ──> the learner in its wrappers ──> score        (combine/assembly.py)
     ──target───> y ──────────^
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel import data
from onkel._types import Matrix, Vector
from onkel.cli.tally import OfClasses, OfNumbers, Tally
from onkel.combine import Auto, Intervals, OneVsRest, Scaled
from onkel.combine.assembly import DEFAULT, LEAST_CLASSES, assembled, bare, lags_of, part, scoring
from onkel.combine.chances import are_chances, chances
from onkel.combine.inner import predict_any
from onkel.data.encoder import State as EncoderState
from onkel.data.target import Classes, Label, Signs, Target
from onkel.errors import FileError, InputError
from onkel.learners.protocol import is_learner
from onkel.persist import Extra, from_json, read, to_json

ROWS_TO_WARM_UP = 64
LAGS = 3  # of Auto, where nobody says another number


def read_learner(text: str | None) -> Any:
    """A learner from what a person typed."""
    learner = DEFAULT if text is None else onkel.parse(text)
    if not is_learner(learner):
        raise InputError(f"{learner!r} is not a learner; name one, such as PKAWV(features={learner!r})")
    return learner


def called(learner: Any) -> str:
    """Its name, and the settings that are not the usual ones."""
    usual = type(learner)()
    other = [field.name for field in dataclasses.fields(learner) if getattr(learner, field.name) != getattr(usual, field.name)]
    settings = ", ".join(f"{name}={getattr(learner, name)!r}" for name in other)
    return f"{type(learner).__name__}({settings})" if settings else type(learner).__name__


def wrapped(learner: Any, target: Target, raw: bool, lags: int) -> Any:
    """The learner as it meets the file."""
    return assembled(learner, task_of(target), isinstance(target, Classes), not raw, not raw, lags)


def lags_for(learner: Any, said: int | None, shuffled: bool) -> int:
    """How many earlier labels are its inputs: as the user says, or a few for Auto where rows come in their own order."""
    if said is not None:
        return said
    return (learner.lags or LAGS) if isinstance(learner, Auto) and not shuffled else 0


def task_of(target: Target) -> str:
    return "classification" if isinstance(target, Signs | Classes) else "regression"


@dataclass
class Model:
    learner: Any  # in its wrappers
    state: Any
    encoder: data.Encoder
    encoded: EncoderState
    target: Target
    tally: Any  # a Tally
    rows: int = 0  # of the files, learnt or dropped
    learnt: str = ""  # the fingerprint of these rows
    earlier: int = 0  # rows of other files, learnt before them
    losses: Vector = field(default_factory=lambda: np.empty(0))  # of the rows learnt last

    @staticmethod
    def fresh(learner: Any, stream: data.Stream, encoded: EncoderState, raw: bool, lags: int) -> Model:
        whole = wrapped(learner, stream.target, raw, lags)
        state = whole.init(stream.encoder.width, _outputs(stream.target))
        return Model(whole, state, stream.encoder, encoded, stream.target, _tally(stream.target))

    @property
    def task(self) -> str:
        return task_of(self.target)

    @property
    def own(self) -> Any:
        """The user's learner, inside."""
        return bare(self.learner)

    @property
    def lags(self) -> int:
        """Earlier labels that are inputs."""
        return lags_of(self.learner)

    @property
    def scales(self) -> Scaled:
        scaled: Scaled = part(self.learner, Scaled)
        return scaled

    @property
    def coverage(self) -> dict[str, float]:
        """The share of labels within their interval, by level; of classes there are none."""
        if not isinstance(self.learner, Intervals):
            return {}
        return {str(level): share for level, share in self.learner.coverage(self.state).items()}

    @property
    def _signs(self) -> bool:
        """Whether labels of classes are ±1, not 0 and 1."""
        return isinstance(self.target, Signs) or part(self.learner, OneVsRest) is not None

    @property
    def labels(self) -> list[Label]:
        """Of the classes, in the order of their scores."""
        return [self.target.low, self.target.high] if isinstance(self.target, Signs) else self.encoded.labels

    def warm_up(self, X: Matrix, y: Vector) -> None:
        """Load the compiled code, on states that are thrown away."""
        state = self.learner.init(self.encoder.width, _outputs(self.target))
        idle = dataclasses.replace(self, state=state, tally=_tally(self.target))
        idle.learn(X[:ROWS_TO_WARM_UP], y[:ROWS_TO_WARM_UP])
        idle.predict(X[:1])

    def learn(self, X: Matrix, y: Vector) -> None:
        if isinstance(self.target, Classes):
            self._learn_classes(X, _place(y))
            return
        scores = self.learner.learn(self.state, X, y)
        if isinstance(self.target, Signs):
            both = np.column_stack([-scores, scores])
            self.losses = self.tally.add(self.classes(both), self.chances(both), _place(y > 0.0))
        else:
            self.losses = self.tally.add(scores, y)

    def _learn_classes(self, X: Matrix, own: NDArray[np.int64]) -> None:
        if len(self.labels) > self.state.outputs:
            self.learner.widen(self.state, len(self.labels))
        coded = np.where(own[:, None] == np.arange(self.state.outputs), 1.0, OneVsRest.absent if self._signs else 0.0)
        scores = self.learner.learn(self.state, X, coded)
        self.losses = self.tally.add(self.tally.best(scores, own), self.tally.known(self.chances(scores), own), own)

    def predict(self, X: Matrix) -> Vector:
        """Numbers; of classes the scores, one column each. For rows that may come at any time."""
        scores = predict_any(self.learner, self.state, X)
        if isinstance(self.target, Signs):
            return np.column_stack([-scores, scores])
        return scores[:, : len(self.labels)] if isinstance(self.target, Classes) else scores

    def classes(self, scores: Matrix) -> NDArray[np.int64]:
        """Of each row, the place of its class among the labels; the high one of two where they are even."""
        if isinstance(self.target, Signs):
            return _place(scores[:, 1] >= 0.0)
        return np.asarray(scores.argmax(axis=1))

    @property
    def has_chances(self) -> bool:
        return are_chances(scoring(self.learner))

    def chances(self, scores: Matrix) -> Matrix:
        return chances(scoring(self.learner), scores, self._signs)

    def notes(self) -> list[str]:
        return [str(note) for note in self.learner.notes(self.state)]

    def save(self, path: Path) -> None:
        about = {
            "encoder": to_json(self.encoder),
            "encoded": self.encoded.to_json(),
            "target": to_json(self.target),
            "rows": self.rows,
            "learnt": self.learnt,
            "earlier": self.earlier,
            "tally": dataclasses.asdict(self.tally),
        }
        onkel.save(path, self.learner, self.state, Extra({"run": about}, {}))

    @staticmethod
    def load(path: Path) -> Model:
        learner, state, extra = read(path)
        about = None if extra is None else extra.about.get("run")
        if about is None:
            raise FileError(f"{path} does not say how its inputs were made: it was saved from Python; use onkel.load there")
        try:
            encoder, target = from_json(about["encoder"]), from_json(about["target"])
            encoded = EncoderState.from_json(about["encoded"])
            tally = type(_tally(target))(**about["tally"])
            so_far = int(about["rows"]), str(about["learnt"]), int(about["earlier"])
            model = Model(learner, state, encoder, encoded, target, tally, *so_far)
            encoder.check(encoded)
            fits = isinstance(target, Target) and learner in _ways(model)
            if not fits or (state.dim, state.outputs) != (encoder.width, max(_outputs(target), len(encoded.labels))):
                raise InputError("its learner and its encoder do not fit together")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileError(f"cannot load {path}: {error}; it may be altered, save it again") from None
        return model


def _ways(model: Model) -> list[Any]:
    """How this learner may have met this target."""
    return [wrapped(model.own, model.target, raw, model.lags) for raw in (False, True)]


def _outputs(target: Target) -> int:
    """How many there are before any label has come."""
    return LEAST_CLASSES if isinstance(target, Classes) else 1


def _tally(target: Target) -> Tally:
    return OfNumbers() if task_of(target) == "regression" else OfClasses()


def _place(values: Any) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.int64)
