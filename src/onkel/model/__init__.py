"""A raw row in, an answer out: encoder, target and learner in one object.

Decisions: docs/decisions/model.md
"""

from onkel.model.answers import Answers
from onkel.model.encoder import Cyclic, Encoder, Hashed, Missing, Number, OneHot
from onkel.model.learning import State
from onkel.model.model import Model
from onkel.model.stream import Stream, read
from onkel.model.target import Classes, Signs, Target, Value

__all__ = [
    "Answers",
    "Classes",
    "Cyclic",
    "Encoder",
    "Hashed",
    "Missing",
    "Model",
    "Number",
    "OneHot",
    "Signs",
    "State",
    "Stream",
    "Target",
    "Value",
    "read",
]
