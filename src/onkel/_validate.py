"""Checks that a frozen config makes of its own fields. Numbers are converted to plain Python floats and ints."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from onkel.errors import InputError


def real(config: Any, name: str, least: float = -math.inf, most: float = math.inf, optional: bool = False) -> None:
    """Field `name` must be a finite number in [least, most] (or None, if `optional`); it is stored as a float."""
    value = getattr(config, name)
    if value is None and optional:
        return
    if not isinstance(value, Real) or isinstance(value, bool) or not _is_finite(value):
        raise InputError(f"{_where(config, name)} must be a finite number, got {value!r:.60}")
    _keep(config, name, float(value), least, most)


def whole(config: Any, name: str, least: int, most: int = 2**63 - 1, optional: bool = False) -> None:
    """Field `name` must be a whole number in [least, most] (or None, if `optional`); it is stored as an int."""
    value = getattr(config, name)
    if value is None and optional:
        return
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputError(f"{_where(config, name)} must be a whole number, got {value!r}")
    _keep(config, name, int(value), least, most)


def flag(config: Any, name: str) -> None:
    if not isinstance(getattr(config, name), bool):
        raise InputError(f"{_where(config, name)} must be True or False, got {getattr(config, name)!r}")


def instance(config: Any, name: str, kind: type, example: str) -> None:
    if not isinstance(getattr(config, name), kind):
        raise InputError(f"{_where(config, name)} must be a {kind.__name__}, such as {example}, got {getattr(config, name)!r}")


SMALLEST_WIDTH, LARGEST_WIDTH = 1e-30, 1e30  # beyond them width² or its inverse could leave the range of a float64


def check_width(config: Any) -> None:
    real(config, "width", SMALLEST_WIDTH, LARGEST_WIDTH, optional=True)


def width_or_root(width: float | None, dim: int) -> float:
    """The width; if it is None, √dim, which is about the distance between two standardised rows."""
    return math.sqrt(dim) if width is None else width


def function_name(function: Any) -> str:
    """The name by which a user's own function is printed and saved."""
    return str(getattr(function, "__name__", type(function).__name__))


def _keep(config: Any, name: str, number: float, least: float, most: float) -> None:
    if not least <= number <= most:
        bound = f"at least {_plain(least)}" if number < least else f"at most {_plain(most)}"
        raise InputError(f"{_where(config, name)} must be {bound}, got {_plain(number)}")
    object.__setattr__(config, name, number)


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number larger than every float
        return False


def _plain(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


def _where(config: Any, name: str) -> str:
    return f"{type(config).__name__}: {name}"
