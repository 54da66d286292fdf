"""The commands and their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

app = App(
    name="onkel",
    help="Online kernel learning: nonlinear predictors from a stream, in one pass, in bounded memory.",
    help_epilogue="""
Examples:

    onkel run prices.csv --target price
    onkel compare prices.csv PKAWV FOGD --target price
    onkel run prices.csv --target price --save model.onkel
    onkel predict model.onkel new.csv
    onkel run friedman

A command ends with 0; with 1 where something is wrong, and one line says what; with 2 where it was not understood; with 130 after
Ctrl-C.
""",
    suppress_keyboard_interrupt=False,  # `main` says how it ended
)
app.register_install_completion_command()

File = Annotated[str, Parameter(allow_leading_hyphen=True)]  # - is the standard input
Flag = Annotated[bool, Parameter(negative=())]
Task = Literal["auto", "classification", "regression"]
Missing = Literal["refuse", "mean", "drop"]


@app.command
def run(
    file: File,
    /,
    *,
    target: str | None = None,
    learner: str | None = None,
    columns: str | None = None,
    task: Task = "auto",
    missing: Missing = "refuse",
    text: str | None = None,
    dates: str | None = None,
    labels: str | None = None,
    raw: Flag = False,
    save: Path | None = None,
    every: float = 10.0,
    resume: Flag = False,
    follow: Flag = False,
    idle: float | None = None,
    plot: Path | None = None,
    format: str | None = None,
    json: Flag = False,
) -> None:
    """Learn a file row by row; every row is scored before it is learnt, and every score counts.

    Examples:

        onkel run prices.csv --target price
        onkel run clicks.csv.gz --target clicked --missing mean --text zip --learner "FORKS(kernel=Gaussian(width=2))"
        onkel run big.csv --target y --save model.onkel --resume
        tail -f log.jsonl | onkel run - --format jsonl --target latency
        onkel run friedman

    Parameters
    ----------
    file
        A csv, tsv, jsonl, libsvm (.svm), npz, parquet or arrow file, packed (gz, xz, bz2, zst) or not; - for the standard input;
        or the name of data that is there: onkel data.
    target
        The column to predict. An npz or libsvm file knows its own.
    learner
        A learner as Python code: a bare name such as PKAWV, or with its settings. It is read, never executed. Without this
        option: PKAWV with 100 random frequencies, a linear part and an intercept.
    columns
        The inputs, separated by commas; without it all columns but the target.
    task
        Classification counts mistakes and takes two labels. By default the first rows decide.
    missing
        What becomes of a missing value: an error, the mean of its column so far (and a column that says so), or its row is
        dropped.
    text
        Columns that are texts though they look like numbers, separated by commas.
    dates
        Columns of dates (2026-11-16 14:05:00), separated by commas; those that look like dates are found.
    labels
        The two labels, low and high, separated by a comma, where the first rows do not show both.
    raw
        Give the learner the inputs as they are. Without this they are standardised first, by the rows so far.
    save
        Write the model to this .onkel file, now and then and at the end.
    every
        Seconds between two checkpoints.
    resume
        Go on from the model that --save names, if it is there, behind the rows that it has learnt.
    follow
        Go on as the file grows, until Ctrl-C.
    idle
        With --follow: end after so many seconds in which nothing came.
    plot
        Write a picture of the error along the stream.
    format
        What the end of the name would say, such as csv.
    json
        Print the result as JSON (progress goes to the error stream).
    """
    from onkel.cli.run import Inputs, Outputs, patience, run_file

    inputs = Inputs(
        file,
        target,
        names(columns),
        task,
        missing,
        names(text) or (),
        names(dates) or (),
        pair(labels),
        format,
        patience(follow, idle),
    )
    run_file(inputs, learner, raw, Outputs(save, every, resume, plot, json))


@app.command
def compare(
    file: File,
    *learners: str,
    target: str | None = None,
    seeds: int = 1,
    shuffle: Flag = False,
    columns: str | None = None,
    task: Task = "auto",
    missing: Missing = "refuse",
    text: str | None = None,
    dates: str | None = None,
    labels: str | None = None,
    raw: Flag = False,
    format: str | None = None,
    json: Flag = False,
) -> None:
    """Several learners on the same stream: error, time and memory side by side.

    Examples:

        onkel compare prices.csv PKAWV FOGD "PKAWV(forgetting=0.999)" --target price
        onkel compare rings FORKS NOGD Projectron --seeds 20

    Parameters
    ----------
    file
        As for run.
    learners
        Learners as Python code, the first word of each a name that `onkel learners` lists.
    target
        The column to predict.
    seeds
        How often a learner with a seed runs, each time with another; the table then shows mean ± deviation.
    shuffle
        Each seed is also another order of the rows, for every learner; the file is then held in memory.
    columns
        The inputs, separated by commas.
    task
        By default the first rows decide.
    missing
        What becomes of a missing value: an error, the mean of its column so far, or its row is dropped.
    text
        Columns that are texts though they look like numbers, separated by commas.
    dates
        Columns of dates, separated by commas.
    labels
        The two labels, low and high, separated by a comma.
    raw
        Give the learners the inputs as they are, not standardised.
    format
        What the end of the name would say, such as csv.
    json
        Print the result as JSON.
    """
    from onkel.cli.compare import compare_file
    from onkel.cli.run import Inputs
    from onkel.errors import InputError

    if not learners:
        raise InputError("name the learners to compare, as in: onkel compare prices.csv PKAWV FOGD --target price")
    inputs = Inputs(file, target, names(columns), task, missing, names(text) or (), names(dates) or (), pair(labels), format)
    compare_file(inputs, learners, seeds, shuffle, raw, json)


@app.command
def predict(model: Path, file: File, /, *, out: Path | None = None, format: str | None = None, json: Flag = False) -> None:
    """What a saved model predicts for each row of a file; nothing is learnt.

    Examples:

        onkel predict model.onkel new.csv > predictions.csv
        onkel predict model.onkel new.parquet --json

    Parameters
    ----------
    model
        A file that `onkel run --save` wrote.
    file
        As for run; it needs the columns that the model was made from, in any order. Other columns are not looked at.
    out
        Write to this file, not to the standard output.
    format
        What the end of the name would say, such as csv.
    json
        JSON lines in the place of csv.
    """
    from onkel.cli.predict import predict_file

    predict_file(model, file, out, json, format)


@app.command
def learners(*, json: Flag = False) -> None:
    """Every learner: what it can do, what a row costs, whether its memory is fixed, and the paper it comes from.

    Parameters
    ----------
    json
        Print the table as JSON.
    """
    from onkel.cli.catalogue import list_learners

    list_learners(json)


@app.command
def data(
    file: File | None = None,
    /,
    *,
    columns: str | None = None,
    text: str | None = None,
    dates: str | None = None,
    format: str | None = None,
    json: Flag = False,
) -> None:
    """The data that can be learnt by name; or the columns of one file, and how they would be encoded.

    Examples:

        onkel data
        onkel data prices.csv

    Parameters
    ----------
    file
        A file or a name, as for run.
    columns
        Only these, separated by commas.
    text
        Columns that are texts though they look like numbers, separated by commas.
    dates
        Columns of dates, separated by commas.
    format
        What the end of the name would say, such as csv.
    json
        Print it as JSON.
    """
    from onkel.cli.catalogue import describe_data, list_data
    from onkel.cli.run import Inputs

    if file is None:
        list_data(json)
    else:
        describe_data(Inputs(file, None, names(columns), text=names(text) or (), dates=names(dates) or (), format=format), json)


def names(listed: str | None) -> list[str] | None:
    return None if listed is None else [name.strip() for name in listed.split(",")]


def pair(listed: str | None) -> tuple[str, str] | None:
    from onkel.errors import InputError

    found = names(listed)
    if found is None:
        return None
    if len(found) != 2:
        raise InputError(f"--labels takes two labels, low and high, as in --labels no,yes; got {listed!r}")
    return found[0], found[1]
