"""Learn every stream of a folder and write the scores beside it; run with the compiler on by law 9."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from onkel.persist import from_json


def replay(folder: Path) -> None:
    for config in sorted(folder.glob("*.json")):
        learner = from_json(json.loads(config.read_text()))
        with np.load(config.with_suffix(".npz")) as stream:
            X, y, weight = stream["X"], stream["y"], stream["weight"]
        state = learner.init(X.shape[1], y.shape[1] if y.ndim == 2 else 1)
        np.save(config.with_suffix(".npy"), learner.learn(state, X, y, weight))


if __name__ == "__main__":
    replay(Path(sys.argv[1]))
