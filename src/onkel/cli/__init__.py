"""The command line: parses, calls, prints."""

from __future__ import annotations

import sys


def main() -> None:
    """`onkel`; each command imports what it needs when it runs."""
    from onkel.cli.shell import STOPPED, Unread, shell
    from onkel.errors import FileError, InputError

    with shell():
        try:
            _run()
        except (InputError, FileError) as error:
            from onkel.report.page import Page

            Page(errors=True).say(f"onkel: {error}")
            sys.exit(1)
        except KeyboardInterrupt:
            print("onkel: stopped", file=sys.stderr)
            sys.exit(STOPPED)
        except Unread:
            sys.exit(0)


def _run() -> None:
    from onkel.cli.app import app

    try:
        app(sys.argv[1:])
    finally:
        sys.stdout.flush()  # here, where a failure can be told
