"""Checks tables with named columns in the way of scikit-learn. Their columns are encoded later, by the model.

Columns are found by their names, so they may come in any order. A data frame whose names are not strings is treated as an array:
columns are found by their positions. An estimator whose first rows were dicts turns a data frame into dicts, which may have
different keys.
"""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from onkel.data.reading import refuse_series
from onkel.model.rows import are_dicts


def is_table(X: Any) -> bool:
    """Whether the rows have names: a data frame of pandas, polars or pyarrow, or a list of dicts."""
    return _is_frame(X) or (are_dicts(X) and len(X) > 0)


def checked(estimator: Any, X: Any, first: bool) -> Any:
    """The table with the column names that the model knows. Unless `first`, a table with other columns than before is an error."""
    if not _is_frame(X):
        return X
    refuse_series(X)
    if not first and estimator.state_.encoder.grows:
        return X.to_dict("records") if hasattr(X, "iloc") else _arrow(X).to_pylist()
    X = X if first else in_order(estimator, X)
    validate_data(estimator, X, reset=first, skip_check_array=True)
    if hasattr(estimator, "feature_names_in_"):
        return X
    known = [column.name for column in estimator.state_.encoder.columns] if not first else [f"x{j}" for j in range(X.shape[1])]
    return X.set_axis(known, axis=1) if hasattr(X, "iloc") else _arrow(X).rename_columns(known)


def in_order(estimator: Any, X: Any) -> Any:
    """A data frame with its columns in the order of the earlier rows, if it has the same ones; anything else as it is."""
    known = list(getattr(estimator, "feature_names_in_", ()))
    if not _is_frame(X) or sorted(map(str, names := _names(X))) != sorted(known) or names == known:
        return X
    return X[known] if hasattr(X, "iloc") else X.select(known)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "__arrow_c_stream__")


def _names(frame: Any) -> list[Any]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _arrow(frame: Any) -> Any:
    import pyarrow

    return pyarrow.table(frame)
