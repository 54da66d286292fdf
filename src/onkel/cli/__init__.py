"""Thin: parses, calls, prints.

Decisions: docs/decisions/cli.md
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

STOPPED = 130  # the exit code of shells for Ctrl-C: 128 + SIGINT
# allocations between two garbage collections; Python's default is 700. Imports create hardly any garbage, and with the default the
# collections took a tenth of the start-up time
ALLOCATIONS = 200_000


def main() -> None:
    """Run `onkel`. Each command imports what it needs when it runs."""
    gc.set_threshold(ALLOCATIONS)
    atexit.register(gc.freeze)  # no garbage collection at exit: it took a sixth of a short run
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # BLAS is limited to one thread anyway; so it need not start the others
    try:
        from onkel.cli.shell import shell

        with shell():
            _run()
    except KeyboardInterrupt:
        print("onkel: stopped", file=sys.stderr)
        sys.exit(STOPPED)


def _run() -> None:
    """Run the command; an error is reported in one line."""
    from onkel.cli.shell import Unread
    from onkel.errors import FileError, InputError

    try:
        try:
            from onkel.cli.app import app

            app(sys.argv[1:])
        finally:
            sys.stdout.flush()  # here, where a write error can still be reported
    except (InputError, FileError) as error:
        from onkel.report.page import Page

        Page(errors=True).say(f"onkel: {error}")
        sys.exit(1)
    except Unread:
        sys.exit(0)
