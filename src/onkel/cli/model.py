"""A model of the command line: a learner and all that stands between it and a file, in one `.onkel` file.

file ──encoder──> X ──scale──> learner ──> score
     ──target───> y ─────────────^
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import onkel
from onkel import data
from onkel._types import Matrix, Vector
from onkel.data.encoder import State as EncoderState
from onkel.data.target import Signs, Target
from onkel.errors import FileError, InputError
from onkel.features.scale import State as Scale
from onkel.learners.protocol import tasks_of
from onkel.measure import absolute, mistakes, square
from onkel.measure.metrics import Metric
from onkel.persist import Extra, from_json, read, to_json

ROWS_TO_WARM_UP = 64
DEFAULT = onkel.PKAWV(features=onkel.Fourier(count=100) + onkel.Identity() + onkel.Constant())
METRICS: dict[str, dict[str, Metric]] = {
    "classification": {"mistakes": mistakes, "square": square},
    "regression": {"square": square, "absolute": absolute},
}


def read_learner(text: str | None, task: str, raw: bool) -> Any:
    """A learner from what a person typed; its task must be this one. Unless `raw`, its features begin with Standardize."""
    learner = DEFAULT if text is None else onkel.parse(text)
    if not hasattr(learner, "learn"):
        raise InputError(f"{learner!r} is not a learner; name one, such as PKAWV(features={learner!r})")
    if task not in tasks_of(learner):
        able = " and ".join(sorted(tasks_of(learner)))
        other = f"{type(learner).__name__}(loss={'Square' if task == 'regression' else 'Hinge'}())"
        remedy = f"give it another loss: {other}" if task in learner.tasks else "choose another: onkel learners"
        raise InputError(f"{learner!r:.200} learns {able}, but this is {task}; {remedy}")
    if raw or not hasattr(learner, "features") or scales_itself(learner):
        return learner
    features = learner.features if isinstance(learner.features, tuple) else (learner.features,)
    return dataclasses.replace(learner, features=(onkel.Standardize(), *features))


def scales_itself(learner: Any) -> bool:
    features = getattr(learner, "features", ())
    first = features[0] if isinstance(features, tuple) and features else features
    return isinstance(first, onkel.Standardize)


@dataclass
class Tally:
    """Sums of each metric over the rows so far: of the learner, and of two guesses that know only the labels before each row."""

    rows: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    running_mean: dict[str, float] = field(default_factory=dict)
    last_label: dict[str, float] = field(default_factory=dict)
    labels: float = 0.0  # their sum
    last: float = 0.0

    def add(self, metrics: dict[str, Metric], scores: Vector, y: Vector) -> None:
        sums = np.cumsum(np.concatenate([[self.labels], y]))
        mean = sums[:-1] / np.maximum(self.rows + np.arange(len(y)), 1)
        last = np.concatenate([[self.last], y[:-1]])
        for name, metric in metrics.items():
            for total, guess in ((self.sums, scores), (self.running_mean, mean), (self.last_label, last)):
                total[name] = total.get(name, 0.0) + float(np.sum(metric(guess, y)))
        self.labels, self.last, self.rows = float(sums[-1]), float(y[-1]), self.rows + len(y)

    def means(self) -> dict[str, float]:
        return self._over_rows(self.sums)

    def references(self) -> dict[str, dict[str, float]]:
        return {"running mean": self._over_rows(self.running_mean), "last label": self._over_rows(self.last_label)}

    def _over_rows(self, sums: dict[str, float]) -> dict[str, float]:
        return {name: total / max(1, self.rows) for name, total in sums.items()}


@dataclass
class Model:
    learner: Any
    state: Any
    scale: Scale | None  # None: X goes to the learner as it is
    encoder: data.Encoder
    encoded: EncoderState
    target: Target
    rows: int = 0  # of the file, learnt or dropped
    tally: Tally = field(default_factory=Tally)

    @property
    def task(self) -> str:
        return "classification" if isinstance(self.target, Signs) else "regression"

    @property
    def metrics(self) -> dict[str, Metric]:
        return METRICS[self.task]

    @staticmethod
    def fresh(learner: Any, stream: data.Stream, raw: bool) -> Model:
        width = stream.encoder.width
        scale = None if raw or scales_itself(learner) else onkel.Standardize().init(width)
        return Model(learner, learner.init(width), scale, stream.encoder, stream.encoder.init(), stream.target)

    def warm_up(self, X: Matrix, y: Vector) -> None:
        """Load the compiled code, on states that are thrown away."""
        idle = dataclasses.replace(self, state=self.learner.init(self.encoder.width), tally=Tally())
        idle.learn(X[:ROWS_TO_WARM_UP], y[:ROWS_TO_WARM_UP])
        idle.predict(X[:1])

    def learn(self, X: Matrix, y: Vector) -> Vector:
        Z, after = self._scaled(X, np.ones(len(X)))
        scores: Vector = self.learner.learn(self.state, Z, y)
        self.scale = after
        self.tally.add(self.metrics, scores, y)
        return scores

    def predict(self, X: Matrix) -> Vector:
        scores: Vector = self.learner.predict(self.state, self._scaled(X, np.zeros(len(X)))[0])
        return scores

    def _scaled(self, X: Matrix, weight: Vector) -> tuple[Matrix, Scale | None]:
        if self.scale is None:
            return X, None
        Z = np.empty_like(X)
        return Z, onkel.Standardize().write(self.scale, X, weight, Z, 0)

    def notes(self) -> list[str]:
        return [str(note) for note in self.learner.notes(self.state)]

    def save(self, path: Path) -> None:
        scale = self.scale and {"mean": self.scale.mean.tolist(), "spread": self.scale.spread.tolist(), "rows": self.scale.rows}
        about = {
            "encoder": to_json(self.encoder),
            "encoded": self.encoded.to_json(),
            "target": to_json(self.target),
            "scale": scale,
            "rows": self.rows,
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
            encoder, scale = from_json(about["encoder"]), about["scale"]
            found = None if scale is None else Scale(np.array(scale["mean"]), np.array(scale["spread"]), int(scale["rows"]))
            model = Model(
                learner, state, found, encoder, EncoderState.from_json(about["encoded"]), from_json(about["target"]),
                int(about["rows"]), Tally(**about["tally"]),
            )  # fmt: skip
            encoder.check(model.encoded)
            shapes = {state.dim, encoder.width, *([] if found is None else [len(found.mean), len(found.spread)])}
            if len(shapes) > 1 or not isinstance(model.target, Target):
                raise InputError("its learner and its encoder do not fit together")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileError(f"cannot load {path}: {error}; it may be altered, save it again") from None
        return model
