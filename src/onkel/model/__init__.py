"""A raw row in, an answer out: encoder, target and learner in one object.

Decisions: docs/decisions/model.md
"""

from onkel.model.answers import Answers
from onkel.model.encoder import Cycle, Date, Duration, Encoder, Hashed, HourMinute, LeftOut, Missing, Number, OneHot, Text, Time
from onkel.model.learning import State
from onkel.model.model import Model
from onkel.model.stream import Stream, read
from onkel.model.target import Classes, Signs, Target, Value

__all__ = [
    "Answers",
    "Classes",
    "Cycle",
    "Date",
    "Duration",
    "Encoder",
    "Hashed",
    "HourMinute",
    "LeftOut",
    "Missing",
    "Model",
    "Number",
    "OneHot",
    "Signs",
    "State",
    "Stream",
    "Target",
    "Text",
    "Time",
    "Value",
    "read",
]
