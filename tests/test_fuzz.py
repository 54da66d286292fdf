"""Malformed files: a clear error that names the file, or what the csv and json modules read; no traceback, no silent change."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.data_files import FORMATS, play

pytestmark = pytest.mark.once


def outcomes(folder: Path, files: int, seed: int) -> Counter[str]:
    rng = random.Random(seed)
    return Counter(play(folder, rng) for _ in range(files))


def test_two_hundred_malformed_files(tmp_path: Path) -> None:
    outcome = outcomes(tmp_path, 200, seed=0)
    assert all(outcome[f"{ending} {what}"] > 5 for ending in FORMATS for what in ("read", "refused")), outcome


@pytest.mark.long
def test_two_thousand_malformed_files(tmp_path: Path) -> None:
    outcome = outcomes(tmp_path, 2000, seed=1)
    print(outcome)
    assert all(outcome[f"{ending} {what}"] > 50 for ending in FORMATS for what in ("read", "refused")), outcome
