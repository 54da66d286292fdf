"""What came out of a stream: one plain object, which tables, pictures and JSON are all made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onkel._types import Vector
from onkel.measure.reliability import Reliability


@dataclass(frozen=True)
class Result:
    source: str  # where the rows came from
    target: str  # the column that was predicted
    task: str  # "regression" or "classification"
    classes: tuple[Any, ...]  # labels, in the order of their probabilities; none for numbers
    learner: str  # as the code that makes it
    name: str  # the same, without settings that are the usual ones
    lags: int  # earlier labels that were inputs
    standardised: dict[str, bool]  # inputs, target
    rows: int  # scored, then learnt
    earlier_rows: int  # of other files, learnt before these
    inputs: int  # columns of the source
    columns: int  # those became of X
    errors: dict[str, float]  # means over all rows; the first is the one to compare by
    baselines: dict[str, dict[str, float]]  # of guesses that know only the labels before each row
    coverage: dict[str, float]  # the share of labels within their interval, by level
    reliability: Reliability | None  # of the probabilities of classes
    microseconds_per_row: float
    bytes: int  # of the learner's state
    decided: tuple[str, ...]  # what Auto has found out, one sentence each
    notes: tuple[str, ...]  # what a person should know, one sentence each
    losses: Vector | None = None  # by the first measure, row by row, where they were kept

    @property
    def measure(self) -> str:
        """The error to compare by."""
        return next(iter(self.errors))

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts."""
        is_class = self.reliability is not None
        return {
            "file": self.source,
            "target": self.target,
            "task": self.task,
            **({"classes": list(self.classes)} if is_class else {}),
            "learner": self.learner,
            "lags": self.lags,
            "standardised": self.standardised,
            "rows": self.rows,
            "earlier_rows": self.earlier_rows,
            "inputs": self.inputs,
            "columns": self.columns,
            **self.errors,
            **self._believed(),
            **({} if is_class else {"coverage": self.coverage}),
            **{name.replace(" ", "_"): means for name, means in self.baselines.items()},
            "microseconds_per_row": self.microseconds_per_row,
            "bytes": self.bytes,
            **({"decided": list(self.decided)} if self.decided else {}),
            "notes": list(self.notes),
        }

    def _believed(self) -> dict[str, float]:
        """How far the probabilities can be believed."""
        if self.reliability is None:
            return {}
        return {"brier": self.reliability.brier, "calibration_error": self.reliability.calibration_error}
