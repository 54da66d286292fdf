"""The engine without HTTP: what is logged is what was learnt, and nothing is learnt that is not logged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import onkel
from onkel.serve.engine import Engine
from onkel.serve.messages import Block, Label, Learnt, Settings
from onkel.serve.served import Conflict, Served
from onkel.serve.store import Full, Store
from onkel.serve.version import Version, unpacked
from onkel.serve.work import Create, KeepRows, LearnLabels, LearnRows, Remove, Transaction, Work

X, Y = onkel.data.friedman(400, dim=5, seed=0)
ROWS: list[Any] = [{**{f"x{k}": v for k, v in enumerate(x)}, "y": y} for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
RIDGE = "PKAWV(features=Fourier(count=5))"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = started(tmp_path)
    yield made
    made.stop()


def started(folder: Path) -> Engine:
    engine = Engine(Store(folder))
    engine.start()
    assert engine.ready.wait(30.0), engine.failure
    return engine


def create(engine: Engine, name: str = "a", **settings: Any) -> Served:
    asked = Settings(**{"target": "y", "learner": RIDGE, **settings})
    engine.submit(Create(name, asked, asked.model())).result()
    return engine.models[name]


def learn(engine: Engine, rows: list[Any], request: str | None = None, name: str = "a") -> Learnt:
    return decoded(engine.submit(LearnRows(name, rows, request)).result())


def decoded(reply: bytes) -> Learnt:
    return msgspec.json.decode(reply, type=Learnt)


def learnt_again(engine: Engine, served: Served) -> Version:
    """The log, learnt in order by a fresh version."""
    version = Version(served.settings.model())
    for _, data in engine.store.blocks_after(served.id, 0):
        block = msgspec.json.decode(data, type=Block)
        version, _ = version.learn(block.rows, block.lagged)
    return version


@pytest.mark.parametrize("learner", [RIDGE, "Auto()"])
def test_the_log_learnt_again_is_the_model_to_the_bit_and_so_is_a_restart(tmp_path: Path, learner: str) -> None:
    engine = started(tmp_path)
    served = create(engine, learner=learner)
    for start in range(0, 150, 7):
        learn(engine, ROWS[start : start + 7])
    now = served.version.pack()
    assert learnt_again(engine, served).pack() == now
    engine.stop()  # takes a snapshot
    again = started(tmp_path)
    assert again.models["a"].version.pack() == now
    learn(again, ROWS[154:300])
    assert learnt_again(again, again.models["a"]).pack() == again.models["a"].version.pack()
    again.stop()


def test_a_reply_is_what_was_predicted_before_and_counts_the_rows(engine: Engine) -> None:
    create(engine)
    learn(engine, ROWS[:30])
    before = engine.models["a"].version
    reply = learn(engine, ROWS[30:40])
    assert reply.sequence == 40
    assert reply.predictions == before.learn(ROWS[30:40])[1].predictions
    assert engine.models["a"].version.predict(ROWS[:3]).predictions != before.predict(ROWS[:3]).predictions


def test_requests_that_wait_are_learnt_together_and_a_bad_one_fails_alone(engine: Engine) -> None:
    served = create(engine)
    learn(engine, ROWS[:10])
    good, bad, last = (
        LearnRows("a", ROWS[10:20]),
        LearnRows("a", [*ROWS[20:25], {"x0": "wide", "y": 1.0}]),
        LearnRows("a", ROWS[30:40]),
    )
    done(engine, [good, bad, last])
    assert decoded(good.future.result()).sequence == 20
    assert decoded(last.future.result()).sequence == 30
    with pytest.raises(onkel.InputError, match=r"row 5 .*'x0'.*'wide' is not a number"):
        bad.future.result()
    together = [LearnRows("a", ROWS[k : k + 1]) for k in range(40, 80)]
    done(engine, together)
    assert [decoded(one.future.result()).sequence for one in together] == list(range(31, 71))
    ends = [last for last, _ in engine.store.blocks_after(served.id, 0)]
    assert ends == [10, 20, 30, 70]
    assert learnt_again(engine, served).pack() == engine.models["a"].version.pack()


def done(engine: Engine, work: Sequence[Work]) -> None:
    """The work, done in one transaction."""
    transaction = Transaction(engine.store, engine.models)
    with engine.store.transaction():
        transaction.do(work)
    engine.models = transaction.models
    transaction.publish()


def test_a_request_sent_again_is_answered_and_not_learnt(engine: Engine) -> None:
    create(engine)
    first = learn(engine, ROWS[:20], "one")
    twice = [LearnRows("a", ROWS[20:30], "two"), LearnRows("a", ROWS[20:30], "two")]
    done(engine, twice)
    assert twice[0].future.result() == twice[1].future.result()
    assert learn(engine, ROWS[:20], "one") == first
    assert engine.models["a"].version.rows == 30
    with pytest.raises(Conflict, match="'one' was used for other rows"):
        learn(engine, ROWS[1:20], "one")


@pytest.mark.parametrize("lags", [0, 3])
def test_labels_that_come_later_are_learnt_with_the_labels_known_when_their_rows_were_predicted(engine: Engine, lags: int) -> None:
    served = create(engine, lags=lags, task="regression")
    learn(engine, ROWS[:50])
    then = served.version
    answer = engine.submit(KeepRows("a", ROWS[50:53], ["i", "j", "k"])).result()
    assert answer.predictions == then.predict(ROWS[50:53]).predictions
    learn(engine, ROWS[60:70])
    middle = engine.models["a"].version
    reply = decoded(engine.submit(LearnLabels("a", [Label("k", 3.5), Label("?", 1.0)])).result())
    assert (reply.sequence, reply.unknown) == (61, ["?"])
    expected, _ = middle.learn([{**ROWS[52], "y": 3.5}], then.remember() or None)
    assert engine.models["a"].version.pack() == expected.pack()
    assert decoded(engine.submit(LearnLabels("a", [Label("k", 3.5)])).result()).unknown == ["k"]
    assert learnt_again(engine, served).pack() == engine.models["a"].version.pack()


def test_a_defect_fails_its_own_request_and_the_engine_goes_on(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    served, usual = create(engine), Version.learn

    def learnt(version: Version, rows: Any, lagged: Any = None) -> Any:
        if any("defect" in row for row in rows):
            raise RuntimeError("a defect")
        return usual(version, rows, lagged)

    monkeypatch.setattr(Version, "learn", learnt)
    work: list[Work] = [LearnRows("a", ROWS[:5]), LearnRows("a", [{"defect": 1.0, "y": 1.0}]), LearnRows("a", ROWS[5:9])]
    engine._do([*work])
    assert [decoded(work[k].future.result(0)).sequence for k in (0, 2)] == [5, 9]
    with pytest.raises(RuntimeError, match="a defect"):
        work[1].future.result(0)
    assert learn(engine, ROWS[9:20]).sequence == 20
    assert learnt_again(engine, served).pack() == engine.models["a"].version.pack()


def test_a_full_disk_refuses_and_nothing_is_learnt_until_there_is_room(engine: Engine) -> None:
    create(engine)
    learn(engine, ROWS[:20])
    before = engine.models["a"].version
    pages = engine.store._all("PRAGMA page_count")[0][0]
    engine.store._all(f"PRAGMA max_page_count={pages}")
    with pytest.raises(Full, match=r"is full: nothing was learnt"):
        learn(engine, ROWS * 20)
    after = engine.models["a"].version
    assert learnt_again(engine, engine.models["a"]).pack() == after.pack()
    assert after.predict(ROWS[:1]).predictions is not None
    engine.store._all(f"PRAGMA max_page_count={pages + 10_000}")
    learn(engine, ROWS[:20])
    assert engine.models["a"].version.rows == after.rows + 20 > before.rows


def test_a_damaged_snapshot_is_replaced_by_the_log_and_a_damaged_log_is_refused(tmp_path: Path) -> None:
    engine = started(tmp_path)
    served = create(engine)
    learn(engine, ROWS[:100])
    now = served.version.pack()
    engine.stop()
    store = Store(tmp_path)
    with store.transaction():
        store._all("UPDATE snapshots SET data = zeroblob(length(data))")
    store.close()
    engine = started(tmp_path)
    assert engine.models["a"].version.pack() == now
    engine.stop()
    store = Store(tmp_path)
    with store.transaction():
        store._all("DELETE FROM snapshots")
        store._all("UPDATE blocks SET rows = zeroblob(length(rows))")
    store.close()
    engine = Engine(Store(tmp_path))
    engine.start()
    engine._thread.join(30.0)
    assert "is damaged: the rows up to 100 of model 1" in str(engine.failure)
    assert not engine.ready.is_set()
    engine.stop()


def test_a_second_server_on_the_same_folder_is_refused(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(onkel.FileError, match="another onkel serve uses the folder"):
        Store(tmp_path)


def test_numbers_mean_regression_and_strings_and_booleans_classes(engine: Engine) -> None:
    for name, label in (("numbers", float), ("strings", lambda y: "high" if y > 14.0 else "low"), ("booleans", lambda y: y > 14.0)):
        create(engine, name)
        rows = [{**row, "y": label(row["y"])} for row in ROWS[:100]]
        reply = learn(engine, rows, name=name)
        answer = engine.models[name].version.predict(rows[:20])
        assert {type(one) for one in answer.predictions} == {type(rows[0]["y"])}
        if name == "numbers":
            assert answer.probabilities is None
            with pytest.raises(onkel.InputError, match=r"row 0 .*column 'y': 'three' is not a number"):
                learn(engine, [{**ROWS[0], "y": "three"}], name=name)
        else:
            assert reply.predictions[0] is None  # no class was known
            assert answer.probabilities is not None
            np.testing.assert_allclose(np.sum(answer.probabilities, axis=1), 1.0)
            best = [answer.classes[int(np.argmax(row))] for row in answer.probabilities]  # type: ignore[index]
            assert best == answer.predictions


def test_a_row_without_its_label_is_refused_and_the_model_is_as_before(engine: Engine) -> None:
    create(engine)
    learn(engine, ROWS[:20])
    before = engine.models["a"].version
    with pytest.raises(onkel.InputError, match=r"row 1 .* has no 'y', the label"):
        learn(engine, [ROWS[20], {"x0": 1.0}])
    assert engine.models["a"].version is before


def test_a_removed_model_is_gone_and_its_name_is_free(engine: Engine) -> None:
    create(engine)
    learn(engine, ROWS[:20])
    with pytest.raises(Conflict, match="with other settings"):
        create(engine, learner="KernelRidge()")
    engine.submit(Remove("a")).result()
    assert "a" not in engine.models
    assert create(engine, learner="KernelRidge()").version.rows == 0


def test_a_packed_version_goes_on_to_the_same_bits(engine: Engine) -> None:
    version = Version(Settings(target="y", learner=RIDGE).model())
    version, _ = version.learn(ROWS[:100])
    again = unpacked(version.model, 100, version.pack())
    assert again.learn(ROWS[100:200])[0].pack() == version.learn(ROWS[100:200])[0].pack()
