"""Doctests speak of `onkel` and `np` without importing them; tests of the command line may have a cheap default.

What the user has set for terminals and data is nothing to tests, nor to the processes that they start.
"""

from __future__ import annotations

import gc
import os
from typing import Any

import numpy as np
import pytest

import onkel

for name in ("COLUMNS", "LINES", "TERM", "NO_COLOR", "FORCE_COLOR", "ONKEL_DATA"):
    os.environ.pop(name, None)

gc.disable()  # thousands of tests are about to be made, none of them garbage: half the time of making them went into looking


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """From here on there is garbage; the tests themselves stay, and need not be looked at again and again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _names_in_doctests(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(onkel=onkel, np=np)


@pytest.fixture(autouse=True)
def _usual_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are as wide as COLUMNS says."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def cheap_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """`onkel run` without --learner learns with PKAWV: for tests in which any learner will do."""
    monkeypatch.setattr("onkel.combine.assembly.DEFAULT", onkel.PKAWV())
