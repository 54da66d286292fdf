"""The store: one SQLite database in a folder. It holds each model's settings, its log and its snapshots.

    models      name and settings
    blocks      the log: the rows of each block, exactly as they were learnt together, under the number of its last row
    requests    the replies to requests with an id, so that one that is sent again is answered and not learnt again
    waiting     rows that were predicted under an id and wait for their labels
    snapshots   a packed model, and the number of the last row that it has learnt
    positions   for rows from a stream: the place of the last one in it

Everything is written by one thread, in transactions. A transaction is on disk when `commit` returns (`synchronous=FULL`); after a
crash either all of it is there or nothing. A file that is locked for as long as the process lives keeps a second server out.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from onkel.errors import FileError

DATABASE, LOCK = "onkel.sqlite", "onkel.lock"
FORMAT = 1  # of the tables below
MOST_REQUESTS = 10_000  # requests of a model whose replies are kept
MOST_WAITING = 10_000  # rows of a model that wait for their labels
SNAPSHOTS = 2  # of each model; the older one serves if the newer one turns out to be damaged

TABLES = """
CREATE TABLE models (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, settings BLOB NOT NULL) STRICT;
CREATE TABLE blocks (
  model INTEGER NOT NULL, last INTEGER NOT NULL, rows BLOB NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (model, last)
) STRICT, WITHOUT ROWID;
CREATE TABLE requests (
  number INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, id TEXT NOT NULL, hash BLOB NOT NULL, reply BLOB NOT NULL,
  UNIQUE (model, id)
) STRICT;
CREATE INDEX requests_by_age ON requests (model, number);
CREATE TABLE waiting (
  number INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, id TEXT NOT NULL, row BLOB NOT NULL, UNIQUE (model, id)
) STRICT;
CREATE INDEX waiting_by_age ON waiting (model, number);
CREATE TABLE snapshots (
  model INTEGER NOT NULL, last INTEGER NOT NULL, data BLOB NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (model, last)
) STRICT;
CREATE TABLE positions (
  model INTEGER NOT NULL, source TEXT NOT NULL, place TEXT NOT NULL, PRIMARY KEY (model, source)
) STRICT, WITHOUT ROWID;
"""


class Known(NamedTuple):
    """A model in the store."""

    id: int
    name: str
    settings: bytes


class Answered(NamedTuple):
    """A request that was answered before."""

    hash: bytes
    reply: bytes


class Full(FileError):
    """The disk is full. Nothing of the transaction was written."""


class Store:
    """The database of a folder. Methods that write are called inside `transaction`, by one thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder)
        except OSError as error:
            raise FileError(f"cannot use the folder {folder}: {error.strerror or error}; choose another with --data") from None
        try:
            self._database = self._opened(folder / DATABASE)
        except BaseException:
            self._lock.close()
            raise

    def _opened(self, path: Path) -> sqlite3.Connection:
        try:
            database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=FULL")
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version == 0:
                database.executescript(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version={FORMAT}; COMMIT;")
                _flush(self.folder)
            elif version != FORMAT:
                raise FileError(
                    f"{path} was written by another version of onkel (format {version}, not {FORMAT}); use that version"
                )
            if (found := database.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise FileError(f"{path} is damaged ({found}); restore a backup of it")
        except sqlite3.Error as error:
            raise FileError(f"cannot open {path}: {error}; if it is damaged, restore a backup of it") from None
        return database

    def close(self) -> None:
        self._database.close()
        self._lock.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is written inside is on disk when the block ends, all of it. If the block or the writing fails, nothing is."""
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise Full(f"the disk of {self.folder} is full: nothing was learnt; free some space and send it again") from None
            raise FileError(f"cannot write to {self.folder / DATABASE}: {error}") from error

    # --- models

    def models(self) -> list[Known]:
        return [Known(*row) for row in self._all("SELECT id, name, settings FROM models ORDER BY id")]

    def add_model(self, name: str, settings: bytes) -> int:
        return int(self._database.execute("INSERT INTO models (name, settings) VALUES (?, ?)", (name, settings)).lastrowid or 0)

    def remove_model(self, model: int) -> None:
        for table in ("blocks", "requests", "waiting", "snapshots", "positions"):
            self._database.execute(f"DELETE FROM {table} WHERE model = ?", (model,))  # a name from the line above
        self._database.execute("DELETE FROM models WHERE id = ?", (model,))

    # --- the log

    def add_block(self, model: int, last: int, rows: bytes) -> None:
        """Log rows that are learnt together; `last` is the number of the last of them, counted from 1."""
        self._database.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", (model, last, rows, zlib.crc32(rows)))

    def blocks_after(self, model: int, row: int) -> Iterator[tuple[int, bytes]]:
        """The blocks after this row, in order, each with the number of its last row."""
        found = self._database.execute(
            "SELECT last, rows, checksum FROM blocks WHERE model = ? AND last > ? ORDER BY last", (model, row)
        )
        for last, rows, checksum in found:
            if zlib.crc32(rows) != checksum:
                raise FileError(
                    f"{self.folder / DATABASE} is damaged: the rows up to {last:,} of model {model}; restore a backup of it"
                )
            yield last, rows

    def forget_blocks(self, model: int, upto: int) -> None:
        """Remove the blocks up to this row, which a snapshot has learnt."""
        self._database.execute("DELETE FROM blocks WHERE model = ? AND last <= ?", (model, upto))

    def bytes_of_log(self, model: int) -> int:
        return int(self._all("SELECT coalesce(sum(length(rows)), 0) FROM blocks WHERE model = ?", model)[0][0])

    # --- requests

    def answered(self, model: int, request: str) -> Answered | None:
        """The reply to an earlier request with this id."""
        found = self._all("SELECT hash, reply FROM requests WHERE model = ? AND id = ?", model, request)
        return Answered(*found[0]) if found else None

    def add_reply(self, model: int, request: str, hash: bytes, reply: bytes) -> None:
        self._database.execute("INSERT INTO requests (model, id, hash, reply) VALUES (?, ?, ?, ?)", (model, request, hash, reply))

    def forget_old(self, model: int) -> int:
        """Forget all but the newest replies and waiting rows. Returns the number of rows that no longer wait."""
        self._forget("requests", model, MOST_REQUESTS)
        return self._forget("waiting", model, MOST_WAITING)

    def _forget(self, table: str, model: int, most: int) -> int:
        oldest = f"SELECT number FROM {table} WHERE model = ? ORDER BY number DESC LIMIT 1 OFFSET ?"
        return self._database.execute(
            f"DELETE FROM {table} WHERE model = ? AND number <= ({oldest})", (model, model, most)
        ).rowcount

    # --- rows that wait for their labels

    def add_waiting(self, model: int, id: str, row: bytes) -> None:
        """Keep a predicted row; one that was kept under the same id is replaced."""
        self._database.execute("INSERT OR REPLACE INTO waiting (model, id, row) VALUES (?, ?, ?)", (model, id, row))

    def waiting(self, model: int, id: str) -> bytes | None:
        """The row that waits under this id."""
        found = self._all("SELECT row FROM waiting WHERE model = ? AND id = ?", model, id)
        return found[0][0] if found else None

    def remove_waiting(self, model: int, id: str) -> None:
        self._database.execute("DELETE FROM waiting WHERE model = ? AND id = ?", (model, id))

    # --- snapshots

    def add_snapshot(self, model: int, last: int, data: bytes) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", (model, last, data, hashlib.sha256(data).digest())
        )
        self._database.execute(
            "DELETE FROM snapshots WHERE model = ? AND last NOT IN "
            "(SELECT last FROM snapshots WHERE model = ? ORDER BY last DESC LIMIT ?)",
            (model, model, SNAPSHOTS),
        )

    def snapshots(self, model: int) -> list[tuple[int, bytes]]:
        """The snapshots that are whole, the newest first, each with the number of the last row that it has learnt."""
        found = self._all("SELECT last, data, hash FROM snapshots WHERE model = ? ORDER BY last DESC", model)
        return [(last, data) for last, data, hash in found if hashlib.sha256(data).digest() == hash]

    # --- positions in streams

    def position(self, model: int, source: str) -> str | None:
        found = self._all("SELECT place FROM positions WHERE model = ? AND source = ?", model, source)
        return found[0][0] if found else None

    def set_position(self, model: int, source: str, place: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", (model, source, place))

    def _all(self, query: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        return self._database.execute(query, values).fetchall()


def _locked(folder: Path) -> IO[bytes]:
    """A file of the folder, locked until it is closed or the process ends, however it ends."""
    file = open(folder / LOCK, "ab")  # noqa: SIM115  # it stays open
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise FileError(f"another onkel serve uses the folder {folder}; stop it, or choose another folder with --data") from None
    return file


def _flush(folder: Path) -> None:
    """Make sure that the names of new files in the folder are on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
