"""
Does a run that was killed end with the same bits?
==================================================

Machines restart, jobs are preempted, memory runs out. If a model that was resumed is only *nearly* the model it would
have been, then no result can be repeated and no error traced. Here a process that learns a stream is killed, with the
signal that cannot be caught, several times.
"""

# %%
# The process saves learner and state every ``EVERY`` rows, in one file that is written whole or not at all. When it
# starts, it goes on from the file if there is one.

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import onkel
from onkel.report.palette import Light
from onkel.report.style import along_rows, headline, ink, looks

ROWS, EVERY = 32_000, 4_000
SCRIPT = f"""
import sys
from pathlib import Path
import onkel

X, y = onkel.data.drifting({ROWS}, seed=0)
path = Path(sys.argv[1])
learner, state = onkel.load(path) if path.exists() else (onkel.Auto(), None)
state = state or learner.init(dim=5)
done = onkel.explain(learner, state).rows
print(done, flush=True)
while done < {ROWS}:
    learner.learn(state, X[done : done + {EVERY}], y[done : done + {EVERY}])
    done += {EVERY}
    onkel.save(path, learner, state)
    print(done, flush=True)
"""


def run(path, until=None):
    """Start the process; kill it when it has saved `until` rows. Returns the first and the last number of rows that it reported."""
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)], stdout=subprocess.PIPE, text=True)
    reported = []
    for line in process.stdout:
        reported.append(int(line))
        if until is not None and reported[-1] >= until:
            process.kill()
            break
    process.stdout.close()
    process.wait()
    return reported[0], reported[-1]


# %%
# Once without a break, and once with kills. After each kill nothing is left but the file.

KILLS = (8_000, 12_000, 24_000)
with tempfile.TemporaryDirectory() as folder:
    whole, broken = Path(folder, "whole.onkel"), Path(folder, "broken.onkel")
    run(whole)
    parts = [run(broken, until) for until in (*KILLS, None)]
    states = [onkel.pack(*onkel.load(path)) for path in (whole, broken)]
print("rows of each process:", parts)
digests = [hashlib.sha256(state).hexdigest() for state in states]
for digest, state in zip(digests, states, strict=True):
    print(f"{len(state):,} bytes, SHA-256 {digest}")
different = sum(a != b for a, b in zip(*states, strict=True))

# %%
# Every byte of what was learnt is the same. With the command line this is ``onkel run FILE --save model.onkel
# --resume``.

with looks():
    figure, axes = plt.subplots(figsize=(8.0, 3.9))
    axes.barh(len(parts), ROWS, color=Light.MEAN, height=0.6)
    for place, (first, last) in enumerate(parts):
        axes.barh(len(parts) - 1 - place, last - first, left=first, color=Light.LEARNER, height=0.6)
        if last < ROWS:
            axes.plot(last, len(parts) - 1 - place, "X", color=Light.BAD, markersize=11)
            axes.annotate(
                "killed", (last, len(parts) - 1 - place), (10, 0), textcoords="offset points", va="center", color=ink(Light.BAD)
            )
    for place, digest in ((len(parts), digests[0]), (0, digests[1])):
        axes.annotate(f"state {digest[:8]}…", (ROWS, place), (8, 0), textcoords="offset points", va="center")
    names = [f"process {k + 1}" for k in range(len(parts))][::-1]
    axes.set_yticks(range(len(parts) + 1), [*names, "never stopped"], color=Light.INK)
    axes.set_xlim(0, ROWS)
    axes.grid(axis="y", visible=False)
    along_rows(axes)
    headline(figure, f"After {len(KILLS)} kills, {different} of the {len(states[0]):,} bytes of the state differ")
