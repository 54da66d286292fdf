"""kill -9 while a model is being saved: what is on disk afterwards is a whole model, the old one or the new one."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import onkel

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
    rows = []
    for _ in range(30):
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
    assert len(set(rows)) > 10  # the kills fell at different moments
