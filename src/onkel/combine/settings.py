"""Settings inside a config: read and changed by long names such as these, and a number added to all of its seeds.

learner__lam    learner__kernel__width    learner__features__0__count (the first part of a sum or of a chain)
"""

from __future__ import annotations

import dataclasses
from typing import Any

from onkel import features
from onkel.errors import InputError


def inside(config: Any, prefix: str) -> dict[str, Any]:
    """Every setting of a config, and the settings of these settings, by long name."""
    found = {}
    for name, value in _parts(config).items():
        found[f"{prefix}__{name}"] = value
        found |= inside(value, f"{prefix}__{name}")
    return found


def changed(config: Any, settings: dict[str, Any]) -> Any:
    """The config with these settings. They are changed together, since one new value alone might not fit the old values of the
    others."""
    parts = _parts(config)
    deeper: dict[str, dict[str, Any]] = {}
    for long_name, value in settings.items():
        name, _, rest = long_name.partition("__")
        if name not in parts:
            raise InputError(f"{config!r:.200} has no setting {name!r}; it has {', '.join(parts) or 'none'}")
        if rest:
            deeper.setdefault(name, {})[rest] = value
        else:
            parts[name] = value
    for name, theirs in deeper.items():
        parts[name] = changed(parts[name], theirs)
    return _rebuilt(config, parts)


def reseeded(config: Any, seed: int) -> Any:
    """The same settings, with `seed` added to every seed in them."""
    parts = _parts(config)
    if not parts:
        return config
    return _rebuilt(config, {name: part + seed if name == "seed" else reseeded(part, seed) for name, part in parts.items()})


def _parts(config: Any) -> dict[str, Any]:
    """The parts of a config by name: fields by their names; the parts of tuples, sums and products by their numbers."""
    if isinstance(config, type):
        return {}
    if isinstance(numbered := getattr(config, "parts", config), tuple):
        return {str(k): part for k, part in enumerate(numbered)}
    return (
        {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
        if dataclasses.is_dataclass(config)
        else {}
    )


def _rebuilt(config: Any, parts: dict[str, Any]) -> Any:
    if isinstance(config, features.Sum):
        return features.Sum(*parts.values())
    if isinstance(getattr(config, "parts", config), tuple):
        return type(config)(tuple(parts.values()))
    return dataclasses.replace(config, **parts)
