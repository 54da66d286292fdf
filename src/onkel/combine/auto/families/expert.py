"""What a person should know about an expert of `Auto`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expert:
    family: str  # such as "linear" or "linear, of ranks"
    forgetting: float | None = 1.0  # None where it is not known
    lam: float = 0.0
    lagged: bool = False  # it sees earlier labels

    @property
    def kind(self) -> str:
        """The name of its family up to the first comma, without what it sees."""
        return self.family.split(",")[0]
