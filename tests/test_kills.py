"""kill -9: what is on disk afterwards is a whole model, the old one or the new one, and a run goes on from it to the same end."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import onkel
from onkel.cli.model import Model
from tests.fuzz.kills import learnt_before_the_kill, saved_until_killed
from tests.fuzz.subjects import SUBJECTS, block, fresh_state


@pytest.mark.long
def test_a_killed_save_leaves_a_whole_model(tmp_path: Path) -> None:
    rng = random.Random(0)
    case = next(case for case in SUBJECTS if case.name == "PKAWV-default")
    rows, learnt = block(case, rng, 200, least=200), []
    for _ in range(30):
        saved_until_killed(tmp_path / "model.onkel", case, fresh_state(case), rows, 0.5 * rng.random())
        learnt.append(learnt_before_the_kill(tmp_path / "model.onkel", case, fresh_state(case), rows))
    assert len(set(learnt)) > 10  # the kills fell at different moments


RUNS = {
    "a number, scaled": ["--target", "y", "--missing", "mean", "--learner", "PKAWV(forgetting=0.9999)"],
    "classes on one matrix": ["--target", "town", "--missing", "drop", "--learner", "PKAWV"],
    "one learner a class": ["--target", "town", "--missing", "drop", "--learner", "FOGD(loss=Hinge())"],
}


@pytest.mark.long
@pytest.mark.parametrize("said", RUNS.values(), ids=list(RUNS))
def test_a_killed_run_ends_as_if_it_had_never_stopped(said: list[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = onkel.data.smooth(200_000, dim=3, seed=0)
    towns = np.array(["Bonn", "Ulm", "Kiel", ""])[rng.integers(4, size=len(y))]
    towns[120_000::10] = "Aue"  # a class that comes late
    with (tmp_path / "t.csv").open("w") as file:
        file.write("a,b,c,town,y\n")
        file.writelines(f"{a:.6g},{b:.6g},{c:.6g},{town},{label:.6g}\n" for (a, b, c), town, label in zip(X, towns, y, strict=True))
    options = [*said, "--every", "0", "--json"]
    command = [sys.executable, "-c", "from onkel.cli import main; main()", "run", str(tmp_path / "t.csv"), *options]
    whole, parts = tmp_path / "whole.onkel", tmp_path / "parts.onkel"
    began = time.monotonic()
    subprocess.run([*command, "--save", str(whole)], check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    kills, lengths = 0, []
    while kills < 20:
        if parts.exists() and Model.load(parts).rows == len(y):
            assert parts.read_bytes() == whole.read_bytes()
            parts.unlink()  # it got to its end: begin again
        with subprocess.Popen([*command, "--save", str(parts), "--resume"], stdout=subprocess.DEVNULL) as run:
            try:
                run.wait(timeout=seconds * rng.random())
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                kills += 1
                lengths.append(Model.load(parts).rows if parts.exists() else 0)
    subprocess.run([*command, "--save", str(parts), "--resume"], check=True, stdout=subprocess.DEVNULL)
    assert parts.read_bytes() == whole.read_bytes()
    print(f"rows learnt at the kills: {lengths}")
    assert len(set(lengths)) > 5  # they fell at different moments
