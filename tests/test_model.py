"""`Model`: the laws of a learner, for rows of any kind; targets of any kind; rows as they come in practice."""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel import InputError, Model
from onkel.data.table import Table
from onkel.state import copied
from tests.fuzz.interrupts import INTERRUPTIONS, Interrupter, traced

pytestmark = pytest.mark.once  # what compiled code computes here, the laws of its learners compare

TOWNS = ("Bonn", "Ulm", "Kiel")
ROWS = 420


def rows(count: int = ROWS, seed: int = 0) -> list[dict[str, Any]]:
    """Numbers, strings, dates, gaps; a number to predict, two classes, and three of which one comes late."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(count):
        size, town = float(rng.uniform(20, 90)), TOWNS[rng.integers(3)]
        price = 3.0 * size + 40.0 * (town == "Ulm") + float(rng.normal())
        row = {
            "size": None if rng.random() < 0.05 else size,
            "town": town,
            "when": datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=7 * k),
            "price": price,
            "sold": "yes" if price > 170.0 else "no",
            "kind": "late" if k >= 200 and k % 7 == 0 else ("low", "high")[price > 170.0],
        }
        found.append(row)
    return found


DATA = rows()
NOT_USED = "{} not used: too late for a column of their own; keep columns free: spare=8 (--spare 8)"
MODELS = {
    "numbers": Model(target="price", learner=onkel.PKAWV(), without=("sold", "kind")),
    "two classes": Model(target="sold", learner=onkel.PKAWV(), without=("price", "kind"), labels=("no", "yes")),
    "classes": Model(target="kind", learner=onkel.PKAWV(), without=("price", "sold")),
    "one against the rest": Model(target="kind", learner=onkel.NOGD(budget=20), without=("price", "sold")),
    "lags": Model(target="price", learner=onkel.PKAWV(forgetting=0.99), lags=2, without=("sold", "kind")),
    "means of numbers": Model(target="price", learner=onkel.PKAWV(), hashed=("town",), without=("sold", "kind")),
    "means of classes": Model(target="kind", learner=onkel.PKAWV(), hashed=("town",), without=("price", "sold")),
    "gaps are dropped": Model(target="price", learner=onkel.PKAWV(), missing=onkel.model.Missing.DROP, without=("sold", "kind")),
}
every = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))


def same(one: Any, other: Any) -> bool:
    return all(
        a == b or (a is None and b is None) or (a != a and b != b) for a, b in zip(one.tolist(), other.tolist(), strict=True)
    )


def near(one: Any, other: Any) -> bool:
    """Ridge scores may move by rounding where the stream is cut elsewhere."""
    if one.dtype == object:
        return same(one, other)
    return bool(np.allclose(one, other, rtol=0.0, atol=1e-9 * np.nanmax(np.abs(other)), equal_nan=True))


@every
def test_learn_returns_what_predict_would_have_and_predict_changes_nothing(model: Model) -> None:
    state = model.init(DATA[:50])
    for start, stop in ((0, 1), (1, 7), (7, 250), (250, 300)):
        model.learn(state, DATA[start:stop])
        before = onkel.pack(model, state)
        predicted = model.predict(state, DATA[stop])
        model.predict_any(state, DATA[stop : stop + 3])
        if state.target.task == "classification":
            assert np.allclose(model.predict_proba(state, DATA[stop : stop + 3]).sum(axis=1), 1.0)
        else:
            low, high = model.predict_interval(state, DATA[stop : stop + 3])[-1]
            assert low < high or np.isnan(low)
        assert onkel.pack(model, state) == before
        assert near(model.learn(copied(state), DATA[stop]), predicted)


@every
def test_the_cut_into_calls_changes_nothing(model: Model) -> None:
    whole, parts = model.init(DATA[:50]), model.init(DATA[:50])
    answers = model.learn(whole, DATA)
    pieces = [model.learn(parts, DATA[a:b]) for a, b in ((0, 3), (3, 190), (190, 230), (230, ROWS))]
    assert near(answers, np.concatenate(pieces))
    assert (whole.encoded, whole.labels, whole.rows) == (parts.encoded, parts.labels, parts.rows)


@every
def test_packed_and_unpacked_it_goes_on_bit_for_bit(model: Model, tmp_path: Path) -> None:
    state = model.init(DATA[:50])
    model.learn(state, DATA[:230])
    onkel.save(tmp_path / "m.onkel", model, state)
    for other, again in (onkel.unpack(onkel.pack(model, state)), onkel.load(tmp_path / "m.onkel")):
        assert other == model
        went_on = copied(state)
        assert same(model.learn(went_on, DATA[230:]), other.learn(again, DATA[230:]))
        assert onkel.pack(model, went_on) == onkel.pack(other, again)


@every
def test_interrupted_it_has_learnt_some_of_the_rows_and_goes_on(model: Model) -> None:
    """An exception at every so manieth line of onkel's own that runs: the state is that after some rows, and can be packed."""
    start = model.init(DATA[:50])
    model.learn(start, DATA[:195])
    block = next(model.open_again(start, DATA[195:215]).tables())
    prefixes = _prefixes(model, start, block)
    rehearsal = Interrupter()
    traced(rehearsal, lambda: model.answer(copied(start), block))
    for at in range(1, rehearsal.lines, max(1, rehearsal.lines // 40)):
        state = copied(start)
        interrupter = Interrupter(at, INTERRUPTIONS[at % len(INTERRUPTIONS)])
        if not traced(interrupter, lambda state=state: model.answer(state, block)):  # type: ignore[misc]
            assert onkel.pack(model, state) in prefixes, interrupter.place
            rest = block[state.rows - start.rows :]
            if len(rest):
                model.answer(state, rest)
    assert onkel.pack(model, start) == prefixes[0]


def _prefixes(model: Model, start: Any, block: Table) -> list[bytes]:
    """Of a state after 0, 1, 2 … rows more, in one call: the learner has learnt them as the first of one block."""
    found = []
    for count in range(len(block) + 1):
        state = copied(start)
        model.answer(state, block[:count])
        found.append(onkel.pack(model, state))
    return found


def test_classes_come_when_they_come() -> None:
    model = MODELS["classes"]
    state = model.init(DATA[:50])
    answers = model.learn(state, DATA)
    assert answers[0] is None
    first = next(k for k, row in enumerate(DATA) if row["kind"] == "late")
    assert "late" not in answers[: first + 1].tolist()
    assert model.classes(state) == list(dict.fromkeys(row["kind"] for row in DATA))
    assert model.predict_proba(state, DATA[:5]).shape == (5, 3)
    with pytest.raises(InputError, match="made for classification of 'kind'"):
        model.predict_interval(state, DATA[:5])


def test_a_new_key_of_the_first_rows_is_as_if_it_had_been_there_and_missing() -> None:
    model = Model(target="y", learner=onkel.PKAWV(onkel.Identity() + onkel.Constant()))
    rng = np.random.default_rng(3)
    early = [{"a": float(a), "y": float(2 * a)} for a in rng.normal(size=100)]
    later = [{"a": float(a), "b": float(b), "y": float(2 * a - 3 * b)} for a, b in rng.normal(size=(300, 2))]
    state = model.init(early[:20])
    model.learn(state, early)
    answers = model.learn(state, later)
    assert state.encoder.width == 2
    truth = np.array([row["y"] for row in later])
    assert np.mean((answers - truth)[150:] ** 2) < 0.05 * np.var(truth)
    assert not model.notes(state)
    too_late = [{**row, "c": 1.0} for row in later[:3]]
    model.learn(state, too_late)
    assert model.notes(state) == [NOT_USED.format("3 values of 'c' were")]
    roomy = Model(target="y", learner=onkel.PKAWV(), spare=1)
    state = roomy.init(early[:20])
    roomy.learn(state, early + later)
    roomy.learn(state, too_late)
    assert roomy.notes(state)[-1] == "'c' came late and took a spare column"


def test_rows_of_any_make_give_the_same_answers(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    model = Model(target="price", learner=onkel.PKAWV(), columns=("size", "town"))
    frame = pandas.DataFrame(DATA)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    answers = []
    for given in (DATA, frame, tmp_path / "rows.csv"):
        state = model.init(given)
        answers.append(model.learn(state, given))
    assert np.allclose(answers[0], answers[1], rtol=1e-12)
    assert np.allclose(answers[0], answers[2], rtol=1e-9)


def test_arrays_and_their_labels_are_rows_too() -> None:
    X, y = onkel.data.friedman(300, dim=5, seed=0)
    model = Model(learner=onkel.PKAWV())
    state = model.init((X, y))
    answers = model.learn(state, (X, y))
    assert np.allclose(answers, state.learner.learn(state.learner.init(5), X, y), rtol=1e-9)
    assert near(model.predict(state, X[:3]), state.learner.predict(state.inner, X[:3]))


def test_labels_apart_from_their_rows() -> None:
    """By position, whatever index they have; as many as rows; of any kind, and saved with the model or refused."""
    pandas = pytest.importorskip("pandas")
    given = [{"a": float(k % 5), "b": float(k % 3)} for k in range(60)]
    y = np.array([row["a"] - row["b"] for row in given])
    model = Model(target="price", learner=onkel.PKAWV(), task="regression")
    one, other = model.init((given, y)), model.init((given, y))
    assert one.target.name == "price"
    series = pandas.Series(y, index=np.arange(60)[::-1], name="p")
    assert same(model.learn(one, (given, y)), model.learn(other, (given, series), weight=np.ones(60)))
    assert same(
        model.learn(one, (given[:3], [1.0, None, 2.0])),
        np.concatenate([model.learn(other, (given[k], v)) for k, v in enumerate((1.0, None, 2.0))]),
    )
    with pytest.raises(InputError, match="one label for each of the 5 rows, got 60"):
        model.learn(one, (given[:5], y))
    assert onkel.pack(*onkel.unpack(onkel.pack(model, one))) == onkel.pack(model, one)
    classes = Model(learner=onkel.PKAWV(), task="classification")
    state = classes.init((given, y > 0))
    classes.learn(state, (given, [np.int64(value) for value in (y > 0)]))
    classes.learn(state, {**given[0], "y": 1})
    assert sorted(state.labels) == [0, 1]
    assert classes.predict_proba(state, []).shape == (0, 2)
    assert len(classes.predict(state, [])) == 0
    assert onkel.unpack(onkel.pack(classes, state))[1].labels == state.labels
    for wrong, message in (([1, [2]], "names no class"), ([1, float("inf")], "names no class")):
        with pytest.raises(InputError, match=message):
            classes.learn(state, (given[:2], wrong))
    classes.add_classes(state, ["c"])
    assert "c" in classes.classes(state)
    with pytest.raises(InputError, match="has no classes that could be added"):
        model.add_classes(one, ["c"])
    classes.learn(state, (given[0], (1, 2)))
    with pytest.raises(InputError, match=r"label \(1, 2\) is tuple"):
        onkel.pack(classes, state)


def test_weights() -> None:
    """A row of weight 0 leaves no trace; a learner without weights learns a row of weight 3 three times."""
    given = [{"a": float(k % 5), "y": float(k % 7)} for k in range(40)]
    given[20]["b"] = 3.0
    weight = np.arange(40) % 4
    for learner in (onkel.TubeProjection(onkel.Gaussian(1.0)), onkel.PKAWV(onkel.Taylor(1))):
        model = Model(target="y", learner=learner)
        whole, parts = model.init(given[:5]), model.init(given[:5])
        answers = model.learn(whole, given, weight=weight)
        one_by_one = np.concatenate([model.learn(parts, row, weight=[w]) for row, w in zip(given, weight, strict=True)])
        assert near(answers, one_by_one)
        assert np.array_equal(np.isnan(answers), weight == 0)
    with pytest.raises(InputError, match="weight must have shape"):
        model.learn(whole, given, weight=[1.0])


def test_keys_may_be_absent_and_may_come_whatever_is_done_with_gaps() -> None:
    """A key of its own in one row must not make gaps of all others, nor be needed from then on."""
    base = [{"a": float(k % 7), "t": "p", "y": float(k)} for k in range(30)]
    for missing in onkel.model.Missing:
        model = Model(target="y", learner=onkel.PKAWV(onkel.Taylor(1)), missing=missing)
        state = model.init(base[:5])
        model.learn(state, [*base[:20], {**base[20], "b": 3.0}, *base[21:]])
        assert (state.rows, state.encoder.width, state.encoded.dropped) == (30, 6, 0)
        assert np.isfinite(model.predict(state, {"a": 1.0, "t": "p"})).all()
        if missing == "mean":
            assert np.isfinite(model.learn(state, {"a": 1.0, "y": 3.0})).all()
            assert np.isfinite(model.predict(state, {})).all()
    lagged = Model(target="y", learner=onkel.PKAWV(onkel.Taylor(1)), lags=2)
    state = lagged.init(base[:5])
    lagged.learn(state, [*base[:20], {**base[20], "b": 3.0}])
    assert lagged.notes(state) == [NOT_USED.format("1 value of 'b' was")]


def test_new_keys_are_learnt_alike_however_rows_are_handed_over() -> None:
    rng = np.random.default_rng(1)
    given: list[dict[str, Any]] = [{"a": float(a), "y": float(a)} for a in rng.normal(size=300)]
    for k in (40, 41, 120):
        given[k] |= {"z": 1.0, "b": 2.0} if k == 40 else {"c": float(k)}
    given[60] = {"a": 1.0, "never": 3.0, "y": None}  # a row without a label is not learnt, nor are its keys
    model = Model(target="y", learner=onkel.PKAWV(onkel.Taylor(1)))
    whole, parts = model.init(given[:10]), model.init(given[:10])
    answers = model.learn(whole, given)
    pieces = np.concatenate([model.learn(parts, given[k : k + 7]) for k in range(0, 300, 7)])
    assert [column.name for column in whole.encoder.columns] == ["a", "b", "c", "z"]
    assert near(answers, pieces)
    assert (whole.encoder, whole.encoded) == (parts.encoder, parts.encoded)


def test_probabilities_do_not_know_of_classes_to_come() -> None:
    model = MODELS["classes"]
    whole, parts = model.init(DATA[:50]), model.init(DATA[:50])
    tables = list(model.open_again(whole, DATA).tables())
    together = np.concatenate([model.answer(whole, table).probabilities for table in tables])
    for start in range(0, ROWS, 30):
        part = next(model.open_again(parts, DATA[start : start + 30]).tables())
        found = model.answer(parts, part).probabilities
        assert found is not None
        assert np.allclose(together[start : start + 30, : found.shape[1]], found, rtol=0.0, atol=1e-9)


def test_only_the_columns_that_were_asked_for_are_inputs() -> None:
    base = [{"a": float(k), "y": float(k)} for k in range(20)]
    model = Model(target="y", learner=onkel.PKAWV(onkel.Taylor(1)), columns=("a",))
    state = model.init(base)
    model.learn(state, [{**row, "b": 2.0} for row in base])
    assert (state.encoder.width, state.encoded.crowded) == (1, 0)


def test_numbers_are_numbers_until_two_labels_have_come() -> None:
    for value in (0.0, 1.0):
        model = Model(target="y", learner=onkel.PKAWV(onkel.Taylor(1)))
        state = model.init({"a": 1.0, "y": value})
        assert state.target.task == "regression"
        model.learn(state, {"a": 2.0, "y": 2.5})


def test_it_is_written_as_the_code_that_makes_it() -> None:
    for model in MODELS.values():
        assert onkel.parse(repr(model)) == model
    labels: Any = (np.int64(0), np.float32(1))
    model = Model(target="y", learner=onkel.PKAWV(), labels=labels)
    assert onkel.unpack(onkel.pack(model, model.init([{"a": 1.0, "y": 1}, {"a": 2.0, "y": 0}])))[0] == model


def test_strings_that_a_file_cannot_hold_are_refused_before_it_is_written() -> None:
    model = Model(target="y", learner=onkel.PKAWV(onkel.Taylor(1)))
    given = [{"t": letter * 2_000_000, "y": 1.0} for letter in "abcd"]
    state = model.init(given)
    assert onkel.nbytes(state) < 100_000
    model.learn(state, given)
    assert onkel.nbytes(state) > 8_000_000
    with pytest.raises(onkel.FileError, match="hash long strings"):
        onkel.pack(model, state)


def test_an_altered_file_is_refused() -> None:
    """What a model says of itself must fit what its state is."""
    model = MODELS["classes"]
    state = model.init(DATA[:50])
    model.learn(state, DATA[:60])
    for alter in (
        lambda about: about["config"].update(target="price"),
        lambda about: about["config"].update(task="regression"),
        lambda about: about["config"].update(missing="drop"),
        lambda about: about.update(labels=["low", "low"]),
        lambda about: about.update(labels=["low", ["high"]]),
        lambda about: about.update(labels=["low", None]),
        lambda about: about["encoder"].update(columns=[]),
        lambda about: about["encoded"].update(dropped=-1),
        lambda about: about.pop("target"),
    ):
        with pytest.raises(onkel.FileError, match="cannot unpack this"):
            onkel.unpack(_altered(onkel.pack(model, state), alter))
    assert onkel.unpack(_altered(onkel.pack(model, state), lambda about: None))[0] == model


def _altered(data: bytes, alter: Callable[[dict[str, Any]], object]) -> bytes:
    """A file of a model whose header was changed, with sums that match."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(entries["onkel.json"])
    alter(header["model"])
    entries["onkel.json"] = json.dumps(header).encode()
    entries.pop("SHA256SUMS")
    entries["SHA256SUMS"] = "".join(f"{hashlib.sha256(each).hexdigest()}  {name}\n" for name, each in entries.items()).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, each in entries.items():
            archive.writestr(name, each)
    return file.getvalue()


def test_a_state_of_another_model_is_refused() -> None:
    one, other = MODELS["numbers"], MODELS["classes"]
    state = one.init(DATA[:50])
    for verb in (other.learn, other.predict):
        with pytest.raises(InputError, match="belongs to"):
            verb(state, DATA[:3])
    with pytest.raises(InputError, match="a model or a learner, and its state"):
        onkel.pack(one, 3)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"learner": 3}, "learner must be one of onkel's learners"),
    ({"task": "ranking"}, "task must be 'regression' or 'classification', or None"),
    ({"missing": "guess"}, "missing must be 'refuse' or 'mean' or 'drop'"),
    ({"columns": "size"}, "columns must be a list of names, got 'size'"),
    ({"spare": -1}, "spare must be at least 0"),
    ({"lags": -1}, "lags must be at least 0"),
    ({"labels": ("a",)}, "labels must be two, low and high"),
    ({"labels": ("a", "a")}, "labels must be two, low and high"),
    ({"text": None}, "text must be a list of names, got None"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Model(target="price", **settings)


BAD: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda row: [row, {**row, "size": "large"}], r"row 1 \(counted from 0\), key 'size': 'large' is not a number"),
    (lambda row: [row, {**row, "price": float("inf")}], "is not finite"),
]


@pytest.mark.parametrize(("spoilt", "message"), BAD, ids=[message for _, message in BAD])
def test_a_bad_row_is_named_and_changes_nothing(spoilt: Callable[[dict[str, Any]], Any], message: str) -> None:
    model = MODELS["numbers"]
    state = model.init(DATA[:50])
    model.learn(state, DATA[:50])
    before = onkel.pack(model, state)
    with pytest.raises(InputError, match=message):
        model.answer(state, model.open_again(state, spoilt(DATA[60])).tables().__next__())
    assert onkel.pack(model, state) == before


def test_the_mean_of_a_value_helps_and_does_not_leak_the_label() -> None:
    rng = np.random.default_rng(0)
    users = rng.integers(200, size=2000)
    buys = rng.random(200)[users] > rng.random(2000)
    model = Model(target="buys", learner=onkel.PKAWV(onkel.Identity() + onkel.Constant()))
    mistakes = []
    for labels in (buys, rng.permutation(buys)):
        data = [{"user": f"user {k}", "buys": "yes" if label else "no"} for k, label in zip(users, labels, strict=True)]
        state = model.init(data[:1000])
        said = model.learn(state, data)
        mistakes.append(np.mean([answer != row["buys"] for answer, row in zip(said, data, strict=True)]))
    assert mistakes[0] < 0.4
    assert mistakes[1] > 0.5 - 3.0 * 0.5 / np.sqrt(2000)
    table = state.encoded.means["user"]
    assert onkel.nbytes(state) > onkel.nbytes(state.inner) + table.rows.nbytes + table.means.nbytes


def test_a_bad_row_far_down_a_list_of_dicts_is_named_by_its_own_number() -> None:
    rows: list[dict[str, Any]] = [{"a": float(k), "y": 2.0 * k} for k in range(5000)]
    model = Model(target="y", learner=onkel.PKAWV(features=onkel.Identity() + onkel.Constant()))
    state = model.init(rows)
    rows[4700]["a"] = "far"
    for verb in (model.learn, model.predict):
        with pytest.raises(InputError, match="row 4700 "):
            verb(state, rows)
