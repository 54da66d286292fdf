"""The groups in which `onkel learners` lists the learners, in this order. Each learner names its group, and says in which case to
choose it."""

from __future__ import annotations

from enum import Enum


class Group(Enum):
    START = "start here"
    FEATURES = "fast, on fixed features; linear with features=Identity() + Constant()"
    POINTS = "nonlinear, on points chosen from the stream; most in fixed memory"
    CURVES = "additive and interpretable, or kernels that keep every point they need"
    CHANGING = "local, for streams that change (and PKAWV(forgetting=0.999))"
    EXACT = "exact, for reference and short streams: O(t²) a row"
    BASELINES = "baselines of the literature, for two classes"
    OTHER = "others"
