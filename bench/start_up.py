"""How long before the first answer: python bench/start_up.py [--check]

Fresh processes, in turns: `import numba` for scale, `import onkel` (which fetches its names when the first is asked for), that
first name, the command's help, and the first learnt row with the compiled code already on disk and (once) with an empty cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

from rich.console import Console
from timing import Verdicts, in_turns, seconds

FIRST_ANSWER = """
import numpy as np, onkel
learner = onkel.PKAWV()
learner.learn(learner.init(3), np.ones((1, 3)), np.ones(1))
"""


def fresh(*arguments: str, **environment: str) -> None:
    """Run Python with these arguments in a process of its own."""
    subprocess.run([sys.executable, *arguments], check=True, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated ratio is missed")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as empty:
        cold = seconds(lambda: fresh("-c", FIRST_ANSWER, NUMBA_CACHE_DIR=empty))
    took = in_turns(
        5,
        numba=lambda: fresh("-c", "import numba"),
        onkel=lambda: fresh("-c", "import onkel"),
        name=lambda: fresh("-c", "import onkel; onkel.PKAWV"),
        help=lambda: fresh("-c", "import sys; sys.argv = ['onkel', '--help']; from onkel.cli import main; main()"),
        answer=lambda: fresh("-c", FIRST_ANSWER),
    )
    Console(highlight=False, soft_wrap=True).print(
        f"import numba {took['numba']:.2f} s, import onkel {took['onkel']:.2f} s, its first name {took['name']:.2f} s, "
        f"onkel --help {took['help']:.2f} s, "
        f"first answer {took['answer']:.2f} s, with an empty cache {cold:.1f} s\n"
    )
    verdicts = Verdicts()
    verdicts.at_most("time of import onkel over import numba", took["onkel"] / took["numba"], 2.0)
    verdicts.at_most("time of onkel --help over import numba", took["help"] / took["numba"], 2.0)
    verdicts.show(check)


if __name__ == "__main__":
    main()
