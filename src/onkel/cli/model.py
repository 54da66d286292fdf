"""A model of the command line: a learner and all that stands between it and a file, in one `.onkel` file.

file ──encoder──> X ──Scaled──> learner, or one a class ──> score
     ──target───> y ───────────────^
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
from onkel.combine import OneVsRest, Scaled
from onkel.combine.chances import are_chances, chances
from onkel.combine.scaled import FIRST_ROWS
from onkel.data.encoder import State as EncoderState
from onkel.data.target import Classes, Label, Signs, Target
from onkel.errors import FileError, InputError
from onkel.learners.protocol import is_learner, suited
from onkel.persist import Extra, from_json, read, to_json

ROWS_TO_WARM_UP = 64
DEFAULT = onkel.PKAWV()


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


def wrapped(learner: Any, target: Target, raw: bool) -> Scaled:
    """The learner as it meets the file: behind scales, unless `raw`, and once for every class where it knows only two."""
    task = task_of(target)
    learner = suited(learner, task)
    inputs, targets = not raw and not scales_itself(learner), not raw and task == "regression"
    one_each = isinstance(target, Classes) and not learner.multi_output
    return Scaled(OneVsRest(learner) if one_each else learner, inputs, targets, FIRST_ROWS if targets else 0)


def scales_itself(learner: Any) -> bool:
    features = getattr(learner, "features", ())
    first = features[0] if isinstance(features, tuple) and features else features
    return isinstance(first, onkel.Standardize)


def task_of(target: Target) -> str:
    return "classification" if isinstance(target, Signs | Classes) else "regression"


@dataclass
class Model:
    learner: Scaled
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
    def fresh(learner: Any, stream: data.Stream, encoded: EncoderState, raw: bool) -> Model:
        whole = wrapped(learner, stream.target, raw)
        return Model(whole, whole.init(stream.encoder.width), stream.encoder, encoded, stream.target, _tally(stream.target))

    @property
    def task(self) -> str:
        return task_of(self.target)

    @property
    def own(self) -> Any:
        """The user's learner, inside."""
        inner = self.learner.learner
        return inner.learner if isinstance(inner, OneVsRest) else inner

    @property
    def labels(self) -> list[Label]:
        """Of the classes, in the order of their scores."""
        return [self.target.low, self.target.high] if isinstance(self.target, Signs) else self.encoded.labels

    def warm_up(self, X: Matrix, y: Vector) -> None:
        """Load the compiled code, on states that are thrown away."""
        idle = dataclasses.replace(self, state=self.learner.init(self.encoder.width), tally=_tally(self.target))
        idle.learn(X[:ROWS_TO_WARM_UP], y[:ROWS_TO_WARM_UP])
        idle.predict(X[:1])

    def learn(self, X: Matrix, y: Vector) -> None:
        if not isinstance(self.target, Classes):
            scores = self.learner.learn(self.state, X, y)
            is_sign = isinstance(self.target, Signs)
            self.losses = self.tally.add(_place(scores >= 0.0), _place(y > 0.0)) if is_sign else self.tally.add(scores, y)
            return
        if len(self.labels) > self.state.outputs:
            self.learner.widen(self.state, len(self.labels))
        absent = OneVsRest.absent if isinstance(self.learner.learner, OneVsRest) else 0.0
        own = _place(y)
        coded = np.where(own[:, None] == np.arange(self.state.outputs), 1.0, absent)
        scores = self.learner.learn(self.state, X, coded)
        self.losses = self.tally.add(self.tally.best(scores, own), own)

    def predict(self, X: Matrix) -> Vector:
        """Numbers; of classes the scores, one column each."""
        scores = self.learner.predict(self.state, X)
        if isinstance(self.target, Signs):
            return np.column_stack([-scores, scores])
        return scores.reshape(len(X), -1) if isinstance(self.target, Classes) else scores

    def classes(self, scores: Matrix) -> NDArray[np.int64]:
        """Of each row, the place of its class among the labels; the high one of two where they are even."""
        if isinstance(self.target, Signs):
            return _place(scores[:, 1] >= 0.0)
        return np.asarray(scores.argmax(axis=1))

    @property
    def has_chances(self) -> bool:
        return are_chances(self.own)

    def chances(self, scores: Matrix) -> Matrix:
        signs = isinstance(self.target, Signs) or isinstance(self.learner.learner, OneVsRest)
        return chances(self.own, scores, signs)

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
            outputs = max(1, len(encoded.labels)) if isinstance(target, Classes) else 1
            fits = isinstance(learner, Scaled) and isinstance(target, Target) and learner in _ways(model)
            if not fits or (state.dim, state.outputs) != (encoder.width, outputs):
                raise InputError("its learner and its encoder do not fit together")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileError(f"cannot load {path}: {error}; it may be altered, save it again") from None
        return model


def _ways(model: Model) -> list[Scaled]:
    """How this learner may have met this target."""
    return [wrapped(model.own, model.target, raw) for raw in (False, True)]


def _tally(target: Target) -> Tally:
    return OfNumbers() if task_of(target) == "regression" else OfClasses()


def _place(values: Any) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.int64)
