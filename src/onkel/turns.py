"""Atomic calls: only one call at a time changes a state, only the learner that owns it can, and no state is left half changed.

    with turn(learner, state):                  a verb that reads
    with turn(learner, state, True) as call:    a verb that changes the state

1.  A state belongs to the learner whose `init` made it (`onkel.state`); every other learner is refused before anything changes.
2.  Calls from several threads take turns, first come, first served. A nested call on the same state (from a signal handler or a
    user's kernel) is refused if either of the two changes the state, since waiting would be a deadlock.
3.  An interrupt may come at any instant. So `learn` consists of steps that no interrupt can split: one call of compiled code, or
    one assignment. If several steps belong together, as in a wrapper and its learner, the later ones are registered as *pending*
    before the first one runs. A call that is interrupted in between runs its pending steps before it ends; if that is interrupted
    too, the next call on this state runs them.

A turn is stored in the state itself, under one key of its __dict__, by `setdefault`, which no interrupt or thread can split. An
interrupt at an unlucky instant may leave the turn there after its call has ended. So a turn counts as over if the function that
took it is no longer running.
"""

from __future__ import annotations

import operator
import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from sys import _getframe
from types import FrameType, TracebackType
from typing import Any

from onkel.errors import InputError
from onkel.state import OWNER, ROW, TURN

SECONDS_TO_LOOK = 0.05  # how often a waiting call checks whether the one before it is over

_queue: list[turn] = []  # the calls that wait, for any state, in order
_changing_hands = threading.Lock()  # protects the queue, and the takeover of a turn from a call that is over


class Call:
    """A call on a state that no one else uses, such as a copy. If it fails, its pending steps need not run."""

    __slots__ = ("pending",)

    def __init__(self) -> None:
        self.pending: list[Callable[[], None]] | None = None

    def defer(self, rest: Callable[[], None]) -> None:
        """Register the steps that must still be done if the call is interrupted from now on. `rest` must be idempotent."""
        if self.pending is None:
            self.pending = []
        self.pending.append(rest)

    def complete(self) -> None:
        """Run the steps that were deferred last."""
        assert self.pending
        self.pending[-1]()
        self.pending.pop()


class Steps:
    """Steps that belong together, collected first and then run. After an interrupt, `run` continues at the step that was stopped.

    Each step is a call of compiled code or of C, which no interrupt can split, or it is idempotent.
    """

    __slots__ = ("done", "steps")

    def __init__(self, steps: Iterable[Callable[[], Any]] = ()) -> None:
        self.steps: list[Callable[[], Any]] = list(steps)
        self.done: list[Any] = []  # the results of the steps that have run

    def add(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.steps.append(partial(function, *arguments))

    def run(self) -> None:
        # an interrupt can come only between two bytecodes, and none lies between a step and the record that it is done
        deque(map(self.done.append, map(operator.call, self.steps[len(self.done) :])), 0)


class turn(Call):
    """A call on a state. The constructor waits for the turn.

    Verbs that take microseconds use `call = turn(…)` and `call.end()`, or `call.fail()`, because `with` takes longer.
    """

    __slots__ = ("changes", "frame", "ready", "single", "state")

    def __init__(self, learner: Any, state: Any, changes: bool = False) -> None:
        try:
            marks = state.__dict__
        except AttributeError:
            raise InputError(_refusal(learner, state)) from None
        if marks.get(OWNER) is not learner:
            _check_owner(learner, state, marks)
        self.state, self.changes, self.pending = state, changes, None
        # the frame of the calling function; None if this call is nested in another one, or is over
        self.frame: FrameType | None = _getframe(1)
        if marks.setdefault(TURN, self) is not self:
            self._wait()
        self.single = marks.pop(ROW, None) if changes else None  # the prepared calls may refer to arrays that this call replaces

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
        self.frame = None  # breaks the reference cycle of frame and turn

    def fail(self) -> None:
        """End the call after an exception."""
        if self.changes:
            self._settle()
        self.end()

    @property
    def is_nested(self) -> bool:
        """Whether this is a call inside another one that reads the same state."""
        return self.frame is None

    @property
    def learner(self) -> Any:
        return self.state.__dict__[OWNER]

    def _settle(self) -> None:
        """Finish the pending steps, so that the state is that after a whole number of rows."""
        while self.pending:
            self.complete()
        self.learner._hooks._settle(self.state)

    def _hand_over(self) -> None:
        """Give the turn to the call that has waited longest for this state."""
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
        if self.pending is not None:
            self._settle()

    def _may_begin(self) -> bool:
        """Take the turn if it is free, was handed over, or belongs to a call that is over; otherwise join the queue."""
        with _changing_hands:
            marks = self.state.__dict__
            holder = marks.setdefault(TURN, self)
            while holder is not self and not _is_running(holder.frame):
                if marks.get(TURN) is holder:  # otherwise the holder has just ended normally and removed its turn
                    marks[TURN], self.pending = self, holder.pending or []
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
        """Begin a call inside another call on the same state, if neither of them changes it."""
        if self.changes or holder.changes:
            raise InputError(f"this state is in the middle of a call of {holder.learner!r:.200}; wait until it has returned")
        self.frame = None


def _check_owner(learner: Any, state: Any, marks: dict[str, Any]) -> None:
    """Accept a learner with equal settings."""
    owner = marks.get(OWNER)
    if type(owner) is not type(learner) or repr(owner) != repr(learner):
        raise InputError(_refusal(learner, state))
    marks[OWNER] = learner


def _refusal(learner: Any, state: Any) -> str:
    remedy = f"use the learner that made it, or start with {type(learner).__name__}(…).init(dim)"
    owner = getattr(state, "__dict__", {}).get(OWNER)
    if owner is None:
        return f"{type(learner).__name__} was given {state!r:.60} instead of a state; {remedy}"
    return f"this state belongs to {owner!r:.200}; {learner!r:.200} cannot use it: {remedy}"


def _is_running(frame: FrameType | None) -> bool:
    """Whether a function call has not returned yet, in any thread.

    Python refuses to clear the variables of a frame that is still running, so trying it gives the answer in one step. A search of
    all threads' stacks would take many steps, and the stacks would change meanwhile.
    """
    try:
        if frame is not None:
            frame.clear()
    except RuntimeError:
        return True
    return False


def _is_below(frame: FrameType | None, top: FrameType | None) -> bool:
    """Whether `frame` is `top` or one of its callers, on the same thread."""
    while top is not None and top is not frame:
        top = top.f_back
    return top is not None
