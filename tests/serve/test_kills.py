"""The server is killed at random moments under load. No acknowledged row is lost, none is learnt twice, and the state is that of
the log, to the bit."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

import onkel
from onkel.serve.messages import Block, Settings
from onkel.serve.store import Store
from onkel.serve.version import Version
from tests.serve.running import Running

pytestmark = pytest.mark.once

LEARNER = "PKAWV(features=Fourier(count=5))"
SETTINGS = Settings(target="y", learner=LEARNER)
SHARED = 3  # clients of one model
PATIENCE = 900.0  # seconds: a client is unlucky if each of its tries meets a server that is being killed
SLOWEST = 0.5  # seconds of work before a kill


class Sender(threading.Thread):
    """Sends one request after the other to a model, and remembers what was acknowledged."""

    def __init__(self, server: Running, model: str, seed: int) -> None:
        super().__init__(daemon=True)
        self.client, self.model = server.client(patience=PATIENCE), model
        self.draw, self.stopping = random.Random(seed), threading.Event()
        self.acknowledged: list[list[dict[str, Any]]] = []
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                rows = [{"a": self.draw.random(), "who": f"{self.model} {self.ident}", "y": self.draw.random()} for _ in range(3)]
                self.client.learn(self.model, rows)
                self.acknowledged.append(rows)
        except Exception as error:
            self.failure = error
        finally:
            self.client.close()


def killed(folder: Path, kills: int, seed: int) -> None:
    server, draw = Running(folder), random.Random(seed)
    client = server.client()
    for model in ("alone", "shared"):
        client.create(model, "y", LEARNER)
    alone = Sender(server, "alone", seed)
    shared = [Sender(server, "shared", seed + 1 + k) for k in range(SHARED)]
    for sender in (alone, *shared):
        sender.start()
    for _ in range(kills):
        alone.stopping.wait(draw.random() * SLOWEST)
        server.kill()
        server.start()
    for sender in (alone, *shared):
        sender.stopping.set()
    for sender in (alone, *shared):
        sender.join()
        assert sender.failure is None, sender.failure
    models = {name: client.download(name) for name in ("alone", "shared")}
    client.close()
    server.stop()

    store = Store(folder)
    logs = {
        known.name: [msgspec.json.decode(data, type=Block) for _, data in store.blocks_after(known.id, 0)]
        for known in store.models()
    }
    store.close()
    # every acknowledged row is in the log, once, and nothing else is
    assert [block.rows for block in logs["alone"]] == alone.acknowledged
    logged = [str(row) for block in logs["shared"] for row in block.rows]
    sent = [str(row) for sender in shared for rows in sender.acknowledged for row in rows]
    assert sorted(logged) == sorted(sent)
    # the state is that of the log, and of one process that was never killed
    for name, blocks in logs.items():
        version = Version(SETTINGS.model())
        for block in blocks:
            version, _ = version.learn(block.rows)
        assert onkel.unpack(models[name])[1] == onkel.unpack(version.pack())[1]
        assert models[name] == version.pack()
    print(f"{kills} kills, {len(logged) + 3 * len(alone.acknowledged):,} rows")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients try again at once, so that they meet a server that lives for half a second."""
    monkeypatch.setattr("onkel.client.LONGEST_PAUSE", 0.05)


def test_a_killed_server_loses_nothing_and_learns_nothing_twice(tmp_path: Path) -> None:
    killed(tmp_path, kills=3, seed=0)


@pytest.mark.long
def test_two_hundred_kills(tmp_path: Path) -> None:
    killed(tmp_path, kills=200, seed=1)
