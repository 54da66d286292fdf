"""kill -9: what is on disk afterwards is a whole model, the old one or the new one, and a run goes on from it to the same end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import onkel
from onkel.persist.run import loaded

KILLS = int(os.environ.get("ONKEL_KILLS", "20"))  # of each kind

SAVER = """
import sys, numpy as np, onkel
learner = onkel.PKAWV(onkel.Fourier(count=60))
state = learner.init(3)
X, y = onkel.data.smooth(100_000, dim=3, seed=0)
for t in range(len(X)):
    learner.learn(state, X[t : t + 1], y[t : t + 1])
    onkel.save(sys.argv[1], learner, state)
    if t == 0:
        print("ready", flush=True)
"""


@pytest.mark.long
def test_a_killed_save_leaves_a_whole_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onkel"
    rng = np.random.default_rng(0)
    X, y = onkel.data.smooth(100_000, dim=3, seed=0)
    rows, left = [], 0
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE, text=True) as saver:
            assert saver.stdout is not None
            assert saver.stdout.readline() == "ready\n"
            time.sleep(0.1 + 0.4 * rng.random())
            saver.send_signal(signal.SIGKILL)
        learner, state = onkel.load(path)
        again = learner.init(3)
        for t in range(state.ridge.rows):
            learner.learn(again, X[t : t + 1], y[t : t + 1])
        assert again.ridge.matrix.tobytes() == state.ridge.matrix.tobytes()
        assert again.ridge.coef.tobytes() == state.ridge.coef.tobytes()
        rows.append(state.ridge.rows)
        left += len(os.listdir(tmp_path)) - 1
        onkel.save(path, learner, state)
        assert os.listdir(tmp_path) == [path.name]
    print(f"{left} of {KILLS} killed savers were in the middle of a file; rows learnt at the kills: {rows}")
    assert left > 0
    assert len(set(rows)) > min(10, KILLS // 3)  # the kills fell at different moments


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
    whole, parts = tmp_path / "whole.onkel", tmp_path / "models" / "parts.onkel"
    parts.parent.mkdir()
    began = time.monotonic()
    subprocess.run([*command, "--save", str(whole)], check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    kills, lengths = 0, []
    while kills < KILLS:
        if parts.exists() and loaded(parts)[1].rows == len(y):
            assert parts.read_bytes() == whole.read_bytes()
            parts.unlink()  # it got to its end: begin again
        with subprocess.Popen([*command, "--save", str(parts), "--resume"], stdout=subprocess.DEVNULL) as run:
            try:
                run.wait(timeout=seconds * rng.random())
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                kills += 1
                lengths.append(loaded(parts)[1].rows if parts.exists() else 0)
    subprocess.run([*command, "--save", str(parts), "--resume"], check=True, stdout=subprocess.DEVNULL)
    assert parts.read_bytes() == whole.read_bytes()
    print(f"rows learnt at the kills: {lengths}")
    assert os.listdir(tmp_path / "models") == [parts.name]
    assert len(set(lengths)) > min(5, KILLS // 4)  # they fell at different moments
