"""One scoring engine, regret and bounds, effective dimension, adversaries, components.

This room measures how well a learner predicts and what it costs, and computes what theory guarantees.

Decisions: docs/decisions/measure.md
"""

from onkel.measure import adversaries, bounds, drift
from onkel.measure.budget import budget_for
from onkel.measure.components import Components, Curve, components
from onkel.measure.cycle import Cycled, cycle
from onkel.measure.engine import Evaluation, Result
from onkel.measure.errors import last_label, running_mean
from onkel.measure.explain import Explanation, explain
from onkel.measure.hindsight import Best, best_within
from onkel.measure.leverage import leverage_scores, online_dimension, online_leverage_scores, spectral_bounds
from onkel.measure.metrics import (
    AUC,
    F1,
    MAE,
    MAPE,
    R2,
    RMSE,
    Accuracy,
    BalancedAccuracy,
    Brier,
    Explained,
    LogLoss,
    Mistakes,
    Pinball,
)
from onkel.measure.newton_regret import NewtonRegret, newton_regret
from onkel.measure.prequential import Trace, prequential
from onkel.measure.regret import Regret, best_in_hindsight, effective_dimension, log_det, projection_error, regret, spectrum
from onkel.measure.reliability import Reliability, log_loss, reliability
from onkel.measure.row_losses import absolute, mistakes, square

__all__ = [
    "AUC",
    "F1",
    "MAE",
    "MAPE",
    "R2",
    "RMSE",
    "Accuracy",
    "BalancedAccuracy",
    "Best",
    "Brier",
    "Components",
    "Curve",
    "Cycled",
    "Evaluation",
    "Explained",
    "Explanation",
    "LogLoss",
    "Mistakes",
    "NewtonRegret",
    "Pinball",
    "Regret",
    "Reliability",
    "Result",
    "Trace",
    "absolute",
    "adversaries",
    "best_in_hindsight",
    "best_within",
    "bounds",
    "budget_for",
    "components",
    "cycle",
    "drift",
    "effective_dimension",
    "explain",
    "last_label",
    "leverage_scores",
    "log_det",
    "log_loss",
    "mistakes",
    "newton_regret",
    "online_dimension",
    "online_leverage_scores",
    "prequential",
    "projection_error",
    "regret",
    "reliability",
    "running_mean",
    "spectral_bounds",
    "spectrum",
    "square",
]
