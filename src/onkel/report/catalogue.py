"""What people want to know of the learners, from their classes and fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from onkel import losses
from onkel.errors import InputError
from onkel.groups import Group


def grouped(kinds: Mapping[str, Any]) -> list[tuple[Group, list[str]]]:
    """The groups that have learners, each with their names."""
    groups = [(group, [name for name, kind in kinds.items() if kind.group is group]) for group in Group]
    return [(group, names) for group, names in groups if names]


def about(kind: Any) -> dict[str, str]:
    """When to take a learner, its tasks and losses, what a row costs, its memory and its paper."""
    usual = kind()  # an instance, because the tasks of a wrapper depend on the learner inside it
    return {
        "group": kind.group.value,
        "take it": kind.when,
        "tasks": "both" if len(usual.tasks) == 2 else next(iter(usual.tasks)),
        "losses": ", ".join(accepted_losses(kind)) or "its own",
        "a row costs": kind.cost,
        "memory": ", ".join(filter(None, (kind.memory, "fixed" if usual.bounded else "grows"))),
        "paper": kind.paper,
    }


def accepted_losses(kind: Any) -> list[str]:
    """The losses that its field `loss` accepts."""
    if "loss" not in {field.name for field in dataclasses.fields(kind)}:
        return []
    fitting = []
    for name in losses.__all__:
        try:
            kind(loss=getattr(losses, name)())
        except InputError:
            continue
        fitting.append(name)
    return ["any"] if len(fitting) == len(losses.__all__) else fitting
