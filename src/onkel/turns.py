"""Whole or not at all: one call at a time on a state, by the learner that it belongs to, and nothing left half done.

    with turn(learner, state):                  a verb that reads
    with turn(learner, state, True) as call:    a verb that changes the state

1.  A state belongs to the learner whose `init` made it (`onkel.state`); any other is refused before anything is touched.
2.  Calls from several threads take turns, in the order in which they came. A call from inside another on the same state (a signal
    handler, a user's kernel) is refused if one of the two changes the state: waiting would be for ever.
3.  An interrupt may come at any instant. What `learn` does is therefore made of steps that no interrupt can cut: one call of
    compiled code, or one assignment. Where several such steps belong together, as in a learner around another one, the rest is
    `owed`: it is noted down before the first step, and whoever leaves the state in the middle pays it, or, if that is interrupted
    too, the next call on this state does.

A turn is marked in the state itself, by one key of its dictionary, since setting a key if there is none is one step. It stays there
when its call has ended by an interrupt at an unlucky instant; one whose frame is no longer running is over.
"""

from __future__ import annotations

import operator
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from sys import _getframe
from types import FrameType, TracebackType
from typing import Any

from onkel.errors import InputError
from onkel.state import OWNER, TURN

SECONDS_TO_LOOK = 0.05  # a call that waits looks so often whether the one before it is over

_queue: list[turn] = []  # the calls that wait for any state, in order
_changing_hands = threading.Lock()  # held to look at or change the queue, and to take a turn from a call that is over


class Call:
    """Work on a state that nobody else sees, such as a copy: what is owed there may be left."""

    __slots__ = ("owed",)

    def __init__(self) -> None:
        self.owed: list[Callable[[], None]] | None = None

    def owe(self, rest: Callable[[], None]) -> None:
        """What remains to be done if this call ends now; doing it twice must be the same as doing it once."""
        if self.owed is None:
            self.owed = []
        self.owed.append(rest)

    def pay(self) -> None:
        """Do what was owed last."""
        assert self.owed
        self.owed[-1]()
        self.owed.pop()


class Steps:
    """Steps that belong together, noted down first and then run: from the one on where an interrupt has stopped them.

    Each is a call of compiled code or of C, which no interrupt can cut; or it may be repeated: it writes the same again.
    """

    __slots__ = ("done", "steps")

    def __init__(self) -> None:
        self.steps: list[Callable[[], Any]] = []
        self.done: list[Any] = []  # what they have returned

    def add(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.steps.append(partial(function, *arguments))

    def run(self) -> None:
        # between a step and the note that it is done there is no bytecode, where alone an interrupt can come
        deque(map(self.done.append, map(operator.call, self.steps[len(self.done) :])), 0)


class turn(Call):
    """A call on a state, from the moment that it may begin to its end.

    Verbs that take microseconds say `call = turn(…)` and `call.end()`, or `call.fail()`, by themselves: `with` takes longer.
    """

    __slots__ = ("changes", "frame", "ready", "state")

    def __init__(self, learner: Any, state: Any, changes: bool = False) -> None:
        try:
            marks = state.__dict__
        except AttributeError:
            raise InputError(_refusal(learner, state)) from None
        if marks.get(OWNER) is not learner:
            _check_owner(learner, state, marks)
        self.state, self.changes, self.owed = state, changes, None
        self.frame: FrameType | None = _getframe(1)  # None: this call is part of another one, or over
        if marks.setdefault(TURN, self) is not self:
            self._wait()

    def __enter__(self) -> turn:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.end()
        else:
            self.fail()

    def end(self) -> None:
        if self.frame is None:
            return
        if _queue:
            self._hand_over()
        else:
            del self.state.__dict__[TURN]
        self.frame = None  # which holds this turn: without the circle both go at once

    def fail(self) -> None:
        """End with an exception."""
        if self.changes:
            self._settle()
        self.end()

    @property
    def learner(self) -> Any:
        return self.state.__dict__[OWNER]

    def _settle(self) -> None:
        """Leave the state as it is after some number of whole rows."""
        while self.owed:
            self.pay()
        self.learner._hooks._settle(self.state)

    def _hand_over(self) -> None:
        """The turn goes to the call that has waited longest for this state."""
        marks = self.state.__dict__
        with _changing_hands:
            following = next((other for other in _queue if other.state is self.state), None)
            if following is None:
                del marks[TURN]
                return
            _queue.remove(following)
            marks[TURN] = following
            following.ready.set()

    def _wait(self) -> None:
        self.ready = threading.Event()
        try:
            while not self._may_begin():
                self.ready.wait(SECONDS_TO_LOOK)
        except BaseException:
            with _changing_hands:
                self._leave_queue()
            raise
        if self.owed is not None:
            self._settle()

    def _may_begin(self) -> bool:
        """Take the turn if it is free, was handed over, or is that of a call that is over; else queue for it."""
        with _changing_hands:
            marks = self.state.__dict__
            holder = marks.setdefault(TURN, self)
            while holder is not self and not _is_running(holder.frame):
                if marks.get(TURN) is holder:  # else it has just ended as it should, and taken its mark away
                    marks[TURN], self.owed = self, holder.owed or []
                holder = marks.setdefault(TURN, self)
            if holder is self:
                self._leave_queue()
                return True
            if self not in _queue:
                if _is_below(holder.frame, _getframe()):
                    self._nest(holder)
                    return True
                _queue.append(self)
            return False

    def _leave_queue(self) -> None:
        if self in _queue:
            _queue.remove(self)

    def _nest(self, holder: turn) -> None:
        """A call inside another on the same state."""
        if self.changes or holder.changes:
            raise InputError(f"this state is in the middle of a call of {holder.learner!r:.200}; wait until it has returned")
        self.frame = None


def _check_owner(learner: Any, state: Any, marks: dict[str, Any]) -> None:
    """Equal settings are enough; a copy of a learner is that learner."""
    owner = marks.get(OWNER)
    if type(owner) is not type(learner) or repr(owner) != repr(learner):
        raise InputError(_refusal(learner, state))
    marks[OWNER] = learner


def _refusal(learner: Any, state: Any) -> str:
    remedy = f"take the learner that made it, or begin with {type(learner).__name__}(…).init(dim)"
    owner = getattr(state, "__dict__", {}).get(OWNER)
    if owner is None:
        return f"{type(learner).__name__} was given {state!r:.60} in the place of a state; {remedy}"
    return f"this state belongs to {owner!r:.200}; {learner!r:.200} cannot use it: {remedy}"


def _is_running(frame: FrameType | None) -> bool:
    """Whether a call has not returned, in any thread.

    Python itself knows, and answers in one step: it refuses to clear the variables of a frame that is running. To look for the
    frame in the threads' stacks would take many steps, while those threads go on and their stacks fall apart.
    """
    try:
        if frame is not None:
            frame.clear()
    except RuntimeError:
        return True
    return False


def _is_below(frame: FrameType | None, top: FrameType | None) -> bool:
    """Whether a frame is one of those that led to this one, on the same thread."""
    while top is not None and top is not frame:
        top = top.f_back
    return top is not None
