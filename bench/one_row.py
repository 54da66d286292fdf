"""The time of a row if each call has one row, as in River: python bench/one_row.py [--check]

Times `predict_one` and `learn_one` of ten numbers, as a dict and as an array, and River's linear regression in the same run. For
the linear ridge and Auto it also shows how the time of a row is spent: on reading the dict, on turns (`onkel.turns`), in compiled
code, and on the Python in between. These are very short times, so the least of several is taken.
"""

from __future__ import annotations

import argparse
import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import river.linear_model
import river.preprocessing
from rich.console import Console
from rich.table import Table
from timing import Verdicts, in_turns, seconds

import onkel
from onkel._native import in_sequence
from onkel.one_row import prepared, stop_before
from onkel.turns import Call, turn

ROWS, SINGLE, DIM, TURNS = 3000, 300, 10, 9
LINEAR = onkel.PKAWV(features=onkel.Identity() + onkel.Constant())
LEARNERS = {"linear ridge": LINEAR, "PKAWV()": onkel.PKAWV(), "Auto()": onkel.Auto()}
NAMES = "abcdefghij"
WHOLE, PREPARING = "the whole row", "preparing the calls (once, until a block or a check)"
LEAST_SHOWN = 0.3  # µs
MOST_LINEAR, MOST_OVER, MOST_IN_BLOCKS = (
    1.5,
    2.0,
    1.5,
)  # linear ridge: rows of River; PKAWV(), beyond the bare learner: rows of River; Auto, beyond these: its rows in a block


def stream() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, DIM))
    return X, X @ rng.normal(size=DIM) + 0.1 * rng.normal(size=ROWS)


def rows_of(model: Any, rows: list[Any], labels: list[float]) -> Callable[[], None]:
    """Predict, then learn, each of these rows."""

    def work() -> None:
        for row, label in zip(rows, labels, strict=True):
            model.predict_one(row)
            model.learn_one(row, label)

    return work


def bare_rows(learner: Any, X: Any, y: Any) -> Callable[[], None]:
    """The same by the learner alone, on arrays."""
    state = learner.init(DIM)
    learner.learn(state, X, y)
    blocks = [(X[t : t + 1], y[t : t + 1]) for t in range(SINGLE)]

    def work() -> None:
        for row, label in blocks:
            learner.predict(state, row)
            learner.learn(state, row, label)

    return work


def block(learner: Any, X: Any, y: Any) -> Callable[[], None]:
    state = learner.init(DIM)
    learner.learn(state, X, y)
    return lambda: learner.learn(state, X[:SINGLE], y[:SINGLE])


def contenders(X: Any, y: Any) -> dict[str, Callable[[], None]]:
    dicts, labels = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()], y.tolist()
    models = {"River": river.preprocessing.StandardScaler() | river.linear_model.LinearRegression()}
    works = {}
    for name, learner in LEARNERS.items():
        models[f"{name}, dict"] = onkel.Regressor(learner)
        models[f"{name}, array"] = onkel.Regressor(learner)
        works[f"{name}, bare"], works[f"{name}, block"] = bare_rows(learner, X, y), block(learner, X, y)
    for name, model in models.items():
        rows = list(X) if name.endswith("array") else dicts
        rows_of(model, rows, labels)()  # go beyond the first rows, which `Scaled` stores
        works[name] = rows_of(model, rows[:SINGLE], labels[:SINGLE])
    return works


def parts(learner: Any, dicts: list[Any], labels: list[float]) -> dict[str, Callable[[], object]]:
    """The steps of a row of this learner, each done SINGLE times."""
    whole = onkel.Regressor(learner)
    rows_of(whole, dicts, labels)()
    model, state = whole.model_, whole.state_
    steps = state.learner._hooks._single(state.inner)
    row, times = steps.row, range(SINGLE)

    def turns() -> None:
        for _ in times:
            turn(model, state).end()

    def reading() -> None:
        for one in dicts[:SINGLE]:
            state.encoder.write_usual(one, state.encoded, None, row.X)

    def repeated(step: Callable[[], Any]) -> Callable[[], object]:
        return lambda: deque(map(operator.call, [step] * SINGLE), 0)

    def preparing() -> None:
        one = prepared(state.learner, state.inner)
        assert one is not None
        one.score()
        one.learn(Call())

    found: dict[str, Callable[[], object]] = {
        WHOLE: rows_of(whole, dicts[:SINGLE], labels[:SINGLE]),
        "a turn (two of them)": turns,
        "reading the dict (twice)": reading,
    }
    reading()
    row.Y[:], row.weight[:] = 0.0, 1.0
    learn = [step for step in steps.learn_scored or steps.learn if step.func is not stop_before]
    by_name: dict[str, list[Any]] = {}
    for step in steps.score:
        by_name.setdefault(f"predict: {_name(step)}", []).append(step)
    found |= {name: repeated(*in_sequence(calls)) for name, calls in by_name.items()}
    return found | {f"learn: {len(learn)} calls": repeated(*in_sequence(learn)), PREPARING: repeated(preparing)}


def _name(step: Any) -> str:
    """The name of a compiled function and its module."""
    return f"{step.func.__module__.removeprefix('onkel.')}.{step.func.__name__}"


def show_parts(name: str, learner: Any, dicts: list[Any], labels: list[float]) -> None:
    works = parts(learner, dicts, labels)
    found = [{name: seconds(work) for name, work in works.items()} for _ in range(2 * TURNS)]
    took = {name: 1e6 / SINGLE * min(times[name] for times in found) for name in works}
    whole, preparing = took.pop(WHOLE), took.pop(PREPARING)
    table = Table(box=None, show_header=False, pad_edge=False, title=f"where a row of the {name} spends its time, µs")
    table.add_column()
    table.add_column(justify="right")
    spent = {name: each * (2 if name.endswith(("them)", "(twice)")) else 1) for name, each in took.items()}
    shown = {name: each for name, each in spent.items() if each >= LEAST_SHOWN}
    others = {f"{len(spent) - len(shown)} others": sum(spent.values()) - sum(shown.values())} if len(shown) < len(spent) else {}
    rest = {"Python in between": whole - sum(spent.values()), WHOLE: whole, PREPARING: preparing}
    for part, each in (shown | others | rest).items():
        table.add_row(part, f"{each:.2f}")
    Console(highlight=False).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated ratio is missed")
    check = parser.parse_args().check
    took = {name: 1e6 * seconds / SINGLE for name, seconds in in_turns(TURNS, **contenders(*stream())).items()}
    table = Table(box=None, header_style="bold", pad_edge=False, title=f"µs a row of {DIM} numbers, predicted and learnt")
    for heading in ("", "dict", "times River", "array", "bare learner", "learnt in a block"):
        table.add_column(heading, justify="right" if heading else "left")
    river, verdicts = took["River"], Verdicts()
    table.add_row("River: StandardScaler | LinearRegression", f"{river:.1f}", "1.0", "", "", "")
    for name in LEARNERS:
        dicts, arrays, bare, blocks = (took[f"{name}, {kind}"] for kind in ("dict", "array", "bare", "block"))
        table.add_row(f"onkel: {name}", f"{dicts:.1f}", f"{dicts / river:.1f}", f"{arrays:.1f}", f"{bare:.1f}", f"{blocks:.1f}")
    Console(highlight=False).print(table)
    X, y = stream()
    for name in ("linear ridge", "Auto()"):
        show_parts(name, LEARNERS[name], [dict(zip(NAMES, row, strict=True)) for row in X.tolist()], y.tolist())
    linear, default, auto = (took[f"{name}, dict"] for name in LEARNERS)
    verdicts.at_most("linear ridge, dict: times River's row", linear / river, MOST_LINEAR)
    verdicts.at_most("PKAWV(), dict: River's rows over the bare learner's", (default - took["PKAWV(), bare"]) / river, MOST_OVER)
    allowed = MOST_IN_BLOCKS * took["Auto(), block"] + MOST_OVER * river
    verdicts.at_most("Auto(), dict: times 1.5 rows in a block and two of River's", auto / allowed, 1.0)
    verdicts.show(check)


if __name__ == "__main__":
    main()
