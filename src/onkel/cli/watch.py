"""Progress on the error stream: a bar in a terminal, a plain line every few seconds in a pipe or a log."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from functools import partial
from types import FrameType, TracebackType
from typing import Any

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from onkel._jit import clock
from onkel.report.page import Page

SECONDS_BETWEEN_LINES = 5.0


class ProgressLine:
    """Rows done, rate and error. `work(n)` is the work for the first n rows, for learners whose later rows take longer."""

    def __init__(self, rows: int | None, done: int = 0, work: Callable[[int], float] = float, shown: bool = True) -> None:
        self.work, self.shown = work, shown
        self.page = Page(errors=True)
        text = TextColumn("{task.description}", markup=False)
        shape = [SpinnerColumn(), text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
        self.bar = Progress(*shape, console=self.page.console, transient=True, disable=not (shown and self._is_interactive))
        self.task = self.bar.add_task("reading", total=work(rows) if rows else None)
        self.bar.update(self.task, completed=work(done))
        self.rows, self.first, self.line = rows, done, partial(str, "reading")
        self.begin()

    @property
    def _is_interactive(self) -> bool:
        return self.page.console.is_interactive  # a terminal that can draw (not TERM=dumb)

    def __enter__(self) -> ProgressLine:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.stop()

    def begin(self) -> None:
        """Start the clock, so that the rate excludes earlier compilation."""
        self.said, self.began = time.monotonic(), clock()

    def show(self, rows: int, errors: Callable[[], dict[str, str]]) -> None:
        """Show how far the run is. The function `errors` is called only when its result is shown."""
        now, rate = time.monotonic(), (rows - self.first) / max(clock() - self.began, 1e-9)
        self.line = partial(_line, rows, rate, errors)
        if self._is_interactive and self.shown:
            self.bar.update(self.task, completed=self.work(rows), description=self.line())
        elif self.shown and now - self.said >= SECONDS_BETWEEN_LINES:
            self.said = now
            self.page.say(self.line() + self._left(rows))

    def _left(self, rows: int) -> str:
        """The time left, estimated as if a unit of work takes as long as it has taken so far."""
        done = self.work(rows) - self.work(self.first)
        if not self.rows or done <= 0.0:
            return ""
        left = (self.work(self.rows) - self.work(rows)) / done * (clock() - self.began)
        return f", about {max(0.0, left):,.0f} s left"

    def name(self, learner: str) -> None:
        """Show which learner learns now."""
        if self._is_interactive and self.shown:
            self.bar.update(self.task, description=f"{self.line()}, {learner} learns")
        elif self.shown and time.monotonic() - self.said >= SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            self.page.say(f"{self.line()}, {learner} learns")


def _line(rows: int, rate: float, errors: Callable[[], dict[str, str]]) -> str:
    error = "".join(f", {name} {value}" for name, value in list(errors().items())[:1])
    return f"{rows:,} rows, {rate:,.0f} a second{error}"


class CtrlC:
    """The first Ctrl-C stops the run at the end of a block, where the state can be saved; the second stops it at once."""

    def __init__(self) -> None:
        self.pressed = False
        self.before: Any = None

    def __enter__(self) -> CtrlC:
        self.before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self.before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
