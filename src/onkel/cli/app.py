"""The commands and their help."""

from __future__ import annotations

import functools
from pathlib import Path

from cyclopts import App

from onkel.cli.options import ColumnOptions, File, Flag, FormatOptions, Inputs, Missing, RowOptions, TargetOptions, split

app = App(
    name="onkel",
    help="Online kernel learning: nonlinear predictors from a stream, in one pass, in bounded memory.",
    help_epilogue="""
Examples:

    onkel run prices.csv --target price
    onkel compare prices.csv PKAWV FOGD --target price
    onkel run prices.csv --target price --save model.onkel
    onkel predict model.onkel new.csv
    onkel report prices.csv --target price
    onkel serve --data models
    onkel run friedman

Exit codes: 0 for success, 1 for an error (reported in one line), 2 for a command that was not understood, 130 after Ctrl-C.
""",
    suppress_keyboard_interrupt=False,  # `main` handles it
)
app.register_install_completion_command()
command = functools.partial(app.command, help_epilogue="")  # the examples above are shown by `onkel --help` only

FORMAT, COLUMNS, TARGET, ROWS = FormatOptions(), ColumnOptions(), TargetOptions(), RowOptions()


@command
def run(
    file: File,
    /,
    *more: str,
    learner: str | None = None,
    target: TargetOptions = TARGET,
    columns: ColumnOptions = COLUMNS,
    format: FormatOptions = FORMAT,
    rows: RowOptions = ROWS,
    save: Path | None = None,
    every: float = 10.0,
    resume: Flag = False,
    append: Flag = False,
    follow: Flag = False,
    idle: float | None = None,
    plot: Path | None = None,
    html: Path | None = None,
    metrics: str | None = None,
    json: Flag = False,
) -> None:
    """Learn a file row by row; every row is scored before it is learnt.

    Examples:

        onkel run prices.csv --target price
        onkel run clicks.csv.gz --target clicked --missing drop --text zip --learner "FORKS(kernel=Gaussian(width=2))"
        onkel run iris.data --names length,width,petal_length,petal_width,species --target species
        onkel run prices.csv --target price --shuffle 0 --rows 20000
        onkel run 2024.csv 2025.csv --target y --save model.onkel --resume
        onkel run 2026.csv --save model.onkel --append
        tail -f log.jsonl | onkel run - --format jsonl --target latency
        onkel run friedman

    Parameters
    ----------
    file
        A csv, tsv, jsonl, libsvm (.svm), npz, parquet or arrow file, compressed (gz, xz, bz2, zst) or not; a workbook (xlsx, xls,
        ods); - for the standard input; or the name of a data set that `onkel data` lists.
    more
        Further files, read after the first as if all were one. A column that a file lacks counts as missing values.
    learner
        A learner as Python code: a bare name such as PKAWV, or a name with settings. The code is parsed, never executed. Default:
        Auto, which needs no tuning.
    save
        Write the model to this .onkel file, every few seconds (see --every) and at the end.
    every
        Seconds between two checkpoints.
    resume
        Continue from the model that --save names, if that file exists. The files must begin with the rows that it has learnt;
        these are skipped.
    append
        Continue from the model that --save names, and learn these files from their first row. The result then shows the errors of
        these rows, and of all rows.
    follow
        Wait for more rows at the end of the (last) file, until Ctrl-C.
    idle
        With --follow: end after this many seconds without new data.
    plot
        Write a picture of the error along the stream, with the baselines and with lines where the stream changed; for labels, also
        of how reliable the probabilities are.
    html
        Write the whole result as one HTML page, as `onkel report` does.
    metrics
        Metrics to show in the table, separated by commas: of numbers square, rmse, mae, explained, r2, mape and pinball; of labels
        mistakes, log_loss, accuracy, balanced_accuracy, f1, auc and brier. For labels, a table of confused classes is shown too.
        mape leaves out rows whose target is 0, and says how many. --json has all metrics anyway.
    json
        Print the result as JSON (progress goes to the error stream).
    """
    from onkel.cli.run import Outputs, follow_timeout, run_file

    inputs = Inputs((file, *more), format, columns, target, rows, follow_timeout(follow, idle))
    run_file(inputs, learner, Outputs(save, every, resume, append, plot, json, metrics, html))


@command
def report(
    file: File,
    /,
    *more: str,
    learner: str | None = None,
    target: TargetOptions = TARGET,
    columns: ColumnOptions = COLUMNS,
    format: FormatOptions = FORMAT,
    rows: RowOptions = ROWS,
    out: Path | None = None,
    seconds: float | None = None,
    json: Flag = False,
) -> None:
    """Learn a file as run does, and write the whole result as one HTML page, which needs no network.

    It shows the error over time beside the baselines, what was learnt and from which columns, how far to trust it, what it costs,
    what the data holds, and how to make it again.

    Examples:

        onkel report prices.csv --target price
        onkel report clicks.csv --target clicked --out clicks-in-may.html
        onkel report elec2 --lags 0 --learner PKAWV

    Parameters
    ----------
    file
        As for run.
    more
        Further files, read after the first as if all were one.
    learner
        A learner as Python code, as for run. Default: Auto, which needs no tuning.
    out
        The page. Default: the name of the file with .html, in the current folder.
    seconds
        For how long the importance of the columns may be measured. 0 leaves it out. Default: 20.
    json
        Print the result as JSON (the page is written all the same).
    """
    from onkel.cli.report import report_file

    report_file(Inputs((file, *more), format, columns, target, rows), learner, out, seconds, json)


@command
def compare(
    file: File,
    /,
    *learners: str,
    target: TargetOptions = TARGET,
    columns: ColumnOptions = COLUMNS,
    format: FormatOptions = FORMAT,
    rows: RowOptions = ROWS,
    seeds: int = 1,
    skip: str | None = None,
    workers: int = 1,
    html: Path | None = None,
    json: Flag = False,
) -> None:
    """Compare several learners on the same stream: error, time and memory.

    Some learners (KernelAWV, KernelRidge, KONS) go through all earlier rows for each row, so a long file takes them hours. The time
    they need is estimated from the first rows, and said before they start.

    Examples:

        onkel compare prices.csv --target price
        onkel compare prices.csv Auto FOGD "PKAWV(forgetting=0.999)" --target price --shuffle 0
        onkel compare prices.csv --skip Auto --workers 2 --target price
        onkel compare rings FORKS NOGD Projectron --seeds 20

    Parameters
    ----------
    file
        As for run; more files may follow.
    learners
        Learners as Python code, each beginning with a name that `onkel learners` lists. (Write a file of such a name as ./NAME.)
        Default: Auto, PKAWV and a linear ridge regression.
    seeds
        How many times a learner with a seed runs, each time with a different one; the table then shows mean ± standard deviation.
        With --shuffle each seed also gives a different order of the rows, for every learner.
    skip
        Learners to leave out, by their names, separated by commas.
    workers
        Number of processes, each with one learner at a time. The figures are those of one process, except for the times, which
        rise if there are fewer cores than processes.
    html
        Write the whole result as one HTML page: all learners in one chart, with switches, and in tables.
    json
        Print the result as JSON.
    """
    from onkel.cli.compare import Race, compare_file, split_files_and_learners, without

    files, strings = split_files_and_learners(learners)
    inputs = Inputs((file, *files), format, columns, target, rows)
    compare_file(Race(inputs, without(strings, split(skip)), seeds, html), workers, json)


@command
def predict(
    model: Path,
    file: File,
    /,
    *more: str,
    keep: str | None = None,
    probabilities: Flag = False,
    interval: float | None = None,
    missing: Missing | None = None,
    out: Path | None = None,
    format: FormatOptions = FORMAT,
    json: Flag = False,
) -> None:
    """Write what a saved model predicts for each row of a file; nothing is learnt.

    A csv file is answered with its own separator and decimal sign, and numbers of six digits (more, if the model is that
    exact); --json writes all digits.

    Examples:

        onkel predict model.onkel new.csv > predictions.csv
        onkel predict model.onkel new.csv --keep id,date --interval 0.9
        onkel predict model.onkel new.csv --keep all --probabilities --out predictions.jsonl
        onkel predict model.onkel new.parquet --json

    Parameters
    ----------
    model
        A file that `onkel run --save` wrote.
    file
        As for run. It needs the columns that the model was made from, in any order. Other columns are ignored.
    more
        Further files, read after the first.
    keep
        Columns of the input to write in front of the prediction, as they stand in the file, separated by commas; all for every
        column.
    probabilities
        Add one column for each label: its probability, or its score if the learner has no probabilities.
    interval
        Add two columns: an interval around each predicted number, as wide as it had to be for this share of the rows learnt to be
        inside: 0.5, 0.8, 0.9 or 0.95. (If earlier labels are inputs of the model, new rows are predicted without them, so that
        fewer of them are inside; `onkel run --lags 0` makes a model without.)
    missing
        How to treat a missing value: refuse it with an error (refuse), fill in the mean of the rows learnt (mean), or leave its row
        without a prediction (drop). Default: as when the model was made.
    out
        Write to this file instead of the standard output; as JSON lines if its name ends in .jsonl.
    json
        Write JSON lines instead of csv.
    """
    from onkel.cli.predict import Wanted, predict_file

    predict_file(model, Inputs((file, *more), format), missing, Wanted(keep, probabilities, interval), out, json)


@command
def serve(
    *,
    data: Path = Path("onkel-models"),
    host: str = "127.0.0.1",
    port: int = 8000,
    token_file: Path | None = None,
    allow_host: str | None = None,
) -> None:
    """Serve models over HTTP: they predict and learn at any time, and what was learnt survives a crash.

    Examples:

        onkel serve
        onkel serve --data models --port 9000
        ONKEL_TOKEN=... onkel serve --host 0.0.0.0 --allow-host models.example.org

    Then, in another terminal:

        curl -X PUT localhost:8000/models/prices -d '{"target": "price"}'
        curl localhost:8000/models/prices/learn -d '{"rows": [{"size": 50, "town": "Bonn", "price": 210}]}'
        curl localhost:8000/models/prices/predict -d '{"rows": [{"size": 60, "town": "Bonn"}]}'

    Parameters
    ----------
    data
        The folder of the models, their logs and snapshots. It is made if it is not there.
    host
        The address to listen at. Any but a loopback address needs a token.
    port
        The port; 0 takes any free one, and prints it.
    token_file
        A file with the token that requests must send; else it is taken from the environment variable ONKEL_TOKEN.
    allow_host
        Further names under which the server is reached, separated by commas.
    """
    from onkel.serve.server import Place, token_from
    from onkel.serve.server import serve as serve_folder

    place = Place(host, port, token_from(token_file), split(allow_host))
    serve_folder(data, place, functools.partial(print, flush=True))


@command
def learners(*, json: Flag = False) -> None:
    """List all learners in groups, and say when to take which. Start with Auto; compare it with others on your own rows.

    Examples:

        onkel learners
        onkel learners --json

    Parameters
    ----------
    json
        Print the list as JSON, also with losses and papers.
    """
    from onkel.cli.catalogue import list_learners

    list_learners(json)


@command
def data(
    file: File | None = None, /, *, target: str | None = None, columns: ColumnOptions = COLUMNS, format: FormatOptions = FORMAT,
    json: Flag = False,
) -> None:  # fmt: skip
    """List the named data sets, or show the columns of one file and how they would be encoded.

    Examples:

        onkel data
        onkel data prices.csv --target price

    Parameters
    ----------
    file
        A file or a name, as for run.
    target
        The column to predict, which is not encoded.
    json
        Print the table as JSON.
    """
    from onkel.cli.catalogue import describe_data, list_data

    if file is None:
        list_data(json)
    else:
        describe_data(Inputs((file,), format, columns, TargetOptions(target=target)), json)
