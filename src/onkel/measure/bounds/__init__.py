"""The bounds of the theorems, as numbers: one file for each paper, and one for the mixing rules.

Each function states its theorem and its conditions, and raises an error if they do not hold.
"""

from onkel.measure.bounds.calandriello2017 import kons, kons_by_dimension, online_effective_dimension, row_sampling, sketched_kons
from onkel.measure.bounds.conditions import oversampling
from onkel.measure.bounds.experts import boa, cutting, exponential_weights, fixed_share, layered, ml_poly, ridge, so_far, stacking
from onkel.measure.bounds.forks2023 import forks_error, forks_sizes
from onkel.measure.bounds.grid import grid, mixing
from onkel.measure.bounds.herbster2001 import constrained_projection, projection
from onkel.measure.bounds.jezequel2019 import (
    clipped_ridge,
    fixed_span,
    gaussian_dimension,
    growing_span,
    growing_span_rate,
    kernel_awv,
    kernel_awv_by_dimension,
    known_inputs,
    known_inputs_rate,
    kors,
    nystroem,
    taylor,
    taylor_degree,
)

__all__ = [
    "boa",
    "clipped_ridge",
    "constrained_projection",
    "cutting",
    "exponential_weights",
    "fixed_share",
    "fixed_span",
    "forks_error",
    "forks_sizes",
    "gaussian_dimension",
    "grid",
    "growing_span",
    "growing_span_rate",
    "kernel_awv",
    "kernel_awv_by_dimension",
    "known_inputs",
    "known_inputs_rate",
    "kons",
    "kons_by_dimension",
    "kors",
    "layered",
    "mixing",
    "ml_poly",
    "nystroem",
    "online_effective_dimension",
    "oversampling",
    "projection",
    "ridge",
    "row_sampling",
    "sketched_kons",
    "so_far",
    "stacking",
    "taylor",
    "taylor_degree",
]
