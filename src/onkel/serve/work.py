"""Work for the engine: pieces of it, and the transaction in which they are done together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import msgspec

from onkel.errors import InputError
from onkel.model import Model
from onkel.serve.messages import Answer, Block, Label, Learnt, Row, Settings, Waiting, encode
from onkel.serve.served import Conflict, Served, Unknown
from onkel.serve.store import Store
from onkel.serve.version import Version, joined

MOST_TOGETHER = 512  # rows of a block
MOST_MODELS = 100
LARGEST_LOG = 1 << 30  # bytes of a model's log
LARGEST_REPLY = 1 << 16  # bytes; a larger reply is kept without its predictions, for a request that is sent again

_WAITING = msgspec.json.Decoder(Waiting)


class Work:
    """A piece of work for one model. Its future is set when the transaction is on disk."""

    def __init__(self, name: str, rows_to_learn: int = 0) -> None:
        self.name, self.rows_to_learn = name, rows_to_learn
        self.future: Future[Any] = Future()

    def enter(self, transaction: Transaction) -> None:
        """Do the work, after all earlier work for the same model."""
        transaction.learn_gathered(self.name)
        transaction.attempt(self, partial(self.do, transaction))

    def do(self, transaction: Transaction) -> Any:
        """The reply. An `InputError` must come before the first change."""
        raise NotImplementedError


class Create(Work):
    """A new model. The reply: whether it is new, or was there with the same settings."""

    def __init__(self, name: str, settings: Settings, model: Model) -> None:
        super().__init__(name)
        self.settings, self.model = settings, model

    def do(self, transaction: Transaction) -> bool:
        if (old := transaction.models.get(self.name)) is not None:
            if old.version.model != self.model:
                raise Conflict(f"there is a model {self.name!r} with other settings; choose another name, or delete it first")
            return False
        if len(transaction.models) >= MOST_MODELS:
            raise Conflict(f"there are {MOST_MODELS} models already; delete one first")
        id = transaction.store.add_model(self.name, encode(self.settings))
        transaction.models[self.name] = Served(id, self.name, self.settings, Version(self.model))
        return True


class Remove(Work):
    """The end of a model, with all that it has learnt."""

    def do(self, transaction: Transaction) -> None:
        transaction.store.remove_model(transaction.served(self.name).id)
        del transaction.models[self.name]


class LearnRows(Work):
    """Rows to learn, from a request or from a stream. `place`: the name of the stream, and the place of the last row in it."""

    def __init__(self, name: str, rows: Sequence[Row], request: str | None = None, place: tuple[str, str] | None = None) -> None:
        super().__init__(name, len(rows))
        if not rows:
            raise InputError("there are no rows to learn; send at least one")
        self.rows, self.request, self.place = rows, request, place

    def enter(self, transaction: Transaction) -> None:
        transaction.gather(self)

    @property
    def content(self) -> bytes:
        return encode(self.rows)


class KeepRows(Work):
    """Rows to predict now, whose labels come later under these ids."""

    def __init__(self, name: str, rows: Sequence[Row], ids: Sequence[str]) -> None:
        super().__init__(name)
        if len(ids) != len(rows) or len({*ids}) < len(ids):
            raise InputError(f"ids must be one for each of the {len(rows)} rows, all different; got {len(ids)}")
        self.rows, self.ids = rows, ids

    def do(self, transaction: Transaction) -> Answer:
        served = transaction.served(self.name)
        version = transaction.version(served)
        answer, lagged = version.predict(self.rows), version.remember()
        for id, row in zip(self.ids, self.rows, strict=True):
            transaction.store.add_waiting(served.id, id, encode(Waiting(row, lagged)))
        served.too_late += transaction.store.forget_old(served.id)
        return answer


class LearnLabels(Work):
    """Labels of rows that were predicted earlier. Each is learnt with the earlier labels that were known then."""

    def __init__(self, name: str, labels: Sequence[Label], request: str | None = None) -> None:
        super().__init__(name, len(labels))
        if len({one.id for one in labels}) < len(labels):
            raise InputError("an id stands there twice; send one label for each row")
        self.labels, self.request = labels, request

    @property
    def content(self) -> bytes:
        return encode(self.labels)

    def do(self, transaction: Transaction) -> bytes:
        if (before := transaction.replied(self)) is not None:
            return before
        served = transaction.served(self.name)
        target = served.settings.target
        found = [(one, transaction.store.waiting(served.id, one.id)) for one in self.labels]
        waiting = [(one.label, _WAITING.decode(kept)) for one, kept in found if kept is not None]
        pieces: list[tuple[list[Row], list[float] | None]] = [
            ([{**kept.row, target: label}], kept.lagged) for label, kept in waiting if kept.lagged
        ]
        if together := [{**kept.row, target: label} for label, kept in waiting if not kept.lagged]:
            pieces.append((together, None))
        answer = transaction.learn(served, pieces) if pieces else Answer([])
        for one, kept in found:
            if kept is not None:
                transaction.store.remove_waiting(served.id, one.id)
        unknown = [one.id for one, kept in found if kept is None]
        return transaction.reply(self, served, answer, transaction.version(served).rows, unknown)


class Snapshot(Work):
    """A packed version after this many rows. The log before it is no longer needed, and goes if it is large."""

    def __init__(self, name: str, rows: int, data: bytes) -> None:
        super().__init__(name)
        self.rows, self.data = rows, data

    def do(self, transaction: Transaction) -> None:
        served = transaction.served(self.name)
        transaction.store.add_snapshot(served.id, self.rows, self.data)
        if served.log_bytes > LARGEST_LOG:
            transaction.store.forget_blocks(served.id, served.snapshot)  # the older snapshot can still be continued
            served.log_bytes = transaction.store.bytes_of_log(served.id)
        served.snapshot = self.rows


class Transaction:
    """Work that is done together: it is on disk as a whole, or not at all.

    `models` and `drafts` are what becomes public when it is on disk.
    """

    def __init__(self, store: Store, models: dict[str, Served]) -> None:
        self.store, self.models = store, dict(models)
        self.drafts: dict[str, Version] = {}
        self.gathered: dict[str, list[LearnRows]] = {}
        self.replies: list[tuple[Future[Any], Any]] = []
        self.refusals: list[tuple[Future[Any], Exception]] = []

    def do(self, work: Sequence[Work]) -> None:
        for one in work:
            one.enter(self)
        for name in list(self.gathered):
            self.learn_gathered(name)

    def publish(self) -> None:
        """Send the replies; the drafts are the versions now."""
        for name, version in self.drafts.items():
            if name in self.models:
                self.models[name].version = version
        for future, reply in self.replies:
            future.set_result(reply)
        for future, error in self.refusals:
            future.set_exception(error)

    # --- for a piece of work

    def served(self, name: str) -> Served:
        if (found := self.models.get(name)) is None:
            raise Unknown(f"there is no model {name!r}; make it first: PUT /models/{name}")
        return found

    def version(self, served: Served) -> Version:
        return self.drafts.get(served.name, served.version)

    def attempt(self, work: Work, do: Callable[[], Any]) -> None:
        """Do it, and note the reply, or the error that the caller will get."""
        try:
            self.replies.append((work.future, do()))
        except InputError as error:
            self.refusals.append((work.future, error))

    def gather(self, work: LearnRows) -> None:
        """Have these rows learnt together with others, as far as they fit into one block."""
        before = self.gathered.get(work.name, [])
        rows = sum(len(one.rows) for one in before) + len(work.rows)
        is_repeated = work.request is not None and work.request in {one.request for one in before}
        if before and (rows > MOST_TOGETHER or is_repeated):
            self.learn_gathered(work.name)
        self.gathered.setdefault(work.name, []).append(work)

    def learn_gathered(self, name: str) -> None:
        """Learn the rows that were gathered for this model: together; or, if some of them are bad, request by request."""
        works = self.gathered.pop(name, [])
        new = [one for one in works if not self._answer_again(one)]
        try:
            if len(new) > 1:
                self._learn_together(name, new)
                return
        except InputError:
            pass
        for one in new:
            self.attempt(one, partial(self._learn_alone, name, one))

    def _answer_again(self, work: LearnRows) -> bool:
        """Answer a request that was answered before; False if it is new."""
        try:
            before = self.replied(work)
        except InputError as error:
            self.refusals.append((work.future, error))
            return True
        if before is not None:
            self.replies.append((work.future, before))
        return before is not None

    def _learn_together(self, name: str, works: Sequence[LearnRows]) -> None:
        served = self.served(name)
        start, first = 0, self.version(served).rows
        answer = self.learn(served, [([row for one in works for row in one.rows], None)])
        for one in works:
            stop = start + len(one.rows)
            probabilities = None if answer.probabilities is None else answer.probabilities[start:stop]
            own = Answer(answer.predictions[start:stop], answer.classes, probabilities)
            self.replies.append((one.future, self.reply(one, served, own, first + stop)))
            start = stop

    def _learn_alone(self, name: str, work: LearnRows) -> bytes:
        served = self.served(name)
        pieces = [(work.rows[k : k + MOST_TOGETHER], None) for k in range(0, len(work.rows), MOST_TOGETHER)]
        answer = self.learn(served, pieces)
        return self.reply(work, served, answer, self.version(served).rows)

    def learn(self, served: Served, pieces: Sequence[tuple[Sequence[Row], list[float] | None]]) -> Answer:
        """Learn blocks and log them. If one of them is refused, none is learnt."""
        version, answers, blocks = self.version(served), [], []
        for rows, lagged in pieces:
            version, answer = version.learn(rows, lagged)
            answers.append(answer)
            blocks.append((version.rows, encode(Block(list(rows), lagged))))
        for last, block in blocks:
            self.store.add_block(served.id, last, block)
            served.log_bytes += len(block)
        self.drafts[served.name] = version
        return joined(answers)

    def replied(self, work: LearnRows | LearnLabels) -> bytes | None:
        """The reply to this request, if it was answered before."""
        if work.request is None or (served := self.models.get(work.name)) is None:
            return None
        if (before := self.store.answered(served.id, work.request)) is None:
            return None
        if before.hash != _hash(work.content):
            raise Conflict(f"the request_id {work.request!r} was used for other rows; choose a new one for each request")
        return before.reply

    def reply(
        self, work: LearnRows | LearnLabels, served: Served, answer: Answer, sequence: int, unknown: Sequence[str] = ()
    ) -> bytes:  # fmt: skip
        """The reply as JSON; it is kept if the request has an id."""
        learnt = Learnt(answer.predictions, answer.classes, answer.probabilities, sequence=sequence, unknown=list(unknown))
        reply = encode(learnt)
        if work.request is not None:
            kept = reply if len(reply) <= LARGEST_REPLY else encode(Learnt([], sequence=sequence, unknown=list(unknown)))
            self.store.add_reply(served.id, work.request, _hash(work.content), kept)
            self.store.forget_old(served.id)
        if isinstance(work, LearnRows) and work.place is not None:
            self.store.set_position(served.id, *work.place)
        return reply


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
