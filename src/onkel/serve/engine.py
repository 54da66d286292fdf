"""The engine: all models of a folder. One thread learns and writes; any thread may read.

1. Requests wait in a queue. The thread takes all that are there, so under load many of them share one transaction, whose price is
   that of flushing the disk: milliseconds, however many rows it holds.
2. Rows for the same model are learnt together, as one block, by the next version of the model (`version.py`). A block that is
   refused is learnt again request by request, so that only the bad request fails.
3. Blocks are logged exactly as they were learnt. So learning the log again gives the same state, to the bit.
4. When the transaction is on disk, the new versions are published and the replies sent. If it fails, they are dropped: nothing was
   learnt, and the replies say so.

After a crash, each model is its newest snapshot and the blocks logged after it (`recovery.py`).
"""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from typing import Any

from onkel.errors import FileError
from onkel.serve.recovery import recovered
from onkel.serve.served import Served, Unknown
from onkel.serve.store import Full, Store
from onkel.serve.work import Snapshot, Transaction, Work

MOST_QUEUED = 100_000  # rows that wait to be learnt
SECONDS_BETWEEN_SNAPSHOTS = 10.0
LARGEST_SHARE = 0.05  # of the time, for snapshots


class Unavailable(FileError):
    """The engine cannot learn now."""


class Engine:
    """The models of a folder, by name. `ready` is set when all of them are recovered."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.models: dict[str, Served] = {}
        self.ready = threading.Event()
        self.failure: Exception | None = None  # why nothing can be learnt until the next start
        self.closing = False  # whether the server is about to end, so that nobody should wait for news
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self.queued = 0  # rows
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="onkel learns", daemon=True)
        self._snapshots = threading.Thread(target=self._take_snapshots, name="onkel snapshots", daemon=True)

    def start(self) -> None:
        """Recover the models, then work, in the background."""
        self._thread.start()
        self._snapshots.start()

    def stop(self) -> None:
        """Finish the work that waits, take snapshots, and close the store."""
        self._stopping.set()
        self._snapshots.join()
        self._queue.put(None)
        self._thread.join()
        self.store.close()

    def served(self, name: str) -> Served:
        if (found := self.models.get(name)) is None:
            raise Unknown(f"there is no model {name!r}; make it first: PUT /models/{name}")
        return found

    def submit(self, work: Work) -> Future[Any]:
        """Have the work done. The future is set when it is on disk."""
        if self.failure is not None:
            raise Unavailable(f"nothing can be written any more ({self.failure}); the server must be started again")
        if self.queued + work.rows_to_learn > MOST_QUEUED:
            raise Unavailable(f"{self.queued:,} rows wait to be learnt already; send these again in a second")
        self.queued += work.rows_to_learn
        self._queue.put(work)
        return work.future

    # --- the thread that learns and writes

    def _run(self) -> None:
        try:
            self.models = recovered(self.store)
        except Exception as error:  # whatever it is: nothing may be learnt on top of it
            self.failure = error
            return
        self.ready.set()
        while self._do(self._next()):
            pass

    def _next(self) -> list[Work | None]:
        """All work that waits; at least one piece."""
        found = [self._queue.get()]
        while True:
            try:
                found.append(self._queue.get_nowait())
            except queue.Empty:
                return found

    def _do(self, waiting: list[Work | None]) -> bool:
        """Do the work in one transaction. Returns whether there is more to come."""
        work = [one for one in waiting if one is not None]
        transaction = Transaction(self.store, self.models)
        try:
            with self.store.transaction():
                transaction.do(work)
        except FileError as error:
            if not isinstance(error, Full):
                self.failure = error
            for one in work:
                one.future.set_exception(error)
        except Exception as error:  # a defect of ours: it must not end this thread, nor fail the requests of others
            if len(work) > 1:
                for one in work:
                    self._do([one])
                return None not in waiting
            work[0].future.set_exception(error)
        else:
            self.models = transaction.models
            transaction.publish()
        self.queued -= sum(one.rows_to_learn for one in work)
        return None not in waiting

    # --- the thread that takes snapshots

    def _take_snapshots(self) -> None:
        while not self.ready.wait(0.1):
            if self._stopping.is_set():
                return
        pause = 0.0  # what was recovered just now should not have to be recovered again
        while not self._stopping.wait(pause):
            began = time.monotonic()
            self._snapshot_all()
            pause = max(SECONDS_BETWEEN_SNAPSHOTS, (time.monotonic() - began) / LARGEST_SHARE)
        self._snapshot_all()

    def _snapshot_all(self) -> None:
        for served in list(self.models.values()):
            if served.version.rows > served.snapshot and self.failure is None:
                rows, data = served.version.rows, served.version.pack()
                self.submit(Snapshot(served.name, rows, data))
