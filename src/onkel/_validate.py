"""How a frozen config is made, and how it checks its own fields. Numbers are converted to plain Python floats and ints."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

from onkel.errors import InputError, did_you_mean

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def config(kind: type[T]) -> type[T]:
    """Make the class a frozen dataclass, whose constructor says what to type instead of a misspelt setting."""
    return spell_checked(dataclasses.dataclass(frozen=True)(kind))


def spell_checked(kind: type[T]) -> type[T]:
    """Let the constructor of the class say what to type instead of a misspelt setting."""
    made: Any = kind
    construct = made.__init__
    code = construct.__code__
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]  # the arguments without self

    @functools.wraps(construct)
    def __init__(self: Any, *values: Any, **named: Any) -> None:
        for name in named:
            if name not in known:
                raise TypeError(no_setting(kind.__name__, name, known))
        construct(self, *values, **named)

    made.__init__ = __init__
    return kind


def no_setting(kind: str, name: str, known: Sequence[str]) -> str:
    """The message for a setting that a config does not have."""
    inside = "; settings of the learner stand inside it, as in learner=PKAWV(lam=0.1)" if "learner" in known else ""
    return f"{kind} has no setting {name!r:.60}; {did_you_mean(name, known)}it has {', '.join(known) or 'none'}{inside}"


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


def flag(config: Any, *names: str) -> None:
    """These fields must be True or False."""
    for name in names:
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
