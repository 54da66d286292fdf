"""Progress on the error stream: a bar in a terminal, a plain line every few seconds in a pipe or a log."""

from __future__ import annotations

import signal
import time
from types import FrameType, TracebackType
from typing import Any

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from onkel._jit import clock
from onkel.report.page import Page

SECONDS_BETWEEN_LINES = 5.0


class ProgressLine:
    """Rows done, rate and error."""

    def __init__(self, rows: int | None, done: int = 0) -> None:
        self.page = Page(errors=True)
        text = TextColumn("{task.description}", markup=False)
        shape = [SpinnerColumn(), text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
        self.bar = Progress(*shape, console=self.page.console, transient=True, disable=not self._is_interactive)
        self.task = self.bar.add_task("reading", total=rows, completed=done)
        self.rows = rows
        self.begin(done)

    @property
    def _is_interactive(self) -> bool:
        return self.page.console.is_interactive  # a terminal that can draw (not TERM=dumb)

    def __enter__(self) -> ProgressLine:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.stop()

    def begin(self, rows: int) -> None:
        """Start the clock, so that the rate excludes earlier compilation."""
        self.first, self.said, self.began = rows, time.monotonic(), clock()

    def show(self, rows: int, errors: dict[str, str]) -> None:
        now, rate = time.monotonic(), (rows - self.first) / max(clock() - self.began, 1e-9)
        error = "".join(f", {name} {value}" for name, value in list(errors.items())[:1])
        line = f"{rows:,} rows, {rate:,.0f} a second{error}"
        self.bar.update(self.task, completed=rows, description=line)
        if not self._is_interactive and now - self.said >= SECONDS_BETWEEN_LINES:
            self.said = now
            left = f", about {max(0.0, (self.rows - rows) / rate):,.0f} s left" if self.rows and rate else ""
            self.page.say(line + left)


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
