"""Doctests speak of `onkel` and `np` without importing them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import onkel


@pytest.fixture(autouse=True)
def _names_in_doctests(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(onkel=onkel, np=np)
