"""Work that may crash or hang, in a forked child: what was compiled and computed before is there at once."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection

CPU_SECONDS_TO_CALL_IT_A_HANG = 60  # of the child's own, which do not pass more quickly on a busy machine
SECONDS_TO_CALL_IT_A_HANG = 600  # for a deadlock, which needs no CPU time


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
        said = _ended(child.exitcode or 0)
    finally:
        child.kill()
        child.join()
        receiver.close()
    if said:
        raise AssertionError(said)


def _ended(code: int) -> str:
    if code == -signal.SIGXCPU:
        return "it hangs"
    return f"it crashed: {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"


def _told(work: Callable[[], object], sender: Connection) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS_TO_CALL_IT_A_HANG, most))  # then SIGXCPU ends it
    try:
        work()
        sender.send("")
    except BaseException:
        sender.send(traceback.format_exc())
