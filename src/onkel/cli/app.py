"""The commands and their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

app = App(
    name="onkel",
    help="Online kernel learning: nonlinear predictors from a stream, in one pass, in bounded memory.",
    suppress_keyboard_interrupt=False,  # `main` says how it ended
)


@app.command
def run(
    file: Path,
    /,
    *,
    target: str | None = None,
    learner: str | None = None,
    columns: str | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    save: Path | None = None,
    plot: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Learn a file row by row; every row is scored before it is learnt, and every score counts.

    Examples:

        onkel run prices.csv --target price
        onkel run clicks.csv --target clicked --learner "PKAWV(features=(Standardize(), Taylor(degree=2)), forgetting=0.999)"
        onkel run data.npz --json --save model.onkel

    Parameters
    ----------
    file
        A .csv file with a header line, or an .npz file with arrays X and y.
    target
        The column to predict (csv), or the array (npz; y if not given).
    learner
        A learner as Python code: a bare name such as PKAWV, or with its settings. It is read, never executed, and learns
        the inputs as they are unless its features begin with Standardize(). Without this option: PKAWV on standardised inputs,
        with 100 random frequencies, a linear part and an intercept.
    columns
        The features, separated by commas; without it all columns but the target.
    task
        Classification counts mistakes and takes the two labels -1 and 1, or 0 and 1. By default the first rows decide.
    save
        Write the learner and its state to this .onkel file at the end.
    plot
        Write a picture of the error along the stream.
    json
        Print the result as JSON (progress goes to the error stream).
    """
    from onkel.cli.run import run_file

    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    run_file(file, target, learner, chosen, task, save, plot, json)
