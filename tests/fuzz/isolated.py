"""Work that may crash or hang, in a forked child: what was compiled and computed before is there at once."""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection

SECONDS_TO_CALL_IT_A_HANG = 60


def isolated(work: Callable[[], object]) -> None:
    """Do the work in a child; an exception there, a crash or a hang is an AssertionError here."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_told, args=(work, sender))
    child.start()
    sender.close()
    try:
        said = receiver.recv() if receiver.poll(SECONDS_TO_CALL_IT_A_HANG) else "it hangs"
    except EOFError:
        child.join()
        code = child.exitcode or 0
        said = f"it crashed: {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"
    finally:
        child.kill()
        child.join()
        receiver.close()
    if said:
        raise AssertionError(said)


def _told(work: Callable[[], object], sender: Connection) -> None:
    try:
        work()
        sender.send("")
    except BaseException:
        sender.send(traceback.format_exc())
