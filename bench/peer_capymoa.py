"""Runs CapyMOA if CapyMOA and Java are installed; otherwise its figures of an earlier run on the same rows in the same order are
used."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from peer_models import Outcome, Peer, Run, clocked
from streams import Array


class Printed(NamedTuple):
    error: float
    microseconds: float  # a row


# CapyMOA 0.15.1, first 10,000 rows, measured once: error (share of mistakes, or mean square) and µs a row
PRINTED_VERSION = "CapyMOA 0.15.1, first 10,000 rows"
PRINTED = {
    "CapyMOA forest of 100": {
        "elec2": Printed(0.0941, 4156),
        "phishing": Printed(0.0591, 3720),
        "spambase": Printed(0.0802, 11204),
        "cod-rna": Printed(0.0846, 2549),
        "german": Printed(0.273, 8530),
        "svmguide3": Printed(0.188, 6848),
        "ijcnn1": Printed(0.0504, 4537),
        "susy30k": Printed(0.223, 5134),
        "covtype": Printed(0.2246, 13186),
    },
    "CapyMOA random patches of 10": {
        "elec2": Printed(0.1066, 468),
        "phishing": Printed(0.0573, 423),
        "spambase": Printed(0.0804, 1304),
        "cod-rna": Printed(0.1466, 413),
        "german": Printed(0.285, 1140),
        "svmguide3": Printed(0.193, 778),
        "ijcnn1": Printed(0.0658, 529),
        "susy30k": Printed(0.225, 762),
        "covtype": Printed(0.2251, 1550),
    },
    "CapyMOA forest of 30": {
        "bike": Printed(5389, 432),
        "cpusmall": Printed(118, 629),
        "kin8nm": Printed(0.0455, 439),
        "casp": Printed(26.3, 678),
        "cadata": Printed(5.96e9, 600),
        "abalone": Printed(7.11, 379),
    },
    "CapyMOA SOKNL of 30": {
        "bike": Printed(5709, 519),
        "cpusmall": Printed(38.0, 811),
        "kin8nm": Printed(0.0402, 624),
        "casp": Printed(27.2, 1139),
        "cadata": Printed(5.53e9, 789),
        "abalone": Printed(6.31, 569),
    },
}


def printed(name: str) -> dict[str, Printed]:
    """Print the figures of each system on one set."""
    return {system: by_set[name] for system, by_set in PRINTED.items() if name in by_set}


def peers() -> list[Peer]:
    """The peers of CapyMOA that can be run here; none if it is not installed."""
    if find_spec("capymoa") is None:
        return []
    import capymoa

    version = f"CapyMOA {capymoa.__version__}"
    return [
        Peer("CapyMOA forest", version, _run(_forest)),
        Peer("CapyMOA random patches of 10, or SOKNL of 30", version, _run(_other)),
    ]


def _forest(schema: Any, classify: bool) -> Any:
    from capymoa.classifier import AdaptiveRandomForestClassifier
    from capymoa.regressor import AdaptiveRandomForestRegressor

    return (
        AdaptiveRandomForestClassifier(schema, ensemble_size=100)
        if classify
        else AdaptiveRandomForestRegressor(schema, ensemble_size=30)
    )


def _other(schema: Any, classify: bool) -> Any:
    from capymoa.classifier import StreamingRandomPatches
    from capymoa.regressor import SOKNL

    return StreamingRandomPatches(schema, ensemble_size=10) if classify else SOKNL(schema, ensemble_size=30)


def _run(make: Callable[[Any, bool], Any]) -> Run:
    def run(X: Array, y: Array, classify: bool) -> Outcome:
        from capymoa.stream import NumpyStream

        labels = (y > 0.0).astype(int) if classify else y
        stream = NumpyStream(X, labels, target_type="categorical" if classify else "numeric")
        model = make(stream.get_schema(), classify)
        rows = [stream.next_instance() for _ in range(len(y))]
        values = list(map(str, stream.get_schema().get_label_values())) if classify else []
        high = next((k for k, value in enumerate(values) if float(value) > 0.0), 0)

        def chance(t: int) -> float:
            votes = model.predict_proba(rows[t])
            model.train(rows[t])
            total = 0.0 if votes is None else float(np.sum(votes))
            return float(votes[high]) / total if total > 0.0 and len(votes) > high else 0.5 if total == 0.0 else 0.0

        def number(t: int) -> float:
            said = model.predict(rows[t])
            model.train(rows[t])
            return 0.0 if said is None else float(said)

        return clocked(chance if classify else number, len(y), None)

    return run
