"""Malformed files: a clear error that names the file, or what the csv and json modules read; no traceback, no silent change."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from onkel.protocol import tasks_of
from tests.fuzz.__main__ import TARGETS, main
from tests.fuzz.data_files import FORMATS, play
from tests.fuzz.isolated import isolated
from tests.fuzz.protocol import Calls
from tests.fuzz.subjects import SUBJECTS

pytestmark = pytest.mark.once


def outcomes(folder: Path, files: int, seed: int) -> Counter[str]:
    rng = random.Random(seed)
    return Counter(play(folder, rng) for _ in range(files))


def test_four_hundred_malformed_files(tmp_path: Path) -> None:
    outcome = outcomes(tmp_path, 400, seed=0)
    assert all(outcome[f"{ending} {what}"] > 5 for ending in FORMATS for what in ("read", "refused")), outcome


@pytest.mark.long
def test_two_thousand_malformed_files(tmp_path: Path) -> None:
    outcome = outcomes(tmp_path, 2000, seed=1)
    print(outcome)
    assert all(outcome[f"{ending} {what}"] > 50 for ending in FORMATS for what in ("read", "refused")), outcome


def test_a_finding_comes_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def brittle(rng: random.Random) -> None:
        if (drawn := rng.random()) < 0.5:
            raise ValueError(f"drew {drawn}")

    monkeypatch.setitem(TARGETS, "kills", brittle)
    monkeypatch.setattr("sys.argv", ["fuzz", "--seconds", "0.05", "--seed", "3", "--target", "kills"])
    assert main() == 1
    said = capsys.readouterr().out
    drawn, trial = re.findall(r"ValueError: (.*)\n  make fuzz SEED=3 TARGET=kills TRIAL=(\d+)\n", said)[-1]
    assert int(trial) > 5  # it went on after a finding
    monkeypatch.setattr("sys.argv", ["fuzz", "--seed", "3", "--target", "kills", "--trial", trial])
    with pytest.raises(ValueError, match=drawn):
        main()


def test_a_crash_in_a_child_is_an_error_here() -> None:
    isolated(lambda: None)
    with pytest.raises(AssertionError, match="it crashed: SIGKILL"):
        isolated(lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        isolated(lambda: 1 / 0)


def test_a_hang_is_an_error_and_a_wait_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def spin() -> None:
        while True:
            pass

    monkeypatch.setattr("tests.fuzz.isolated.CPU_SECONDS_TO_CALL_IT_A_HANG", 1)
    isolated(lambda: time.sleep(1.5))  # as when others have the CPU
    with pytest.raises(AssertionError, match="it hangs"):
        isolated(spin)
    monkeypatch.setattr("tests.fuzz.isolated.SECONDS_TO_CALL_IT_A_HANG", 0.2)
    with pytest.raises(AssertionError, match="it hangs"):
        isolated(threading.Event().wait)


def test_rows_after_widening_have_labels_that_every_classifier_learns() -> None:
    for case in SUBJECTS:
        if case.learner.multi_output and "regression" not in tasks_of(case.learner):
            game = type("Game", (Calls,), {"subject": case})()
            game.learn(random.Random(0))
            for seed in range(2):
                game.widen()
                game.learn(random.Random(seed))
