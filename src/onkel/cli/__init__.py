"""The command line: parses, calls, prints."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """`onkel`; each command imports what it needs when it runs."""
    from onkel.cli.app import app
    from onkel.errors import FileError, InputError

    try:
        app(sys.argv[1:])
    except (InputError, FileError) as error:
        from onkel.report.page import escaped

        print(f"onkel: {escaped(str(error))}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("onkel: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # whoever reads our output has enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
