"""The description of an expert of `Auto`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expert:
    family: str  # such as "linear" or "linear, of ranks"
    forgetting: float | None = 1.0  # the forgetting factor; None if it is not known
    lam: float = 0.0
    lagged: bool = False  # whether it sees earlier labels

    @property
    def kind(self) -> str:
        """The name of the family up to the first comma, such as "linear" for "linear, of ranks"."""
        return self.family.split(",")[0]
