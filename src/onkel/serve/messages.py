"""What requests and replies hold, as JSON. `msgspec` refuses what does not fit, and says where."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from onkel.errors import InputError
from onkel.model import Model
from onkel.persist import parse
from onkel.protocol import is_learner

Value = float | int | str | bool | None
Row = dict[str, Value]
Id = Annotated[str, Meta(min_length=1, max_length=200)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class Settings(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The body of PUT: the fields of `onkel.Model`, with the learner as Python code, which is parsed and never executed."""

    target: Name
    learner: Name = "Auto()"
    task: str | None = None
    labels: tuple[str | float, str | float] | None = None
    lags: int | None = None
    standardize: bool = True
    scale_target: bool = True
    missing: str = "mean"
    columns: list[str] | None = None
    without: list[str] = []
    text: list[str] = []
    dates: list[str] = []
    hashed: list[str] = []
    cycles: dict[str, float] | None = None
    spare: int = 0

    def model(self) -> Model:
        given = msgspec.structs.asdict(self)
        learner = parse(given.pop("learner"))
        if not is_learner(learner):
            raise InputError(f"{self.learner} is not a learner; see: onkel learners")
        cycles = given.pop("cycles")
        return Model(**given, learner=learner, cycles=None if cycles is None else tuple(cycles.items()))


class Learn(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to learn, each with its label under the name of the target."""

    rows: list[Row]
    request_id: Id | None = None


class Predict(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to predict. With an id for each, they are kept until their labels come. `interval` is a level, such as 0.9."""

    rows: list[Row]
    ids: list[Id] | None = None
    interval: float | None = None


class Label(msgspec.Struct, forbid_unknown_fields=True):
    id: Id
    label: float | int | str | bool


class Labels(msgspec.Struct, forbid_unknown_fields=True):
    """The labels of rows that were predicted under ids."""

    labels: list[Label]
    request_id: Id | None = None


class Answer(msgspec.Struct, omit_defaults=True):
    """What a model answers for each row: a number or a label, and for classes their probabilities in the order of `classes`."""

    predictions: list[Any]
    classes: list[Any] | None = None
    probabilities: list[list[float]] | None = None
    intervals: list[list[float]] | None = None


class Learnt(Answer, kw_only=True):
    """What was predicted for each row before it was learnt. `sequence` counts the rows of the model up to the last one of these."""

    sequence: int
    unknown: list[str] = []  # ids for which no row waits


class Block(msgspec.Struct, omit_defaults=True):
    """A record of the log: rows that were learnt together, and the earlier labels that were known when they were predicted."""

    rows: list[Row]
    lagged: list[float] | None = None


class Waiting(msgspec.Struct):
    """A row that was predicted, and the earlier labels that were known then."""

    row: Row
    lagged: list[float]


encode = msgspec.json.Encoder().encode
