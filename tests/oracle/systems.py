"""What the oracles need to know of a system's settings; it is known by the name of its class. Three more, that the package has not.

A domain of None is open: it is to be the range of the first rows.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Domain = tuple[float, float] | None


@dataclass(frozen=True)
class OnePlusMin:
    domain: Domain = (0.0, 1.0)


@dataclass(frozen=True)
class SineWithConstant:
    domain: Domain = (0.0, 1.0)


@dataclass(frozen=True)
class PeriodicQuadratic:
    domain: Domain = (0.0, 1.0)


def name(system: Any) -> str:
    return type(system).__name__


def bases(system: Any, dim: int) -> tuple[Any, ...]:
    """The system of each column."""
    return system.base if isinstance(system.base, tuple) else (system.base,) * dim


def has_constant(system: Any) -> bool:
    """Whether the first function is 1."""
    own = {
        "Cosine",
        "SineWithConstant",
        "PeriodicQuadratic",
        "Beam",
        "Legendre",
        "Haar",
        "Sphere",
        "AdditiveSystem",
        "WithPolynomials",
    }
    if name(system) == "ProductSystem":
        return all(map(has_constant, bases(system, 1)))
    return name(system) in own or (name(system) == "Periodic" and system.constant)


def columns(system: Any, level: int, dim: int) -> int:
    """How many functions a level has: an additive design grows by one function a column at a time."""
    return 1 + level * len(bases(system, dim)) if name(system) == "AdditiveSystem" else level


def is_open(system: Any) -> bool:
    """Whether a domain is to be taken from the rows."""
    if hasattr(system, "base"):
        return any(map(is_open, bases(system, 1)))
    return getattr(system, "domain", ()) is None


def settled(system: Any, X: Array) -> Any:
    """The same system, with what was left open: domains from these rows and a quarter more to each side (a single value
    counts as a range of length 1), widths √dim."""
    if hasattr(system, "base"):
        each = zip(bases(system, X.shape[1]), X.T, strict=True)
        return replace(system, base=tuple(settled(with_width(base, X.shape[1]), x[:, None]) for base, x in each))
    if is_open(system):
        low, high = float(X.min()), float(X.max())
        low, high = (low, high) if low < high else (low - 0.5, low + 0.5)
        return replace(system, domain=(low - (high - low) / 4, high + (high - low) / 4))
    return with_width(system, X.shape[1])


def with_width(system: Any, dim: int) -> Any:
    return replace(system, width=sqrt(dim)) if getattr(system, "width", 1.0) is None else system


def inside(system: Any, x: Array) -> Array:
    """The domain moved to [0, 1]; what lies outside stands on the edge, or wraps."""
    low, high = system.domain
    u = (x - low) / (high - low)
    return np.asarray(u % 1.0 if name(system) == "Periodic" else np.clip(u, 0.0, 1.0))


def spread_out(system: Any, u: Array) -> Array:
    """[0, 1] moved to the domain, as a block."""
    low, high = system.domain
    return np.asarray(low + (high - low) * u)[:, None]
